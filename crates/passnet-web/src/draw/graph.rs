//! A graph as a drawing: boxes for inputs, calls and the result, with types, in layers.

use maud::{Markup, html};
use passnet_graph::{Callee, Graph, ValueId};

use super::{at, layout::layout};
use crate::format::counted;

const BOX_HEIGHT: f64 = 38.0;
/// Width of a character of the labels.
const CHAR: f64 = 6.7;
/// Longest label; the rest is in the tooltip.
const MAX_CHARS: usize = 30;
/// Boxes that fit one drawing.
const MAX_BOXES: usize = 300;

/// Positions of source and target among the boxes.
type Edge = (usize, usize);

struct NodeBox {
    class: &'static str,
    name: String,
    kind: String,
    title: String,
}

/// Draws a graph. `types` are of its values, inputs first; missing ones are left out. `replaced` marks values that a
/// rewriting removes; missing ones stay. A graph that is too large to be read as a drawing is given as text alone.
pub(crate) fn graph_drawing(graph: &Graph, types: &[Option<String>], replaced: &[bool], label: &str) -> Markup {
    let drawing = drawing(graph, types, replaced, label);
    html! {
        @if let Some(drawing) = &drawing {
            div.scroll.drawing role="region" aria-label=(label) tabindex="0" { (drawing) }
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

fn drawing(graph: &Graph, types: &[Option<String>], replaced: &[bool], label: &str) -> Option<Markup> {
    let (boxes, edges) = parts(graph, types, replaced)?;
    let widths: Vec<f64> = boxes
        .iter()
        .map(|item| item.name.chars().count().max(item.kind.chars().count()).max(4) as f64 * CHAR + 16.0)
        .collect();
    let layout = layout(&widths, BOX_HEIGHT, &edges)?;
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    Some(html! {
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
    })
}

/// Boxes in program order, the result last, and the edges between them. Inputs that nothing uses are left out.
fn parts(graph: &Graph, types: &[Option<String>], replaced: &[bool]) -> Option<(Vec<NodeBox>, Vec<Edge>)> {
    if graph.num_values() + 1 > MAX_BOXES {
        return None;
    }
    let mut uses: Vec<(ValueId, usize)> = Vec::new();
    for node in graph.nodes() {
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| uses.push((value, node.value.index())));
        }
    }
    let end = graph.num_values();
    for &arg in graph.outputs() {
        graph.for_each_value(arg, &mut |value| uses.push((value, end)));
    }
    uses.sort_unstable();
    uses.dedup();
    let mut place = vec![usize::MAX; end + 1];
    let mut boxes = Vec::new();
    for value in (0..end as u32).map(ValueId) {
        let used = uses.iter().any(|&(from, _)| from == value);
        if used || graph.node_of(value).is_some() {
            place[value.index()] = boxes.len();
            let mut item = value_box(graph, value, types.get(value.index()).and_then(Option::as_deref));
            if replaced.get(value.index()).copied().unwrap_or_default() {
                item.class = "op gone";
            }
            boxes.push(item);
        }
    }
    place[end] = boxes.len();
    let returned: Vec<String> = graph.outputs().iter().map(|&arg| graph.arg_text(arg).to_string()).collect();
    boxes.push(NodeBox {
        class: "out",
        name: "return".to_owned(),
        kind: shortened(&returned.join(", ")),
        title: format!("return {}", returned.join(", ")),
    });
    let edges = uses.iter().map(|&(from, to)| (place[from.index()], place[to])).collect();
    Some((boxes, edges))
}

fn value_box(graph: &Graph, value: ValueId, kind: Option<&str>) -> NodeBox {
    let name = graph.name(value);
    let typed = |text: String| kind.map_or_else(|| text.clone(), |kind| format!("{text}: {kind}"));
    match graph.node_of(value) {
        None => NodeBox {
            class: "in",
            name: shortened(name),
            kind: shortened(kind.unwrap_or("input")),
            title: typed(format!("input {name}")),
        },
        Some(node) => {
            let callee = graph.node(node).callee;
            let is_new = op_name(callee).starts_with("passnet_");
            NodeBox {
                class: if is_new { "op new" } else { "op" },
                name: shortened(&op_name(callee)),
                kind: shortened(kind.unwrap_or(name)),
                title: typed(format!("{name} = {}", graph.call_text(node))),
            }
        }
    }
}

/// Returns the last part of a dotted path; methods begin with a dot.
fn op_name(callee: Callee<'_>) -> String {
    match callee {
        Callee::Method(name) => format!(".{name}"),
        Callee::Function(path) => path.rsplit('.').next().unwrap_or(path).to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() { format!("{head}…") } else { head }
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
