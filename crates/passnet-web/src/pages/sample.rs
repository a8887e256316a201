//! One graph of a dataset, and the graphs that are most like it.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    PageId, SampleLine,
    draw::graph::graph_drawing,
    format::{counted, percent},
    highlight::{Language, highlighted},
    shell::{scrolling, section},
};

/// Graphs that are listed as most similar.
const NEAREST: usize = 10;
/// Similarity below which graphs have little in common.
const LEAST_SIMILAR: f32 = 0.05;
/// Characters of the source that are shown.
const MAX_SOURCE: usize = 60_000;
/// Bytes of the drawing and the source together. A large drawing leaves less room for the source, so that no page is above 300 KB.
const MAX_BYTES: usize = 250_000;
/// Bytes of it whose keywords and strings are marked.
const MAX_MARKED: usize = 20_000;
/// Inputs that are listed.
const MAX_INPUTS: usize = 40;

pub(super) fn page(context: &Context<'_>, index: usize) -> Page {
    let empty = (&SampleLine::default(), "");
    let (sample, table) = context.site.sample(index).unwrap_or(empty);
    let graph = context.archive.parsed(&sample.text);
    let drawing = match &graph {
        Some(graph) => {
            let types: Vec<Option<String>> = sample.inputs.iter().cloned().map(Some).collect();
            graph_drawing(graph, &types, &[], "Graph")
        }
        None => html! { p { "This graph cannot be drawn: it is too long, or not straight-line code." } },
    };
    let room = MAX_BYTES.saturating_sub(drawing.0.len()).min(MAX_SOURCE);
    let lead = html! {
        p { "From the table " (table) " of this dataset: " (counted(sample.ops, "op")) ", " (counted(sample.inputs.len(), "input")) "." }
        dl.facts {
            @for (name, value) in [("Model", &sample.model), ("Domain", &sample.domain), ("Source", &sample.source), ("Sample", &sample.path)] {
                @if !value.is_empty() { div { dt { (name) } dd { (value) } } }
            }
        }
    };
    let sections = vec![
        section("graph", "Graph", drawing),
        section("nearest", "Nearest graphs", nearest(context, index, sample)),
        section("inputs", "Inputs", inputs(sample)),
        section("source", "Source", source(sample, room)),
    ];
    // The last part alone is a number in many datasets.
    let name = sample.path.rsplit('/').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("/");
    let above = vec![("Dataset".to_owned(), PageId::Dataset(0))];
    Page { title: format!("Graph {name}"), above, lead, sections }
}

fn inputs(sample: &SampleLine) -> Markup {
    html! {
        p.types { @for (at, kind) in sample.inputs.iter().take(MAX_INPUTS).enumerate() { @if at > 0 { ", " } span { (kind) } } }
        @if sample.inputs.len() > MAX_INPUTS { p.about { (counted(sample.inputs.len() - MAX_INPUTS, "further input")) "." } }
    }
}

/// Shows up to `room` characters of the source.
fn source(sample: &SampleLine, room: usize) -> Markup {
    if sample.text.is_empty() {
        return html! { p { "The source is too long to be shown; " code { "passnet dataset query" } " writes it." } };
    }
    let shown: String = sample.text.chars().take(room).collect();
    html! {
        details {
            summary { "model.py, " (counted(sample.text.lines().count(), "line")) }
            pre.code tabindex="0" { @for line in highlighted(&shown, Language::Python, MAX_MARKED) { i { (line) } } }
            @if shown.len() < sample.text.len() { p.about { "Cut after " (room) " characters." } }
        }
    }
}

fn nearest(context: &Context<'_>, index: usize, sample: &SampleLine) -> Markup {
    // Every pair is compared, which takes a millisecond for the samples that a site shows; an index would
    // cost more code.
    let others = (0..context.site.samples.len()).filter(|&other| other != index);
    let mut found: Vec<(f32, usize, &SampleLine)> = others
        .filter_map(|other| {
            let (line, _) = context.site.sample(other)?;
            Some((similarity(&sample.features, &line.features), other, line))
        })
        .filter(|&(similarity, ..)| similarity > LEAST_SIMILAR)
        .collect();
    // Equal similarities are ordered by index, so that a site is written the same each time.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    if found.is_empty() {
        return html! { p { "No other graph that the site shows has much in common with this one." } };
    }
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "Graph" } th.number scope="col" { "Similarity" } th.number scope="col" { "Ops" } th scope="col" { "Model" }
                th scope="col" { "Most frequent ops" }
            } }
            tbody { @for (similarity, other, line) in found.iter().take(NEAREST) { tr {
                th scope="row" { (context.link(PageId::Sample(*other), &line.path)) }
                td.number { (percent(100.0 * f64::from(*similarity))) }
                td.number { (line.ops) } td { (line.model) } td.types { (line.op_names) }
            } } }
        }
    };
    html! {
        p.about {
            "Similarity is 100% for graphs with the same ops in the same numbers, with any shapes. It is the cosine between the "
            "counts of ops, and of pairs of consecutive ops; ops that most graphs have count less."
        }
        (scrolling("Nearest graphs", table))
    }
}

/// Returns the dot product of two lists of features, each in ascending order.
fn similarity(left: &[(u32, f32)], right: &[(u32, f32)]) -> f32 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some((a, x)), Some((b, y))) = (left.get(i), right.get(j)) {
        if a == b {
            sum += x * y;
        }
        // Both lists are sorted, so the side with the smaller feature advances, and both sides advance on equal features.
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_drawing_leaves_less_room_for_the_source() {
        let sample = SampleLine { text: "x = torch.relu(y)\n".repeat(10_000), ..SampleLine::default() };
        for room in [MAX_SOURCE, 20_000, 0] {
            let shown = source(&sample, room).into_string();
            assert!(shown.contains(&format!("Cut after {room} characters.")), "{room}");
            assert!(shown.len() < 2 * room + 1_000, "{room}: {}", shown.len());
        }
        let short = SampleLine { text: "x = 1\n".to_owned(), ..SampleLine::default() };
        assert!(!source(&short, MAX_SOURCE).into_string().contains("Cut after"));
    }

    #[test]
    fn common_features_count() {
        let (one, other) = ([(1, 0.6), (4, 0.8)], [(1, 0.6), (2, 0.8)]);
        assert!((similarity(&one, &one) - 1.0).abs() < 1e-6 && (similarity(&one, &other) - 0.36).abs() < 1e-6);
        assert!(similarity(&one, &[]).abs() < 1e-6 && similarity(&one, &[(3, 1.0)]).abs() < 1e-6);
    }
}
