//! Sites: parts of graphs, each with its replacement and its pattern.

use passnet_graph::{Node, Target, TypedGraph};

use super::{
    cost::Gain,
    pattern::{PatternText, write_pattern},
    region::Region,
    stage::Program,
    views::JoinedView,
};
use crate::front::{expr::BufferId, lower::call::Call};

/// A part of a graph that a pass replaces.
#[derive(Clone, Debug)]
pub(crate) struct PassSite {
    pub(crate) region: Region,
    pub(crate) replacement: Replacement,
    pub(crate) pattern: PatternText,
    /// Names of the operations, in program order.
    pub(crate) operations: Vec<String>,
    /// Predicted costs before and after.
    pub(crate) gain: Gain,
    /// Position of the graph in the task.
    pub(crate) graph: usize,
    /// Device of the region's tensors. It is the CPU also where a graph on another device computes in host memory.
    pub(crate) target: Target,
}

/// The code that replaces a region.
#[derive(Clone, Debug)]
pub(crate) enum Replacement {
    Kernels(Program),
    Views(Vec<JoinedView>),
    /// The same view as in the graph, with the body of the function that makes it. It saves no time, but a graph that nothing matches
    /// counts as failed.
    Same(String),
}

impl Replacement {
    fn program(&self) -> Option<&Program> {
        match self {
            Self::Kernels(program) => Some(program),
            Self::Views(_) | Self::Same(_) => None,
        }
    }
}

/// Properties that all sites of a pass have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternKey {
    /// The canonical form of the pattern.
    form_of_calls: Vec<String>,
    /// For each result the input that it overwrites.
    overwritten: Vec<Option<BufferId>>,
    /// All inputs that it overwrites.
    updated: Vec<BufferId>,
    form: PatternForm,
    target: Target,
}

/// Properties that sites must share only if they have the same kind of replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternForm {
    Kernels,
    /// The input of each view.
    Views(Vec<BufferId>),
    /// The constants: a replacement may call methods with its own numbers only.
    Same(Vec<String>),
}

impl PassSite {
    pub(crate) fn new(
        typed: &TypedGraph,
        graph: usize,
        region: Region,
        replacement: Replacement,
        target: Target,
    ) -> Self {
        let pattern = write_pattern(typed, &region);
        let nodes = region.nodes.iter().map(|&node| typed.graph().node(node));
        let name = |node: Node<'_>| {
            let call = Call::of(typed.graph(), node);
            call.map_or_else(|| node.callee.target().to_owned(), |call| call.name.to_owned())
        };
        let operations = nodes.map(name).collect();
        let gain = Gain::of(typed, &region, replacement.program(), target);
        Self { region, replacement, pattern, operations, gain, graph, target }
    }

    pub(crate) fn key(&self) -> PatternKey {
        let form = match &self.replacement {
            Replacement::Kernels(_) => PatternForm::Kernels,
            Replacement::Views(views) => PatternForm::Views(views.iter().map(|view| view.input).collect()),
            Replacement::Same(_) => PatternForm::Same(self.pattern.constants.clone()),
        };
        PatternKey {
            form_of_calls: self.pattern.form.clone(),
            // The signature of the replacement depends on it: a result that is an input is returned and not
            // allocated.
            overwritten: self.region.outputs.iter().map(|output| output.input).collect(),
            updated: self.region.updates.iter().map(|&(buffer, _)| buffer).collect(),
            form,
            target: self.target,
        }
    }

    pub(crate) fn program(&self) -> Option<&Program> {
        self.replacement.program()
    }

    /// Makes kernels for a GPU assert that indices are in range.
    pub(crate) fn check_indices(&mut self) {
        if let Replacement::Kernels(program) = &mut self.replacement {
            program.checks_indices = true;
        }
    }

    pub(crate) fn views(&self) -> Option<&[JoinedView]> {
        match &self.replacement {
            Replacement::Kernels(_) | Replacement::Same(_) => None,
            Replacement::Views(views) => Some(views),
        }
    }
}
