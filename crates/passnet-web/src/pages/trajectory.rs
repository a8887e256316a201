//! The conversation in which an agent wrote passes.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    PageId, TrajectoryView, Turn,
    draw::plots,
    format::{counted, score},
    shell::{scrolling, section},
};

/// Characters of one message, and of all, that are shown.
const MAX_TURN: usize = 8_000;
const MAX_ALL: usize = 180_000;
/// Trajectories that the list has.
const MAX_LISTED: usize = 1500;
/// Longer messages are folded.
const FOLD_AT: usize = 600;
/// Characters of a folded call that are shown.
const GLANCE: usize = 70;

pub(super) fn list(context: &Context<'_>) -> Page {
    let table = html! {
        table.sortable.filtered {
            thead { tr {
                th scope="col" { "Trajectory" } th scope="col" { "Outcome" } th scope="col" { "Task" } th scope="col" { "Model" } th.number scope="col" { "Messages" }
                th.number scope="col" { "Evaluations" } th.number scope="col" { "Best score" }
            } }
            tbody { @for (index, view) in context.site.trajectories.iter().enumerate().take(MAX_LISTED) { tr data-outcome=(view.outcome) {
                th scope="row" { (context.link(PageId::Trajectory(index), &view.name)) }
                td { (view.outcome) }
                td { (view.task) } td { (view.model) } td.number { (view.turns.len()) } td.number { (view.scores.len()) }
                td.number { (best(view).map_or_else(|| "–".to_owned(), score)) }
            } } }
        }
    };
    let mut outcomes: Vec<&str> = context.site.trajectories.iter().map(|view| view.outcome.as_str()).collect();
    // `dedup` removes neighbours only.
    outcomes.sort_unstable();
    outcomes.dedup();
    let meanings = outcomes.iter().filter_map(|outcome| Some((*outcome, meaning(outcome)?))).collect::<Vec<_>>();
    let content = html! {
        @if !meanings.is_empty() {
            p.about {
                "Outcome of an attempt. "
                @for (at, (outcome, meaning)) in meanings.iter().enumerate() { @if at > 0 { "; " } b { (outcome) } ": " (meaning) } "."
            }
        }
        div.filters data-for="trajectories" role="search" {
            label { "Find " input type="search" data-find placeholder="task, model" aria-keyshortcuts="/"; }
            label { "Outcome "
                select data-filter="outcome" {
                    option value="" { "all" }
                    @for outcome in &outcomes { option value=(outcome) { (outcome) } }
                }
            }
            output data-count {}
        }
        div id="trajectories" { (scrolling("Trajectories", table)) }
    };
    let sections = vec![section("list", "Conversations", content)];
    let lead = html! {
        p {
            "Each row is one attempt of an agent at a task: it reads the graphs, writes passes, and has them evaluated. The score is the "
            "speed-up over eager mode, a geometric mean over the graphs of the task: 1 is as fast as without passes, and less than 1 means "
            "slower or wrong. Best score is that of the best evaluation, or – if nothing was evaluated."
        }
    };
    Page { title: "Trajectories".to_owned(), above: Vec::new(), lead, sections }
}

/// Returns the reason that an outcome stands for; `None` for an outcome of other data.
pub(super) fn meaning(outcome: &str) -> Option<&'static str> {
    Some(match outcome {
        "done" => "the model ended the attempt",
        "steps" => "the replies were used up",
        "tokens" => "the budget of tokens was used up",
        "cost" => "the budget of money was used up",
        "time" => "the time was used up",
        "no_progress" => "the best score did not rise for long",
        "context" => "the conversation no longer fitted the model",
        "useless" => "the model called no tool several times in a row",
        _ => return None,
    })
}

fn best(view: &TrajectoryView) -> Option<f64> {
    view.scores.iter().map(|&(_, score)| score).reduce(f64::max)
}

pub(super) fn page(context: &Context<'_>, index: usize) -> Page {
    let view = &context.site.trajectories[index];
    let lead = html! {
        p { (view.model) " on " (view.task) ": " (counted(view.turns.len(), "message")) "." }
        dl.facts { @for (name, value) in &view.facts { div { dt { (name) } dd { (value) } } } }
    };
    let mut sections = Vec::new();
    if !view.scores.is_empty() {
        sections.push(section("scores", "Score by step", html! {
            p.about { "Score of each evaluation: speed-up over eager mode, 1 is as fast as without passes. A step is one reply of the model." }
            (plots::steps(&view.scores, "Score by step"))
            details { summary { "As a table" } table {
                thead { tr { th.number scope="col" { "Step" } th.number scope="col" { "Score" } } }
                tbody { @for (step, value) in &view.scores { tr { th.number scope="row" { (step) } td.number { (score(*value)) } } } }
            } }
        }));
    }
    sections.push(section("conversation", "Conversation", conversation(&view.turns)));
    Page {
        title: format!("Trajectory {}", view.name),
        above: vec![("Trajectories".to_owned(), PageId::Trajectories)],
        lead,
        sections,
    }
}

fn conversation(turns: &[Turn]) -> Markup {
    let mut left = MAX_ALL;
    let shown = turns.iter().map(|turn| {
        let markup = message(turn, &mut left);
        (left > 0, markup)
    });
    let shown: Vec<Markup> = shown.take_while(|(room, _)| *room).map(|(_, markup)| markup).collect();
    html! {
        ol.turns { @for turn in &shown { (turn) } }
        @if shown.len() < turns.len() { p.about { (counted(turns.len() - shown.len(), "further message")) " in the file." } }
    }
}

fn message(turn: &Turn, left: &mut usize) -> Markup {
    let mut text = |text: &str| {
        let shown: String = text.chars().take(MAX_TURN.min(*left)).collect();
        // At least 1, so that empty messages use up the budget too and the size of the page is bounded.
        *left = left.saturating_sub(shown.len().max(1));
        if shown.len() < text.len() { format!("{shown}\n…") } else { shown }
    };
    let body = text(&turn.text);
    let calls: Vec<(&String, String)> = turn.calls.iter().map(|(name, arguments)| (name, text(arguments))).collect();
    let first: String = body.lines().next().unwrap_or_default().chars().take(100).collect();
    html! {
        li.turn.tool[turn.role == "tool"] {
            span.tag { (turn.role) } " " small { "step " (turn.step) }
            @if body.chars().count() > FOLD_AT || turn.role == "tool" {
                details { summary { (first) " …" } pre tabindex="0" { (body) } }
            } @else if !body.is_empty() { pre { (body) } }
            @for (name, arguments) in &calls {
                details { summary { "calls " code { (name) } " " small { (glance(arguments)) } } pre tabindex="0" { (arguments) } }
            }
            @if body.is_empty() && calls.is_empty() { " " em { "says nothing" } }
        }
    }
}

/// Returns the beginning of arguments on one line.
fn glance(arguments: &str) -> String {
    let words = arguments.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = words.chars().take(GLANCE).collect();
    if shown.len() < words.len() { shown + " …" } else { shown }
}
