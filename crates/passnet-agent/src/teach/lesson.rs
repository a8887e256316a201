//! Lessons: drafts of the built-in author's passes, from a first one to the final ones.
//!
//! The first draft is right but leaves speed on the table, in a way that people do: a kernel for each operation, the graph in
//! two halves, one pass of several. The referee measures the gain of the step to the whole.

use std::collections::BTreeSet;

use passnet_author::{Target, TypedGraph};
use passnet_graph::SliceOrder;
use passnet_record::{FilePathError, ORDER_FILE, PassDirectory};

use crate::graph_facts::is_view;

/// Maximum files of a first draft; each one is compiled separately, which takes time.
const MAX_FILES: usize = 8;

/// First draft of a lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approach {
    /// A kernel for each operation.
    Operations,
    /// Two halves of the operations, each fused as far as possible.
    Halves,
    /// The first of several passes.
    FirstPass,
    /// The final passes, if no smaller draft exists.
    Whole,
}

/// A lesson: states of a pass directory, in order; each is evaluated.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// First draft.
    pub approach: Approach,
    /// States, at least one.
    pub drafts: Vec<PassDirectory>,
}

/// Returns the lessons on graphs that are taught together, each with a different first draft; none if the built-in author writes
/// no pass.
///
/// # Errors
/// If a file of the built-in author has a path that no pass directory can have.
pub fn lessons(graphs: &[TypedGraph], target: Target) -> Result<Vec<Lesson>, FilePathError> {
    let whole = written(graphs, target);
    if whole.files().is_empty() {
        return Ok(Vec::new());
    }
    let firsts = [
        (Approach::Operations, written(&cut(graphs, |nodes| nodes), target)),
        (Approach::Halves, written(&cut(graphs, |_| 2), target)),
        (Approach::FirstPass, first_pass(&whole)?),
    ];
    // A draft that equals the final passes would be a lesson without an improvement.
    let mut seen = BTreeSet::from([whole.id().clone()]);
    let mut lessons = Vec::new();
    for (approach, first) in firsts {
        if (1..=MAX_FILES).contains(&first.files().len()) && seen.insert(first.id().clone()) {
            lessons.push(Lesson { approach, drafts: vec![first, whole.clone()] });
        }
    }
    if lessons.is_empty() {
        lessons.push(Lesson { approach: Approach::Whole, drafts: vec![whole] });
    }
    Ok(lessons)
}

fn written(graphs: &[TypedGraph], target: Target) -> PassDirectory {
    passnet_fuse::write_passes(graphs, target, &passnet_fuse::Choices::new())
}

/// Cuts each graph into parts of about equally many operations; parts of views alone are dropped.
fn cut(graphs: &[TypedGraph], parts: impl Fn(usize) -> usize) -> Vec<TypedGraph> {
    let mut cut = Vec::new();
    for typed in graphs {
        let graph = typed.graph();
        let nodes = graph.num_nodes();
        let parts = parts(nodes).clamp(1, nodes.max(1));
        for part in 0..parts {
            let range = nodes * part / parts..nodes * (part + 1) / parts;
            // The built-in author writes no pass for views alone.
            if graph.nodes().skip(range.start).take(range.len()).all(|node| is_view(typed, &node)) {
                continue;
            }
            // A part that is not a valid graph, such as a call without a result, is skipped.
            let Ok(slice) = graph.slice(range.clone(), SliceOrder::ByDefinition) else { continue };
            let computed = graph.nodes().skip(range.start).take(range.len()).map(|node| node.value);
            let types = slice.inputs.iter().copied().chain(computed).map(|value| typed.type_of(value).clone());
            cut.extend(TypedGraph::new(slice.graph, types.collect()));
        }
    }
    cut
}

/// Returns the first of several passes with its helper files; empty if there is only one pass.
fn first_pass(whole: &PassDirectory) -> Result<PassDirectory, FilePathError> {
    let order = order_of(whole);
    let [first, others @ ..] = order.as_slice() else { return Ok(PassDirectory::empty()) };
    if others.is_empty() {
        return Ok(PassDirectory::empty());
    }
    let left_out: BTreeSet<String> = others.iter().map(|pass| format!("{pass}.py")).collect();
    let kept = whole.files().iter().filter(|(name, _)| name != ORDER_FILE && !left_out.contains(name));
    let list = serde_json::to_vec(&[first]).unwrap_or_default();
    PassDirectory::new(kept.cloned().chain([(ORDER_FILE.to_owned(), list)]))
}

/// Returns the names of the passes in the order of application.
pub(super) fn order_of(passes: &PassDirectory) -> Vec<String> {
    passes.order().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use passnet_graph::{Arg, Graph, TensorType, Type};
    use passnet_record::DType;

    use super::*;

    /// Returns a chain of `relu`, `add`, `tanh` over one vector, or another chain of functions.
    fn chain(functions: &[&str]) -> TypedGraph {
        let mut builder = Graph::builder();
        let mut value = builder.input("x");
        for (index, function) in functions.iter().enumerate() {
            let mut args = vec![value.into()];
            if *function == "operator.add" {
                args.push(Arg::Int(1));
            }
            value = builder.call_function(&format!("v{index}"), function, &args, &[]);
        }
        let graph = builder.finish(&[value.into()]).unwrap();
        let vector = Type::Tensor(TensorType::contiguous(&[64], DType::Float32));
        TypedGraph::new(graph, vec![vector; functions.len() + 1]).unwrap()
    }

    fn passes(lesson: &Lesson) -> Vec<usize> {
        lesson.drafts.iter().map(|draft| order_of(draft).len()).collect()
    }

    #[test]
    fn lessons_begin_differently_and_end_alike() {
        let three = chain(&["torch.relu", "operator.add", "torch.tanh"]);
        for target in [Target::Cpu, Target::Cuda] {
            let lessons = lessons(std::slice::from_ref(&three), target).unwrap();
            let found: Vec<_> = lessons.iter().map(|lesson| (lesson.approach, passes(lesson))).collect();
            assert_eq!(found, [(Approach::Operations, vec![3, 1]), (Approach::Halves, vec![2, 1])]);
            assert_eq!(lessons[0].drafts[1].id(), lessons[1].drafts[1].id());
        }
    }

    #[test]
    fn where_nothing_can_be_left_out_the_whole_is_the_lesson() {
        let approaches = |functions: &[&str]| {
            lessons(&[chain(functions)], Target::Cpu).unwrap().iter().map(|lesson| lesson.approach).collect::<Vec<_>>()
        };
        assert_eq!(approaches(&["torch.relu"]), [Approach::Whole]);
        assert_eq!(approaches(&["torch.relu", "torch.tanh"]), [Approach::Operations]);
        assert_eq!(approaches(&["torch.linalg.eig"]), []);
    }

    #[test]
    fn what_is_written_for_two_graphs_can_be_begun_with_one_pass() {
        let graphs = [chain(&["torch.relu", "torch.tanh"]), chain(&["torch.sigmoid", "operator.add"])];
        let lessons = lessons(&graphs, Target::Cpu).unwrap();
        let first = lessons.iter().find(|lesson| lesson.approach == Approach::FirstPass).unwrap();
        assert_eq!(passes(first), [1, 2]);
    }
}
