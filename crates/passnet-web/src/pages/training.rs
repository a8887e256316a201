//! Training runs: losses, rewards, scores of checkpoints, and trajectories by outcome.

use std::collections::BTreeMap;

use maud::{Markup, html};
use passnet_record::TrainingScores;

use super::{
    context::{Context, Page},
    trajectory::meaning,
};
use crate::{
    PageId, TrainingView,
    draw::lines::{Chart, lines},
    format::{counted, interval, percent, score},
    shell::{scrolling, section},
    training_course::{TrainingTimeline, right, sound},
};

pub(super) fn page(context: &Context<'_>) -> Page {
    let lead = html! { p { (counted(context.site.trainings.len(), "training run")) ": curves, and scores of the passes that the checkpoints wrote." } };
    let content = html! { @for view in &context.site.trainings { (article(view)) } };
    let mut sections = vec![section("curves", "Curves", content)];
    if !context.site.trajectories.is_empty() {
        sections.push(section("outcomes", "Trajectories by outcome", outcomes(context)));
    }
    Page { title: "Training".to_owned(), above: Vec::new(), lead, sections }
}

fn article(view: &TrainingView) -> Markup {
    let course = TrainingTimeline::of(view);
    html! {
        article {
            h3 { (view.name) }
            @if course.is_empty() { p { "The curve has no point yet." } }
            @if course.stages.len() > 1 {
                p.about { "Stages: " @for (index, (name, begun)) in course.stages.iter().enumerate() { @if index > 0 { ", then " } (name) " from step " (begun) } "." }
            }
            @if let Some(suite) = course.suite() {
                p.about { "Graphs, AS and sound scores are those of suite " (suite) ". Dashed lines are other authors on this suite." }
            }
            div.sides {
                @for chart in charts(&course).iter().filter(|chart| chart.lines.iter().any(|line| !line.marks.is_empty())) {
                    figure { figcaption { (chart.label) } (lines(chart)) }
                }
            }
            (table(&view.name, &course))
        }
    }
}

fn charts<'a>(course: &TrainingTimeline<'_>) -> [Chart<'a>; 6] {
    let measured = |label, lines: Vec<_>, show| Chart { label, across: "step", lines, references: Vec::new(), show };
    let losses = [course.line("training", |point| point.loss), course.line("validation", |point| point.validation)];
    let likeliest = course.line("validation", |point| point.likeliest.map(|share| 100.0 * share));
    let reward = course.line("reward", |point| point.reward);
    [
        measured("Loss, nats per token", losses.into_iter().flatten().collect(), score),
        measured("Right next token, share of validation text", likeliest.into_iter().collect(), percent),
        measured("Mean reward", reward.into_iter().collect(), score),
        course.scored("Correct graphs", percent, |scores| Some((right(scores), None))),
        course.scored("AS", score, |scores| Some((scores.aggregated, None))),
        course.scored("Sound score, 95 % interval", score, sound),
    ]
}

fn table(name: &str, course: &TrainingTimeline<'_>) -> Markup {
    if course.checkpoints.is_empty() && course.references.is_empty() {
        return html! { p.about { "No checkpoint was evaluated." } };
    }
    let checkpoints = course.checkpoints.iter().map(|one| (Some(one.step), one.author, one.scores));
    let rows = checkpoints.chain(course.references.iter().map(|&(author, scores)| (None, author, scores)));
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Author" } th.number scope="col" { "Step" } th.number scope="col" { "Graphs" } th.number scope="col" { "Correct" }
                th.number scope="col" { "Faster graphs" } th.number scope="col" { "AS" } th.number scope="col" { "Sound score" }
            } }
            tbody { @for (step, author, scores) in rows { (row(step, author, scores)) } }
        }
    };
    scrolling(&format!("Scores of checkpoints and of other authors, {name}"), table)
}

fn row(step: Option<f64>, author: &str, scores: &TrainingScores) -> Markup {
    html! {
        tr {
            th scope="row" { (author) }
            @match step { Some(step) => td.number data-sort=(step) { (step) }, None => td.number data-sort="–" { "–" } }
            td.number { (scores.graphs) }
            td.number { (percent(right(scores))) }
            td.number { (scores.faster) }
            td.number { (score(scores.aggregated)) }
            @match sound(scores) {
                Some((value, bounds)) => td.number data-sort=(value) { (score(value)) @if let Some(bounds) = bounds { " " small { (interval(bounds)) } } },
                None => td.number data-sort="–" { "–" },
            }
        }
    }
}

/// Counts of trajectories by how they ended, with links to them.
fn outcomes(context: &Context<'_>) -> Markup {
    let mut found: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    for view in &context.site.trajectories {
        let (count, scores) = found.entry(&view.outcome).or_default();
        *count += 1;
        // Without an evaluation there is no score, and a 0 would be one of wrong passes.
        scores.extend(view.scores.iter().map(|&(_, score)| score).reduce(f64::max));
    }
    let list = context.href(PageId::Trajectories);
    let mean = |scores: &[f64]| match scores {
        [] => "–".to_owned(),
        scores => score(scores.iter().sum::<f64>() / scores.len() as f64),
    };
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Outcome" } th scope="col" { "Meaning" } th.number scope="col" { "Trajectories" } th.number scope="col" { "With an evaluation" }
                th.number scope="col" { "Mean best score of those" }
            } }
            tbody { @for (outcome, (count, scores)) in &found { tr {
                th scope="row" { a href=(format!("{list}#~outcome={}", escaped(outcome))) { (outcome) } }
                td { (meaning(outcome).unwrap_or_default()) }
                td.number { (count) } td.number { (scores.len()) } td.number { (mean(scores)) }
            } } }
        }
    };
    html! {
        p.about {
            "A trajectory is one attempt of an agent at a task. The score is the geometric mean speed-up over eager mode on the graphs of the "
            "task, where wrong graphs count as slow ones."
        }
        (scrolling("Trajectories by outcome", table))
    }
}

/// Returns a text as a value in the part of an address after `#`.
fn escaped(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
