//! A graph as a drawing: boxes for inputs, calls and the result, with types, in layers.

use maud::{Markup, html};
use passnet_graph::Graph;

use super::{
    at,
    graph_parts::{OmittedParts, parts},
    layout::layout,
};
use crate::format::counted;

const BOX_HEIGHT: f64 = 38.0;
/// Width of a character of the labels, at least, in the monospace fonts of common systems (0.61 of their size).
const CHAR: f64 = 7.3;

/// Draws a graph. `types` are of its values, inputs first; missing ones are left out. `replaced` marks values that a
/// rewriting removes; missing ones stay. A graph that is too large to be read as a drawing is given as text alone.
pub(crate) fn graph_drawing(graph: &Graph, types: &[Option<String>], replaced: &[bool], label: &str) -> Markup {
    let drawing = drawing(graph, types, replaced, label);
    html! {
        @if let Some((drawing, drawn)) = &drawing {
            // A script adds buttons to zoom; dragging moves the drawing.
            div.zoom { div.scroll.drawing role="region" aria-label=(label) tabindex="0" { (drawing) } }
            @if drawn.folded > 0 {
                p.about { "Repeated blocks are drawn once: " (counted(drawn.folded, "call")) " of " (graph.num_nodes()) " are in boxes with a thick frame." }
            }
            @if drawn.inputs > 0 { p.about { (counted(drawn.inputs, "input")) " that one call alone uses, such as weights, are not drawn." } }
        } @else {
            p.about { "Too large to be drawn: " (counted(graph.num_nodes(), "call")) "." }
        }
        details open[drawing.is_none()] {
            summary { "As text" }
            pre tabindex="0" { (clipped(&graph.to_string())) }
        }
    }
}

/// Text that keeps a page readable.
fn clipped(text: &str) -> String {
    const MAX: usize = 40_000;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}\n… ({} more characters)", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

fn drawing(graph: &Graph, types: &[Option<String>], replaced: &[bool], label: &str) -> Option<(Markup, OmittedParts)> {
    let (boxes, edges, drawn) = parts(graph, types, replaced)?;
    let widths: Vec<f64> = boxes
        .iter()
        // Text cannot be measured without a browser, so widths come from the number of characters.
        .map(|item| item.name.chars().count().max(item.kind.chars().count()).max(4) as f64 * CHAR + 16.0)
        .collect();
    let layout = layout(&widths, BOX_HEIGHT, &edges)?;
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let picture = html! {
        svg.graph viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img" aria-label=(label) {
            @for route in &layout.routes { path.edge d=(curve(route)) {} }
            @for ((item, width), &(x, y)) in boxes.iter().zip(&widths).zip(&layout.tops) {
                g.(item.class) {
                    title { (item.title) }
                    rect x=(at(x - width / 2.0)) y=(at(y)) width=(at(*width)) height=(at(BOX_HEIGHT)) rx="5" {}
                    text x=(at(x)) y=(at(y + 16.0)) { (item.name) }
                    text.type x=(at(x)) y=(at(y + 31.0)) { (item.kind) }
                }
            }
        }
    };
    Some((picture, drawn))
}

/// Returns a smooth line through the points, vertical at each.
fn curve(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        match index.checked_sub(1).map(|before| points[before]) {
            None => path.push_str(&format!("M{} {}", at(x), at(y))),
            Some((before, _)) if before == x => path.push_str(&format!("V{}", at(y))),
            Some((before, above)) => {
                let middle = at((above + y) / 2.0);
                path.push_str(&format!("C{} {middle} {} {middle} {} {}", at(before), at(x), at(x), at(y)));
            }
        }
    }
    path
}
