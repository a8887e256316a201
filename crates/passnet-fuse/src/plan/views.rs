//! Joined views: a sequence of calls that only change strides becomes one call.

use std::collections::BTreeSet;

use passnet_graph::{Callee, Node, NodeId, Target, TensorType, TypedGraph, ops::Op};

use super::{region::Region, survey::Survey};
use crate::front::{
    evaluator::Scalarizer,
    expr::{BufferId, Expr},
    index::{Index, offset},
    lower::call::Call,
};

/// A result of a region as a view of one of its inputs; shape and strides are those of the result.
#[derive(Clone, Debug)]
pub(crate) struct JoinedView {
    pub(crate) input: BufferId,
    /// Distance from the first element of the input to that of the view, in elements.
    pub(crate) offset: i64,
}

/// Returns the regions of those views that are not in `taken`.
pub(crate) fn find_view_regions(
    typed: &TypedGraph,
    target: Target,
    kept: &BTreeSet<NodeId>,
    taken: &BTreeSet<NodeId>,
) -> Vec<(Region, Vec<JoinedView>)> {
    let Some(survey) = Survey::of(typed, target, kept) else { return Vec::new() };
    let is_free = |node: &NodeId| !taken.contains(node) && survey.is_view(*node);
    let view_region = |nodes: BTreeSet<NodeId>| {
        let region = survey.assemble(nodes)?;
        let views = views_of(&region)?;
        Some((region, views))
    };
    let of_level = |nodes: BTreeSet<NodeId>| -> Vec<(Region, Vec<JoinedView>)> {
        let nodes: BTreeSet<NodeId> = nodes.into_iter().filter(is_free).collect();
        match view_region(nodes.clone()) {
            Some(region) => vec![region],
            // A node uses the first of them before the last one, for example to change a part of a tensor.
            None => survey.until_used(nodes).into_iter().filter_map(view_region).collect(),
        }
    };
    survey.by_level().into_iter().flat_map(of_level).collect()
}

/// Returns the view of a graph that costs the least as a region, for a pass that makes the same view. The view may be one that
/// is not worth a replacement otherwise. Of `blocked`, only methods are repeated: they are views in every graph that has the same call.
pub(crate) fn find_lone_view(typed: &TypedGraph, target: Target, blocked: &BTreeSet<NodeId>) -> Option<Region> {
    let graph = typed.graph();
    let is_method = |node: NodeId| RepeatedView::of(typed, &graph.node(node)) == Some(RepeatedView::Method);
    let kept = blocked.iter().copied().filter(|&node| !is_method(node)).collect();
    let survey = Survey::of(typed, target, &kept)?;
    let mut views: Vec<(RepeatedView, NodeId)> = graph
        .nodes()
        .filter(|node| survey.is_view(node.id))
        .filter_map(|node| Some((RepeatedView::of(typed, &node)?, node.id)))
        .collect();
    views.sort();
    views.into_iter().find_map(|(_, node)| survey.assemble(BTreeSet::from([node])))
}

/// A view that the replacement of a pass may make as the graph does, by its time in PyTorch: the first is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RepeatedView {
    Method,
    /// `reshape` of a contiguous tensor. The replacement calls `view`, since `reshape` may copy.
    Reshape,
    /// Numbers, slices, `None` and `...` as indices.
    Index,
}

impl RepeatedView {
    fn of(typed: &TypedGraph, node: &Node<'_>) -> Option<Self> {
        let graph = typed.graph();
        let call = Call::of(graph, *node)?;
        let is_contiguous = || {
            let subject = call.subject().and_then(|subject| typed.tensor(subject.as_value()?));
            subject.is_some_and(TensorType::is_contiguous)
        };
        match node.callee {
            Callee::Method("reshape") => is_contiguous().then_some(Self::Reshape),
            Callee::Method(name) => Op::find(name).is_some_and(|op| op.is_plain_view).then_some(Self::Method),
            Callee::Function("operator.getitem") => {
                let is_of_tensor = node.operands().all(|value| typed.tensor(value).is_some());
                (is_of_tensor && node.operands().count() == 1).then_some(Self::Index)
            }
            Callee::Function(_) => None,
        }
    }
}

/// Returns the results as views; `None` where one is not.
pub(crate) fn views_of(region: &Region) -> Option<Vec<JoinedView>> {
    let mut evaluator = Scalarizer::new(&region.tensors);
    region
        .outputs
        .iter()
        .map(|output| {
            let index: Vec<Index> = output.ty.shape.iter().map(|&extent| evaluator.vars.fresh(extent)).collect();
            let value = evaluator.at(output.tensor, &index)?;
            let Expr::Load { buffer, dtype, at } = evaluator.arena.get(value) else { return None };
            // Elements of half types are `float` numbers as expressions, but a view has the type of its tensor.
            (*dtype == output.ty.dtype).then_some(())?;
            // A view reads at its offset plus indices times strides. With the strides that PyTorch gives, what
            // remains has to be a constant.
            let rest = at.clone().plus(&offset(&index, &output.ty.stride).times(-1));
            Some(JoinedView { input: *buffer, offset: rest.as_constant().filter(|offset| *offset >= 0)? })
        })
        .collect()
}
