//! One run on one task: the passes, and every graph with its evidence.

use maud::{Markup, html};
use passnet_record::{ExecutionPath, GraphId, Remark, Timing, Verdict};

use super::{
    context::{Context, Page},
    pass_files::{difference, passes, rival},
};
use crate::{
    PageId, Trials,
    draw::{difference::replaced, graph::graph_drawing, plots},
    failures::message,
    format::{counted, duration, ratio, status_tag},
    shell::{scrolling, section},
    site::GRAPHS_PER_PAGE,
};

/// Characters of a rewritten graph that are shown.
const MAX_REWRITTEN: usize = 6_000;
/// Outputs of a graph that are listed.
const MAX_OUTPUTS: usize = 12;

pub(super) fn page(context: &Context<'_>, run: usize, task: usize, part: usize) -> Page {
    let site = context.site;
    let entry = &site.entries[run];
    let suite = &site.suites[entry.suite];
    let id = &suite.tasks[task].id;
    let count = site.verdicts(run, task).len();
    let first = part * GRAPHS_PER_PAGE;
    let parts = context.parts(site.evaluation_parts(run, task), part, |part| PageId::Evaluation(run, task, part));
    let graphs = html! {
        @if count > GRAPHS_PER_PAGE { p.about { "Graphs " (first + 1) " to " (count.min(first + GRAPHS_PER_PAGE)) " of " (count) "." } }
        (parts)
        @for (index, verdict) in site.verdicts(run, task).skip(first).take(GRAPHS_PER_PAGE).enumerate() {
            (graph(context, run, verdict, index == 0))
        }
        (parts)
    };
    let mut sections = vec![section("graphs", "Graphs", graphs)];
    if part == 0
        && let Some(set) = site.runs[run].passes.iter().find(|set| set.task == *id)
    {
        let files = context.archive.passes(run, set);
        sections.push(section("passes", "Passes", passes(&files)));
        if let Some((other, theirs)) = rival(context, (run, set), &files, task) {
            let content = difference(context, (run, &files), (other, &theirs), task);
            sections.push(section("difference", "Difference", content));
        }
    }
    let lead = html! {
        p { (context.link(PageId::Run(run), &entry.label)) " on " (context.link(PageId::Task(entry.suite, task), id)) ": " (counted(count, "graph")) "." }
        (context.bundle(run))
    };
    let above = vec![
        (format!("Suite {}", suite.title()), PageId::Suite(entry.suite, 0)),
        (format!("Run {}", site.runs[run].header.run), PageId::Run(run)),
    ];
    Page { title: format!("{} on {id}", entry.label), above, lead, sections }
}

fn graph(context: &Context<'_>, run: usize, verdict: &Verdict, is_first: bool) -> Markup {
    let Verdict { id, status, reason, tolerance, evidence, .. } = verdict;
    html! {
        article id=(format!("graph-{}", id.graph)) aria-label=(format!("Graph {}", id.graph)) {
            @if let Some(index) = context.site.failing_part(run, verdict) {
                p { (context.link(PageId::Bisected(index), "Smallest failing part")) ": "
                    (counted(context.site.bisected[index].part.graph.num_nodes(), "call")) " of " (context.site.bisected[index].whole) "." }
            }
            h3 { "Graph " (id.graph) " " (status_tag(*status)) (headline(verdict)) }
            @if let Some(reason) = reason {
                p { code { (reason.code) } " " (message(&reason.message)) }
                @if let Some(detail) = &reason.detail {
                    details { summary { "Detail" } pre tabindex="0" { (clipped(&detail.to_string(), MAX_REWRITTEN)) } }
                }
            }
            @if !verdict.timings.is_empty() {
                (timings(&id.graph, &verdict.timings))
                (trials(context, run, &verdict.timings))
            }
            (rewriting(context, run, verdict, is_first))
            @if !verdict.outputs.is_empty() { (outputs(verdict)) }
            dl.facts {
                div { dt { "Correct from t" } dd { (tolerance.map_or_else(|| "–".to_owned(), |t| t.to_string())) } }
                div { dt { "Calls before, after" } dd { (evidence.nodes_before) ", " (evidence.nodes_after) } }
                @for (name, count) in &evidence.matches { div { dt { "Matches of " (name) } dd { (count) } } }
                div { dt { "Timed calls checked" } dd { (evidence.timed_calls_checked) } }
                @if evidence.timed_calls_sampled > 0 { div { dt { "Timed calls sampled" } dd { (evidence.timed_calls_sampled) } } }
                @if !evidence.mutated_inputs.is_empty() { div { dt { "Mutated inputs" } dd { (evidence.mutated_inputs.join(", ")) } } }
                @if !evidence.notes.is_empty() { div { dt { "Notes" } dd { (evidence.notes.iter().map(Remark::to_string).collect::<Vec<_>>().join(", ")) } } }
                div { dt { "Evaluation" } dd { (duration(verdict.cost.wall_ns as f64)) } }
            }
            @if !evidence.sandbox.is_empty() {
                details { summary { "Sandbox" }
                    dl.facts { @for (name, value) in &evidence.sandbox { div { dt { (name.replace('_', " ")) } dd { (value) } } } }
                }
            }
        }
    }
}

/// Returns the scored speed-up with its interval, to stand next to the status.
fn headline(verdict: &Verdict) -> Markup {
    let Some(timing) = verdict.scored_timing() else { return html! {} };
    let speedup = timing.speedup;
    html! { " " strong { (ratio(speedup.ratio)) } " " small { (format!("[{:.2}, {:.2}], {} path", speedup.low, speedup.high, timing.path)) } }
}

fn clipped(text: &str, most: usize) -> String {
    let shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() { format!("{shown}\n…") } else { shown }
}

fn outputs(verdict: &Verdict) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2e}"));
    let table = html! {
        table {
            thead { tr {
                th.number scope="col" { "Output" } th scope="col" { "Type" } th.number scope="col" { "Correct from t" }
                th.number scope="col" { "Largest difference" } th.number scope="col" { "Relative" } th.number scope="col" { "Mismatched" }
            } }
            tbody { @for output in verdict.outputs.iter().take(MAX_OUTPUTS) { tr {
                th.number scope="row" { (output.index) }
                td { (output.dtype) (format!("{:?}", output.shape)) }
                td.number { @if output.equal { "equal" } @else { (output.tolerance.map_or_else(|| "none".to_owned(), |t| t.to_string())) } }
                td.number { (number(output.max_abs_diff)) }
                td.number { (number(output.max_rel_diff)) }
                td.number { (output.mismatched) }
            } } }
        }
    };
    html! {
        (scrolling(&format!("Outputs of graph {}", verdict.id.graph), table))
        @if verdict.outputs.len() > MAX_OUTPUTS { p.about { (counted(verdict.outputs.len() - MAX_OUTPUTS, "further output")) "." } }
    }
}

fn timings(graph: &str, timings: &[Timing]) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "Path" } th scope="col" { "Baseline" } th.number scope="col" { "Baseline median" } th.number scope="col" { "Candidate median" }
                th.number scope="col" { "Speed-up" } th.number scope="col" { "Speed-up on the device" } th scope="col" { "Stable" }
            } }
            tbody { @for timing in timings { tr {
                th scope="row" { (timing.path) ", " (timing.cache) }
                td { (timing.baseline) }
                td.number { (duration(timing.base.median_ns)) }
                td.number { (duration(timing.candidate.median_ns)) }
                td.number { (ratio(timing.speedup.ratio)) " " small { (format!("[{:.2}, {:.2}]", timing.speedup.low, timing.speedup.high)) } }
                td.number { (timing.device_speedup.map_or_else(|| "–".to_owned(), |device| ratio(device.ratio))) }
                td { @if timing.stable { "yes" } @else { "no" } @if timing.remeasured > 0 { ", after " (counted(timing.remeasured as usize, "repetition")) } }
            } } }
        }
    };
    scrolling(&format!("Timings of graph {graph}"), table)
}

/// One plot for each measurement whose trial times were kept; two baselines may share one.
fn trials(context: &Context<'_>, run: usize, timings: &[Timing]) -> Markup {
    // The scored baselines of one path were measured together and share a record.
    let mut drawn = Vec::new();
    let plots: Vec<(ExecutionPath, Trials)> = timings
        .iter()
        .filter_map(|timing| {
            let raw = timing.raw.as_ref().filter(|raw| !drawn.contains(raw))?;
            drawn.push(raw);
            Some((timing.path, context.archive.trials(run, raw)?))
        })
        .collect();
    html! {
        @for (path, trials) in &plots {
            @let label = format!("Trial times, {} path", path);
            figure { figcaption { (label) } (plots::trials(&sides(trials), &label)) }
        }
        @if plots.is_empty() { p.about { "The trial times are not kept with this run." } }
    }
}

fn sides(trials: &Trials) -> Vec<plots::PlotSide<'_>> {
    let side = |name, class, times: &[u64]| plots::PlotSide {
        name,
        class,
        times: times.iter().map(|&ns| ns as f64).collect(),
    };
    let mut sides = vec![side("eager", "c7", &trials.eager)];
    if trials.control != trials.eager && !trials.control.is_empty() {
        sides.push(side("control", "c1", &trials.control));
    }
    sides.push(side("candidate", "c0", &trials.candidate));
    sides
}

/// Returns the graph before and after, as far as it was recorded; drawn for the first graph of a page.
fn rewriting(context: &Context<'_>, run: usize, verdict: &Verdict, draw: bool) -> Markup {
    let Some(text) = &verdict.evidence.rewritten else { return html! {} };
    let header = &context.site.runs[run].header;
    let GraphId { task, graph } = &verdict.id;
    let id = GraphId { task: task.clone(), graph: graph.clone() };
    // One drawing a page: each has as many bytes as the rest of the page.
    let before = if draw { context.archive.graph(&header.suite, &header.suite_version, &id) } else { None };
    let after = if draw { context.archive.rewritten(text) } else { None };
    html! {
        details open[draw] {
            summary { "Before and after rewriting" }
            div.sides {
                @if let Some(before) = &before {
                    @let marks = after.as_ref().map(|after| replaced(&before.graph, after)).unwrap_or_default();
                    figure {
                        figcaption { "Before" @if marks.contains(&true) { "; the replaced calls are marked" } }
                        (graph_drawing(&before.graph, &before.types, &marks, "Graph before rewriting"))
                    }
                }
                @if let Some(after) = &after { figure { figcaption { "After" } (graph_drawing(after, &[], &[], "Graph after rewriting")) } }
                @else { pre tabindex="0" { (clipped(text.trim(), MAX_REWRITTEN)) } }
            }
        }
    }
}
