//! Boxes and edges of the drawing of a graph.

use passnet_graph::{Callee, Graph, ValueId};

use super::fold::{Fold, folds};
use crate::format::counted;

/// Longest label; the rest is in the tooltip.
const MAX_CHARS: usize = 30;
/// Boxes that fit one drawing.
const MAX_BOXES: usize = 900;
/// Number of boxes from which on a drawing leaves out inputs that only one call uses.
const MANY_BOXES: usize = 160;

/// Positions of source and target among the boxes.
pub(super) type Edge = (usize, usize);

pub(super) struct NodeBox {
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) title: String,
}

/// Parts of a graph that a drawing leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OmittedParts {
    /// Calls that are in boxes of repeated blocks.
    pub(super) folded: usize,
    /// Inputs without a box.
    pub(super) inputs: usize,
}

/// Uses of the values of a graph: value, and the value of the call that uses it; the result is the last value plus one.
fn uses(graph: &Graph) -> Vec<(ValueId, usize)> {
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
    uses
}

/// Returns the users of each value.
fn users(uses: &[(ValueId, usize)], values: usize) -> Vec<Vec<usize>> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); values];
    for &(value, user) in uses {
        users[value.index()].push(user);
    }
    users
}

/// Returns boxes in program order, the result last, and the edges between them. Inputs that nothing uses are left out, and so are
/// the repetitions of blocks. A graph with marks is not folded, because a fold would hide them. `None` for too many boxes.
pub(super) fn parts(
    graph: &Graph,
    types: &[Option<String>],
    replaced: &[bool],
) -> Option<(Vec<NodeBox>, Vec<Edge>, OmittedParts)> {
    let uses = uses(graph);
    let end = graph.num_values();
    let first_call = graph.nodes().next().map_or(end, |node| node.value.index());
    let ops: Vec<Callee<'_>> = graph.nodes().map(|node| node.callee).collect();
    let folds = if replaced.contains(&true) { Vec::new() } else { folds(&ops) };
    // The fold that hides a value.
    let fold_of = |value: usize| {
        let call = value.checked_sub(first_call)?;
        folds.iter().position(|fold| fold.hidden.contains(&call))
    };
    let hidden: usize = folds.iter().map(|fold| fold.hidden.len()).sum();
    let is_large = end - hidden > MANY_BOXES;
    let mut drawn = OmittedParts { folded: hidden, inputs: 0 };
    let users = users(&uses, end);
    let mut place: Vec<Option<usize>> = vec![None; end + 1];
    let mut boxes: Vec<NodeBox> = Vec::new();
    let mut fold_box: Vec<Option<usize>> = vec![None; folds.len()];
    for value in (0..end as u32).map(ValueId) {
        let users = &users[value.index()];
        let is_input = graph.node_of(value).is_none();
        if is_input && users.is_empty() {
            continue;
        }
        // Weights of repeated blocks are part of these, and there are too many weights in a large graph.
        let in_folds = !users.is_empty() && users.iter().all(|&user| fold_of(user).is_some());
        if is_input && (in_folds || is_large && users.len() == 1) {
            drawn.inputs += 1;
            continue;
        }
        if let Some(fold) = fold_of(value.index()) {
            place[value.index()] = Some(*fold_box[fold].get_or_insert_with(|| {
                boxes.push(block_box(&folds[fold]));
                boxes.len() - 1
            }));
            continue;
        }
        place[value.index()] = Some(boxes.len());
        let mut item = value_box(graph, value, types.get(value.index()).and_then(Option::as_deref));
        if replaced.get(value.index()).copied().unwrap_or_default() {
            item.class = "op gone";
        }
        boxes.push(item);
    }
    place[end] = Some(boxes.len());
    boxes.push(result_box(graph));
    if boxes.len() > MAX_BOXES {
        return None;
    }
    let edge = |&(from, to): &(ValueId, usize)| Some((place[from.index()]?, place[to]?));
    // Edges inside a folded block would be loops.
    let mut edges: Vec<Edge> = uses.iter().filter_map(edge).filter(|(from, to)| from != to).collect();
    edges.sort_unstable();
    edges.dedup();
    Some((boxes, edges, drawn))
}

fn block_box(fold: &Fold) -> NodeBox {
    let calls = counted(fold.block, "call");
    NodeBox {
        class: "block",
        name: format!("{} more of this block", fold.repetitions()),
        kind: format!("{calls} each"),
        title: format!("the {calls} above, {}", counted(fold.repetitions(), "more time")),
    }
}

fn result_box(graph: &Graph) -> NodeBox {
    let returned: Vec<String> = graph.outputs().iter().map(|&arg| graph.arg_text(arg).to_string()).collect();
    NodeBox {
        class: "out",
        name: "return".to_owned(),
        kind: shortened(&returned.join(", ")),
        title: format!("return {}", returned.join(", ")),
    }
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
            let op = op_name(callee);
            let is_new = op.starts_with("passnet_");
            NodeBox {
                class: if is_new { "op new" } else { "op" },
                name: shortened(without_package(&op)),
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

/// Returns the name of a replacement without the generated name of its package, `passnet_passes_0_`.
fn without_package(op: &str) -> &str {
    let rest =
        op.strip_prefix("passnet_passes_").map(|rest| rest.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix('_')).filter(|rest| !rest.is_empty()).unwrap_or(op)
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() { format!("{head}…") } else { head }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a chain of layers of six calls, each with a separate weight.
    fn layers(count: usize) -> Graph {
        let mut builder = Graph::builder();
        let mut value = builder.input("x");
        let weights: Vec<ValueId> = (0..count).map(|layer| builder.input(&format!("w{layer}"))).collect();
        for (layer, &weight) in weights.iter().enumerate() {
            for (at, op) in ["matmul", "relu", "neg", "exp", "sin", "cos"].iter().enumerate() {
                let args = if at == 0 { vec![value.into(), weight.into()] } else { vec![value.into()] };
                value = builder.call_function(&format!("v{layer}_{at}"), &format!("torch.{op}"), &args, &[]);
            }
        }
        builder.finish(&[value.into()]).expect("a chain is a graph")
    }

    #[test]
    fn replacements_are_named_by_their_pass_and_function() {
        assert_eq!(without_package("passnet_passes_12_fuse_0_fused"), "fuse_0_fused");
        for op in ["passnet_passes_", "passnet_passes_1_", "passnet_other", "relu"] {
            assert_eq!(without_package(op), op);
        }
    }

    #[test]
    fn a_model_of_equal_layers_is_drawn_as_one_layer() {
        let graph = layers(120);
        let (boxes, edges, drawn) = parts(&graph, &[], &[]).unwrap();
        // The input, a weight that only the drawn layer uses, six calls, the block, the result.
        assert_eq!((boxes.len(), drawn), (10, OmittedParts { folded: 119 * 6, inputs: 119 }));
        assert_eq!(boxes[8].name, "119 more of this block");
        assert!(edges.iter().all(|&(from, to)| from < to) && edges.contains(&(7, 8)) && edges.contains(&(8, 9)));
    }

    #[test]
    fn marks_are_never_hidden() {
        let graph = layers(20);
        let mut replaced = vec![false; graph.num_values()];
        replaced[graph.num_values() - 1] = true;
        let (boxes, _, drawn) = parts(&graph, &[], &replaced).unwrap();
        assert_eq!(drawn.folded, 0);
        assert_eq!(boxes.iter().filter(|item| item.class == "op gone").count(), 1);
    }
}
