//! The smallest failing parts of graphs, by model.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    BisectedView, PageId,
    draw::graph::graph_drawing,
    failures::message,
    format::counted,
    shell::{scrolling, section},
};

/// Longest source shown.
const MAX_SOURCE: usize = 40_000;
/// Parts that the list has.
const MAX_LISTED: usize = 1000;

pub(super) fn list(context: &Context<'_>) -> Page {
    let views = &context.site.bisected;
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Graph" } th scope="col" { "Author" } th scope="col" { "Status" } th scope="col" { "Code" }
                th.number scope="col" { "Calls of the part" } th.number scope="col" { "Calls of the graph" }
            } }
            tbody { @for (index, view) in views.iter().enumerate().take(MAX_LISTED) { tr {
                th scope="row" { (context.link(PageId::Bisected(index), &name(view))) }
                td { (view.author) } td { span.status { (view.status) } } td { code { (view.code) } }
                td.number { (view.part.graph.num_nodes()) @if !view.is_minimal { " " small { "perhaps fewer" } } }
                td.number { (view.whole) }
            } } }
        }
    };
    let lead = html! {
        p { "The smallest parts of graphs on which an author fails as on the whole, found by " code { "passnet bisect" } "." }
    };
    let sections = vec![section("list", &counted(views.len(), "failing part"), scrolling("Failing parts", table))];
    Page { title: "Failing parts".to_owned(), above: Vec::new(), lead, sections }
}

fn name(view: &BisectedView) -> String {
    format!("{}/{}", view.id.task, view.id.graph)
}

pub(super) fn page(context: &Context<'_>, index: usize) -> Page {
    let view = &context.site.bisected[index];
    let name = name(view);
    let nodes = view.part.graph.num_nodes();
    let lead = html! {
        @if nodes == view.whole { p { (view.author) " fails on " (name) ": " span.status { (view.status) } " " code { (view.code) } ". No smaller part of its " (counted(nodes, "call")) " that was tried fails in this way." } }
        @else { p { (view.author) " fails on " (counted(nodes, "call")) " of the " (view.whole) " of " (name) " as on all of them: " span.status { (view.status) } " " code { (view.code) } "." } }
        @if !view.is_minimal { p { "The search was cut off by its limit of evaluations; a smaller part may fail as well." } }
    };
    let failure = html! {
        @if view.message.is_empty() { p { "The verdict has no message." } } @else { div.reason { (message(&view.message)) } }
        (evaluations(context, index))
        p.about { "To reproduce it, with the folder that " code { "passnet bisect" } " wrote:" }
        pre tabindex="0" { "passnet eval FOLDER/" (name) " --author " (view.author) }
    };
    let part = html! {
        (graph_drawing(&view.part.graph, &view.part.types, &[], "Failing part"))
        details open { summary { "model.py" } pre tabindex="0" { (view.part.source.chars().take(MAX_SOURCE).collect::<String>()) } }
    };
    let sections = vec![section("failure", "How it fails", failure), section("part", "The part", part)];
    let above = vec![("Failing parts".to_owned(), PageId::Bisections)];
    Page { title: format!("Failing part of {name}"), above, lead, sections }
}

/// Links to the evaluations of the whole graph.
fn evaluations(context: &Context<'_>, index: usize) -> Markup {
    let site = context.site;
    let view = &site.bisected[index];
    let of_run = |run: usize| {
        let tasks = &site.suites[site.entries[run].suite].tasks;
        let task = tasks.iter().position(|task| task.id == view.id.task)?;
        let failed = site.verdicts(run, task).any(|verdict| site.failing_part(run, verdict) == Some(index));
        failed.then(|| (run, PageId::Evaluation(run, task, site.part_of(run, task, &view.id.graph))))
    };
    let places: Vec<(usize, PageId)> = (0..site.runs.len()).filter_map(of_run).collect();
    html! {
        @if !places.is_empty() {
            p { "Evaluations of the whole graph: "
                @for (at, (run, place)) in places.iter().enumerate() { @if at > 0 { ", " } (context.link(*place, &site.entries[*run].label)) } "."
            }
        }
    }
}
