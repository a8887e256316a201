//! Lessons: states of a pass directory, from a first one to the final passes of the built-in author.
//!
//! A first draft is either right but slower than possible, in a way that is common (a kernel for each operation, the graph in two
//! halves, one pass of several, other loops or tiles), or it has a mistake. The referee judges each state.

use std::collections::BTreeSet;

use passnet_author::{Target, TypedGraph};
use passnet_fuse::{Choices, default_config};
use passnet_graph::SliceOrder;
use passnet_record::{FilePathError, KernelConfig, ORDER_FILE, PassDirectory, agent::Style};

use super::slip::Slip;
use crate::graph_facts::is_view;

/// Maximum files of a first draft; each one is compiled separately, which takes time.
const MAX_FILES: usize = 8;
/// Largest number of mistakes of each kind on the same graphs. The graphs decide which mistakes.
const MAX_SLIPS: usize = 3;
/// Other configurations that a lesson measures.
const MAX_CONFIGS: usize = 2;

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
    /// The final passes with other loops or tiles.
    Configs,
    /// The final passes with a mistake.
    Slip(Slip),
}

impl Approach {
    /// Returns the style that the lesson is meant to have. The verdicts decide which one it has.
    pub fn style(self) -> Style {
        match self {
            Self::Operations | Self::Halves | Self::FirstPass | Self::Whole => Style::Plain,
            Self::Configs => Style::Tuned,
            Self::Slip(slip) if slip.is_unruly() => Style::Refused,
            Self::Slip(_) => Style::Repaired,
        }
    }

    /// Returns the styles that the finished lesson has to have; empty if it may have any.
    ///
    /// A mistake that the referee does not notice, such as one in a loop that never runs on this graph, is no lesson: nothing
    /// would label it as a mistake.
    pub(crate) fn kept_in(self) -> &'static [Style] {
        if matches!(self, Self::Slip(_)) { &[Style::Repaired, Style::Refused] } else { &[] }
    }
}

/// A state of the pass directory.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Files.
    pub passes: PassDirectory,
    /// Words of the teacher about it, in addition to those about every state; may be empty.
    pub note: String,
}

impl Draft {
    pub(super) fn new(passes: PassDirectory) -> Self {
        Self { passes, note: String::new() }
    }
}

/// A lesson: states of a pass directory, in order; each is evaluated.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// First draft.
    pub approach: Approach,
    /// States, at least one.
    pub drafts: Vec<Draft>,
}

/// Returns the lessons of some styles on graphs that are taught together, each with a different first draft; none if the
/// built-in author writes no pass.
///
/// # Errors
/// If a file of the built-in author has a path that no pass directory can have.
pub fn lessons(graphs: &[TypedGraph], target: Target, styles: &BTreeSet<Style>) -> Result<Vec<Lesson>, FilePathError> {
    let whole = written(graphs, target, &Choices::new());
    if whole.files().is_empty() {
        return Ok(Vec::new());
    }
    let mut lessons = Vec::new();
    if styles.contains(&Style::Plain) {
        lessons.extend(plain(graphs, target, &whole)?);
    }
    if styles.contains(&Style::Tuned) {
        lessons.extend(tuned(graphs, target, &whole));
    }
    for (style, slips) in [(Style::Repaired, Slip::HONEST), (Style::Refused, Slip::UNRULY)] {
        if styles.contains(&style) {
            lessons.extend(slipped(&whole, &slips)?);
        }
    }
    Ok(lessons)
}

fn plain(graphs: &[TypedGraph], target: Target, whole: &PassDirectory) -> Result<Vec<Lesson>, FilePathError> {
    let none = Choices::new();
    let firsts = [
        (Approach::Operations, written(&cut(graphs, |nodes| nodes), target, &none)),
        (Approach::Halves, written(&cut(graphs, |_| 2), target, &none)),
        (Approach::FirstPass, first_pass(whole)?),
    ];
    // A draft that equals the final passes would be a lesson without an improvement.
    let mut seen = BTreeSet::from([whole.id().clone()]);
    let mut lessons = Vec::new();
    for (approach, first) in firsts {
        if (1..=MAX_FILES).contains(&first.files().len()) && seen.insert(first.id().clone()) {
            lessons.push(Lesson { approach, drafts: vec![Draft::new(first), Draft::new(whole.clone())] });
        }
    }
    if lessons.is_empty() {
        lessons.push(Lesson { approach: Approach::Whole, drafts: vec![Draft::new(whole.clone())] });
    }
    Ok(lessons)
}

/// Returns a lesson that measures other configurations of the kernels; `None` if they have no others.
fn tuned(graphs: &[TypedGraph], target: Target, whole: &PassDirectory) -> Option<Lesson> {
    let kernels = passnet_fuse::tunable_kernels(graphs, target);
    let configs: BTreeSet<KernelConfig> = kernels.iter().flat_map(|kernel| kernel.candidates.iter().copied()).collect();
    let mut seen = BTreeSet::from([whole.id().clone()]);
    let mut drafts = Vec::new();
    for config in rotated(&configs.into_iter().collect::<Vec<_>>(), seed(whole)) {
        let with = kernels.iter().filter(|kernel| kernel.candidates.contains(&config));
        let passes = written(graphs, target, &with.map(|kernel| (kernel.key.clone(), config)).collect());
        if drafts.len() < MAX_CONFIGS && seen.insert(passes.id().clone()) {
            drafts.push(Draft { passes, note: config.to_string() });
        }
    }
    // In the middle, so that a model does not learn that the first try is always, or never, the best.
    let place = drafts.len().min(1);
    drafts.insert(place, Draft { passes: whole.clone(), note: default_config(target).to_string() });
    (drafts.len() > 1).then_some(Lesson { approach: Approach::Configs, drafts })
}

/// Returns lessons that begin with a mistake in one of the passes.
fn slipped(whole: &PassDirectory, slips: &[Slip]) -> Result<Vec<Lesson>, FilePathError> {
    let (seed, order) = (seed(whole), order_of(whole));
    let mut lessons = Vec::new();
    if order.is_empty() {
        return Ok(lessons);
    }
    let name = format!("{}.py", order[seed % order.len()]);
    let Some((_, bytes)) = whole.files().iter().find(|(file, _)| *file == name) else { return Ok(lessons) };
    let text = String::from_utf8_lossy(bytes);
    for slip in rotated(slips, seed) {
        // Only this file gets the mistake, so one edit corrects it.
        let Some(slipped) = slip.make(&text, seed / slips.len()).filter(|slipped| slipped.text != text) else {
            continue;
        };
        let files = whole.files().iter().cloned().map(|(file, bytes)| {
            let bytes = if file == name { slipped.text.clone().into_bytes() } else { bytes };
            (file, bytes)
        });
        let first = Draft { passes: PassDirectory::new(files)?, note: slip.intent().to_owned() };
        let last = Draft { passes: whole.clone(), note: slipped.cause };
        lessons.push(Lesson { approach: Approach::Slip(slip), drafts: vec![first, last] });
        if lessons.len() == MAX_SLIPS {
            break;
        }
    }
    Ok(lessons)
}

/// Returns a number that depends on the passes only.
fn seed(passes: &PassDirectory) -> usize {
    let digits = passes.id().as_str().bytes().filter(u8::is_ascii_hexdigit).take(7);
    digits.fold(0, |seed, digit| seed * 16 + (digit as char).to_digit(16).unwrap_or(0) as usize)
}

fn rotated<T: Copy>(items: &[T], seed: usize) -> Vec<T> {
    let begin = seed % items.len().max(1);
    items[begin..].iter().chain(&items[..begin]).copied().collect()
}

fn written(graphs: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    passnet_fuse::write_passes(graphs, target, choices)
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

    const PLAIN: [Style; 1] = [Style::Plain];

    /// Returns a chain of `relu`, `add`, `tanh` over one vector, or another chain of functions.
    fn chain(functions: &[&str]) -> TypedGraph {
        let mut builder = Graph::builder();
        let mut value = builder.input("x");
        for (index, function) in functions.iter().enumerate() {
            let mut args = vec![value.into()];
            if function.starts_with("operator.") {
                args.push(Arg::Int(1));
            }
            value = builder.call_function(&format!("v{index}"), function, &args, &[]);
        }
        let graph = builder.finish(&[value.into()]).unwrap();
        let vector = Type::Tensor(TensorType::contiguous(&[64], DType::Float32));
        TypedGraph::new(graph, vec![vector; functions.len() + 1]).unwrap()
    }

    fn passes(lesson: &Lesson) -> Vec<usize> {
        lesson.drafts.iter().map(|draft| order_of(&draft.passes).len()).collect()
    }

    #[test]
    fn lessons_begin_differently_and_end_alike() {
        let three = chain(&["torch.relu", "operator.add", "torch.tanh"]);
        for target in [Target::Cpu, Target::Cuda] {
            let lessons = lessons(std::slice::from_ref(&three), target, &PLAIN.into()).unwrap();
            let found: Vec<_> = lessons.iter().map(|lesson| (lesson.approach, passes(lesson))).collect();
            assert_eq!(found, [(Approach::Operations, vec![3, 1]), (Approach::Halves, vec![2, 1])]);
            assert_eq!(lessons[0].drafts[1].passes.id(), lessons[1].drafts[1].passes.id());
        }
    }

    #[test]
    fn where_nothing_can_be_left_out_the_whole_is_the_lesson() {
        let approaches = |functions: &[&str]| {
            lessons(&[chain(functions)], Target::Cpu, &PLAIN.into())
                .unwrap()
                .iter()
                .map(|lesson| lesson.approach)
                .collect::<Vec<_>>()
        };
        assert_eq!(approaches(&["torch.relu"]), [Approach::Whole]);
        assert_eq!(approaches(&["torch.relu", "torch.tanh"]), [Approach::Operations]);
        assert_eq!(approaches(&["torch.linalg.eig"]), []);
    }

    #[test]
    fn what_is_written_for_two_graphs_can_be_begun_with_one_pass() {
        let graphs = [chain(&["torch.relu", "torch.tanh"]), chain(&["torch.sigmoid", "operator.add"])];
        let lessons = lessons(&graphs, Target::Cpu, &PLAIN.into()).unwrap();
        let first = lessons.iter().find(|lesson| lesson.approach == Approach::FirstPass).unwrap();
        assert_eq!(passes(first), [1, 2]);
    }

    #[test]
    fn every_mistake_has_a_place_and_is_corrected_by_one_edit() {
        let functions = ["torch.relu", "operator.add", "torch.tanh", "operator.mul"];
        for target in [Target::Cpu, Target::Cuda] {
            let whole = written(&[chain(&functions)], target, &Choices::new());
            let (_, bytes) = whole.files().iter().find(|(name, _)| name.ends_with(".py")).unwrap();
            let text = String::from_utf8_lossy(bytes);
            for slip in Slip::HONEST.into_iter().chain(Slip::UNRULY).filter(|slip| *slip != Slip::Inputs) {
                for seed in 0..4 {
                    let slipped = slip.make(&text, seed).unwrap_or_else(|| panic!("{slip:?} {target:?}:\n{text}"));
                    assert_ne!(slipped.text, text, "{slip:?}");
                    assert!(!slipped.cause.is_empty());
                    let order = br#"["fuse_0"]"#;
                    let file = [("fuse_0.py", slipped.text.as_bytes()), (ORDER_FILE, order.as_slice())];
                    let broken: Vec<_> = passnet_lint::lint_dir(&file).into_iter().map(|f| f.rule).collect();
                    // The rules know some names that a kernel does not define.
                    let agrees = slip == Slip::Name || slip.is_unruly() != broken.is_empty();
                    assert!(agrees, "{slip:?} {broken:?}\n{}", slipped.text);
                }
            }
        }
    }

    #[test]
    fn lessons_have_the_styles_that_are_asked_for() {
        let graphs = [chain(&["torch.relu", "operator.add", "torch.tanh"])];
        let count = |style: Style| {
            let lessons = lessons(&graphs, Target::Cuda, &[style].into()).unwrap();
            assert!(lessons.iter().all(|lesson| lesson.approach.style() == style));
            lessons.len()
        };
        let all = [Style::Plain, Style::Tuned, Style::Repaired, Style::Refused];
        assert_eq!(all.map(count), [2, 1, 3, 3]);
        let together = lessons(&graphs, Target::Cuda, &all.into()).unwrap();
        let firsts: BTreeSet<_> = together.iter().map(|lesson| lesson.drafts[0].passes.id().clone()).collect();
        assert_eq!(firsts.len(), together.len(), "no two lessons begin alike");
    }
}
