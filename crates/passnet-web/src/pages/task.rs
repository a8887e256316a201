//! One task: its graphs, and the results of every author.

use std::collections::BTreeMap;

use maud::{Markup, html};
use passnet_graph::hash::structural;
use passnet_record::GraphId;

use super::context::{Context, Page};
use crate::{
    GraphView, PageId,
    draw::graph::graph_drawing,
    format::{breakable, counted, percent, ratio, score},
    shell::{scrolling, section},
    standings::device_of,
    tasks::{graph_cell, legend},
};

/// Different structures that are drawn.
const MAX_DRAWINGS: usize = 3;
/// Graphs that are read and listed.
const MAX_GRAPHS: usize = 64;
/// Cells (graphs times runs) of the table of results.
const MAX_CELLS: usize = 2500;
/// Longest source shown.
const MAX_SOURCE: usize = 20_000;

pub(super) fn page(context: &Context<'_>, suite: usize, index: usize) -> Page {
    let entry = &context.site.suites[suite];
    let task = &entry.tasks[index];
    let graphs: Vec<(&str, GraphView)> = task
        .graphs
        .iter()
        .take(MAX_GRAPHS)
        .filter_map(|graph| {
            let id = GraphId { task: task.id.clone(), graph: graph.clone() };
            Some((graph.as_str(), context.archive.graph(&entry.name, &entry.version, &id)?))
        })
        .collect();
    let count = task.graphs.len();
    let lead = html! { p { (counted(count, "graph")) ", " (counted(entry.runs.len(), "run")) "." } };
    let sections = vec![
        section("authors", "Authors", authors(context, suite, index)),
        section("graph", "Graph", drawings(&graphs)),
        section("variants", "Graphs and variants", variants(&graphs, count)),
        section("results", "Results by graph", results(context, suite, index)),
    ];
    let above = vec![(format!("Suite {}", entry.title()), PageId::Suite(suite, 0))];
    Page { title: format!("Task {}", task.id), above, lead, sections }
}

fn authors(context: &Context<'_>, suite: usize, task: usize) -> Markup {
    let site = context.site;
    let runs: Vec<usize> = site.suites[suite].runs.iter().copied().filter(|&run| site.has_task(run, task)).collect();
    let device = |run: usize| device_of(&site.runs[run].header);
    // Labels do not name the device, and the numbers of two devices cannot be compared.
    let has_several_devices = runs.iter().any(|&run| device(run) != device(runs[0]));
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Author" } th.number scope="col" { "Speed-up" } th.number scope="col" { "Sound" } th.number scope="col" { "AS" }
                th.number scope="col" { "Correct" } th scope="col" { "Not correct" }
            } }
            tbody { @for run in runs {
                @let of = site.task_score(run, task);
                tr.no-passes[site.runs[run].has_no_passes()] {
                    th.author scope="row" { (context.link(PageId::Evaluation(run, task, 0), &site.entries[run].label))
                        @if has_several_devices { br; small { (device(run)) } } }
                    @let dash = || "–".to_owned();
                    td.number { (of.and_then(|of| of.tally.geomean_speedup).map_or_else(dash, ratio)) }
                    td.number { (of.and_then(|of| of.sound).map_or_else(dash, score)) }
                    td.number { (of.map_or_else(dash, |of| score(of.aggregated))) }
                    td.number { (of.map_or_else(dash, |of| percent(of.tally.correct_percent()))) }
                    td { @if let Some(of) = of {
                        @for (failure, count) in &of.tally.failures { (count) " " (failure.name()) " " }
                    } }
                }
            } }
        }
    };
    scrolling("Authors", table)
}

fn drawings(graphs: &[(&str, GraphView)]) -> Markup {
    let mut distinct: Vec<(&GraphView, Vec<&str>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (name, view) in graphs {
        // Variants of a graph that differ in sizes only look alike, so one drawing serves them all.
        let place = *places.entry(structural(&view.graph)).or_insert_with(|| {
            distinct.push((view, Vec::new()));
            distinct.len() - 1
        });
        distinct[place].1.push(name);
    }
    html! {
        @if distinct.is_empty() {
            p { "The suite was not given, so its graphs cannot be drawn. Name it: " code { "--suite FOLDER" } "." }
        }
        @if distinct.len() > 1 {
            p.about { (distinct.len()) " different structures (constants and shapes of views included)." }
        }
        @for (view, names) in distinct.iter().take(MAX_DRAWINGS) {
            figure {
                figcaption { "Graph " (names.join(", ")) @if !view.model.is_empty() { ", captured from " (view.model) } }
                (graph_drawing(&view.graph, &view.types, &[], "Graph"))
                details { summary { "model.py" } pre tabindex="0" { (view.source.chars().take(MAX_SOURCE).collect::<String>()) } }
            }
        }
        @if distinct.len() > MAX_DRAWINGS { p.about { (counted(distinct.len() - MAX_DRAWINGS, "further structure")) " not drawn." } }
    }
}

fn variants(graphs: &[(&str, GraphView)], count: usize) -> Markup {
    if graphs.is_empty() {
        return html! { p { (counted(count, "graph")) "; their inputs are in the suite, which was not given." } };
    }
    let table = html! {
        table {
            thead { tr { th scope="col" { "Graph" } th scope="col" { "Model" } th scope="col" { "Inputs" } } }
            tbody { @for (name, view) in graphs { tr {
                th scope="row" { (name) }
                td { (view.model) }
                td.types {
                    @for (input, kind) in view.graph.input_names().zip(&view.types) {
                        span title=(input) { (kind.as_deref().unwrap_or("?")) } " "
                    }
                }
            } } }
        }
    };
    html! {
        (scrolling("Graphs and variants", table))
        @if count > graphs.len() { p.about { (counted(count - graphs.len(), "further graph")) " not listed." } }
    }
}

fn results(context: &Context<'_>, suite: usize, index: usize) -> Markup {
    let site = context.site;
    let (runs, task) = (&site.suites[suite].runs, &site.suites[suite].tasks[index]);
    // With many runs, fewer graphs fit. At least ten rows are shown, so that the table is useful.
    let rows = (MAX_CELLS / runs.len().max(1)).max(10).min(task.graphs.len());
    let verdicts: Vec<BTreeMap<&str, _>> = runs
        .iter()
        .map(|&run| site.verdicts(run, index).map(|verdict| (verdict.id.graph.as_str(), verdict)).collect())
        .collect();
    let table = html! {
        table.sortable.matrix {
            thead { tr {
                th scope="col" { "Graph" }
                @for &run in runs { th.number.author scope="col" { (breakable(&site.entries[run].label)) } }
            } }
            tbody { @for graph in &task.graphs[..rows] { tr {
                th scope="row" { (graph) }
                @for verdicts in &verdicts { (graph_cell(verdicts.get(graph.as_str()).copied())) }
            } } }
        }
    };
    html! {
        p.about { "Speed-up against eager of each graph; a ~ marks those whose interval includes 1." }
        (legend())
        (scrolling("Results by graph", table))
        @if rows < task.graphs.len() { p.about { (counted(task.graphs.len() - rows, "further graph")) " on the authors' own pages." } }
    }
}
