//! One run.

use std::collections::BTreeMap;

use maud::{Markup, html};
use passnet_record::{Status, Verdict};

use super::context::{Context, Page};
use crate::{
    Origin, PageId,
    curves::{curve_table, curves},
    draw::plots,
    environment::environment,
    failures::message,
    format::{counted, duration, interval, percent, ratio, score, status_tag, usd},
    metadata::described,
    shell::{scrolling, section},
    standings::{device_of, path_of},
    tasks::cell,
};

/// Tasks that the page lists; those with failures and the slowest go first.
const MAX_TASKS: usize = 400;
/// Kinds of failure that the page lists.
const MAX_KINDS: usize = 40;
/// Graphs named for each of them.
const MAX_EXAMPLES: usize = 6;

pub(super) fn page(context: &Context<'_>, index: usize) -> Page {
    let site = context.site;
    let (run, entry) = (&site.runs[index], &site.entries[index]);
    let suite = &site.suites[entry.suite];
    let own = [context.entry(index)];
    let speedups: Vec<f64> = run
        .verdicts
        .iter()
        .filter(|verdict| matches!(verdict.status, Status::Correct | Status::Unstable))
        .filter_map(|verdict| verdict.scored_timing().map(|timing| timing.speedup.ratio))
        .collect();
    let sections = vec![
        section("scores", "Scores", scores(context, index)),
        section(
            "curve",
            "Score by tolerance",
            html! {
                p.about { "From t = 1 on, failures are forgiven class by class; the table shows the share of each class." }
                (scrolling("Figure", curves(&own, "curves")))
                (curve_table(&own))
                (classes(context, index))
            },
        ),
        section(
            "speedups",
            "Speed-ups",
            html! {
                p.about { (counted(speedups.len(), "correct, timed graph")) ". Orange is slower than eager." }
                (plots::ratios(&speedups, "Distribution of speed-ups", plots::SPEEDUP))
            },
        ),
        section("failures", "Failures by class", failures(context, index)),
        section("tasks", "Tasks", tasks(context, index)),
        section("compare", "Against other runs", compare(context, index)),
        section(
            "environment",
            "Environment",
            html! { details { summary { "Machine, versions and settings" } (environment(&own)) } },
        ),
    ];
    let lead = html! {
        p { (run.header.author) " over " (context.link(PageId::Suite(entry.suite, 0), &suite.title())) ", begun " (run.header.started) "."
            @if !run.is_complete() { " " span.tag { "unfinished" } }
            @if !run.is_complete() && site.is_live { " " (context.link(PageId::Live, "Live runs")) " shows whether it is being written." }
        }
        (described(&run.header))
        (context.bundle(index))
        @if site.takes_submissions {
            p.raw { a href=(format!("{}result/{}.json", context.here.up(), run.header.run)) { "Signed result" } " of this leaderboard." }
        }
        @if let Origin::Bundle { id } = &run.origin {
            p { "From a bundle whose hashes were verified; its id is " code { (id) } "." }
        }
    };
    let above = vec![(format!("Suite {}", suite.title()), PageId::Suite(entry.suite, 0))];
    Page { title: format!("Run {}", run.header.run), above, lead, sections }
}

fn scores(context: &Context<'_>, index: usize) -> Markup {
    let run = &context.site.runs[index];
    let (report, tally) = (&run.score, &run.score.tally);
    let sound = report.sound.as_ref();
    let mut facts: Vec<(&str, String)> = vec![
        (
            "Sound score",
            sound.map_or_else(
                || "–".to_owned(),
                |sound| {
                    let bounds = sound.interval.map(|bounds| format!(" {}", interval(bounds))).unwrap_or_default();
                    format!("{}{bounds}", score(sound.score))
                },
            ),
        ),
        ("AS", score(report.aggregated)),
        ("G-mean", tally.geomean_speedup.map_or_else(|| "–".to_owned(), ratio)),
        ("Correct", format!("{} ({} of {})", percent(tally.correct_percent()), tally.correct, tally.graphs)),
        ("fast_1", percent(tally.fast_1_percent())),
    ];
    if let Some(sound) = sound {
        facts.push(("Not significantly different from 1", sound.inconclusive.to_string()));
        facts.push(("Capped by the device", sound.capped.to_string()));
        facts.push(("Without a control", sound.without_control.to_string()));
    }
    facts.push(("Unstable", tally.unstable.to_string()));
    facts.push(("Reference failed", report.reference_errors.to_string()));
    facts.push(("Cost of evaluation", duration(run.cost_ns() as f64)));
    let metadata = &run.header.metadata;
    if let (Some(price), Some(cost)) = (metadata.device_usd_per_hour, run.evaluation_usd()) {
        facts.push(("Evaluation in money", format!("{} at {} per device hour", usd(cost), usd(price))));
    }
    if let Some(writing) = metadata.writing {
        let about = if writing.estimated { "about " } else { "" };
        let cost = writing.usd.map(|cost| format!(", {}", usd(cost))).unwrap_or_default();
        facts.push((
            "Tokens of the model",
            format!("{about}{} in, {} out{cost}", writing.input_tokens, writing.output_tokens),
        ));
    }
    html! { dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } } }
}

/// Table of error classes: their shares of the incorrect graphs, from t = 1 on.
fn classes(context: &Context<'_>, index: usize) -> Markup {
    let rows: Vec<_> =
        context.site.runs[index].score.by_tolerance.iter().filter(|at| !at.parameters.pi.is_empty()).collect();
    let Some(first) = rows.first() else { return html! {} };
    let keys: Vec<&String> = first.parameters.pi.keys().collect();
    let table = html! {
        table {
            thead { tr {
                th.number scope="col" { "t" } th.number scope="col" { "Incorrect" } th.number scope="col" { "Each counts" }
                @for key in &keys { th.number scope="col" { "Class " (key) } }
            } }
            tbody { @for row in &rows { tr {
                th.number scope="row" { (row.t) }
                td.number { (row.parameters.total - row.parameters.correct) }
                td.number { (score(row.parameters.gamma)) }
                @for key in &keys { td.number { (percent(100.0 * row.parameters.pi.get(*key).copied().unwrap_or_default())) } }
            } } }
        }
    };
    html! { details { summary { "Error classes" } (scrolling("Error classes", table)) } }
}

/// Verdicts that share status and reason code.
struct FailureKind<'a> {
    count: usize,
    examples: Vec<&'a Verdict>,
}

fn failures(context: &Context<'_>, index: usize) -> Markup {
    let mut kinds: BTreeMap<(Status, &str), FailureKind<'_>> = BTreeMap::new();
    for verdict in context.site.runs[index].verdicts.iter().filter(|verdict| verdict.status != Status::Correct) {
        let code = verdict.reason.as_ref().map_or("", |reason| reason.code.as_str());
        let kind = kinds.entry((verdict.status, code)).or_insert(FailureKind { count: 0, examples: Vec::new() });
        kind.count += 1;
        if kind.examples.len() < MAX_EXAMPLES {
            kind.examples.push(verdict);
        }
    }
    if kinds.is_empty() {
        return html! { p { "Every graph is correct." } };
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.count));
    let left_out = kinds.len().saturating_sub(MAX_KINDS);
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Status" } th scope="col" { "Code" } th.number scope="col" { "Graphs" }
                th scope="col" { "Message of one of them" } th scope="col" { "Where" }
            } }
            tbody {
                @for ((status, code), kind) in kinds.iter().take(MAX_KINDS) {
                    tr {
                        th scope="row" { (status_tag(*status)) }
                        td { code { (code) } }
                        td.number { (kind.count) }
                        td.reason { @if let Some(reason) = kind.examples.first().and_then(|verdict| verdict.reason.as_ref()) { (message(&reason.message)) } }
                        td.where { @for verdict in &kind.examples { (graph_link(context, index, verdict)) " " } @if kind.count > kind.examples.len() { "…" } }
                    }
                }
            }
        }
    };
    let bisected: Vec<(usize, &Verdict)> = {
        let verdicts = context.site.runs[index].verdicts.iter();
        verdicts.filter_map(|verdict| Some((context.site.failing_part(index, verdict)?, verdict))).collect()
    };
    html! {
        @if !bisected.is_empty() {
            p { "Smallest failing parts: "
                @for (at, (part, verdict)) in bisected.iter().take(MAX_KINDS).enumerate() {
                    @if at > 0 { ", " } (context.link(PageId::Bisected(*part), &format!("{}/{}", verdict.id.task, verdict.id.graph)))
                }
                @if bisected.len() > MAX_KINDS { " …" } "."
            }
        }
        (scrolling("Failures by class", table))
        @if left_out > 0 { p.about { (counted(left_out, "rarer kind")) " not listed." } }
    }
}

fn graph_link(context: &Context<'_>, run: usize, verdict: &Verdict) -> Markup {
    let tasks = &context.site.suites[context.site.entries[run].suite].tasks;
    let Some(task) = tasks.iter().position(|task| task.id == verdict.id.task) else { return html! {} };
    let part = context.site.part_of(run, task, &verdict.id.graph);
    let name: String = verdict.id.task.chars().take(24).collect();
    context.link(PageId::Evaluation(run, task, part), &format!("{name}/{}", verdict.id.graph))
}

fn tasks(context: &Context<'_>, index: usize) -> Markup {
    let site = context.site;
    let tasks = &site.suites[site.entries[index].suite].tasks;
    let mut shown: Vec<usize> = (0..tasks.len()).filter(|&task| site.has_task(index, task)).collect();
    let count = shown.len();
    if count > MAX_TASKS {
        let key = |task: usize| {
            let tally = site.task_score(index, task).map(|score| &score.tally);
            let failed = tally.is_some_and(|tally| tally.correct < tally.graphs);
            (!failed, tally.and_then(|tally| tally.geomean_speedup).unwrap_or(f64::INFINITY))
        };
        shown.sort_by(|&a, &b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        shown.truncate(MAX_TASKS);
    }
    let table = html! {
        table.sortable.filtered id="tasks-table" {
            thead { tr { th scope="col" { "Task" } th.number scope="col" { "Speed-up" } th.number scope="col" { "AS" } th.number scope="col" { "Sound" } } }
            tbody {
                @for task in shown {
                    @let of = site.task_score(index, task);
                    tr {
                        th scope="row" { (context.link(PageId::Evaluation(index, task, 0), &tasks[task].id)) }
                        (cell(of))
                        td.number { (of.map_or_else(|| "–".to_owned(), |of| score(of.aggregated))) }
                        td.number { (of.and_then(|of| of.sound).map_or_else(|| "–".to_owned(), score)) }
                    }
                }
            }
        }
    };
    html! {
        div.filters data-for="tasks-table" role="search" {
            label { "Find " input type="search" data-find placeholder="task" aria-keyshortcuts="/"; }
            output data-count {}
        }
        @if count > MAX_TASKS { p.about { "The " (MAX_TASKS) " tasks with failures or the least speed-up, of " (count) "; the suite's page has all." } }
        (scrolling("Tasks", table))
    }
}

fn compare(context: &Context<'_>, index: usize) -> Markup {
    let site = context.site;
    let others: Vec<usize> =
        site.suites[site.entries[index].suite].runs.iter().copied().filter(|&run| run != index).collect();
    if others.is_empty() {
        return html! { p { "There is no other run over this suite." } };
    }
    html! { ul { @for other in others { li {
        (context.link(context.pair(index, other), &site.entries[other].label)) " "
        small { (device_of(&site.runs[other].header)) ", " (path_of(&site.runs[other])) " path" }
    } } } }
}
