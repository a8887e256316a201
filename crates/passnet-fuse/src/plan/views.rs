//! Joined views: a sequence of calls that only change strides becomes one call.

use std::collections::BTreeSet;

use passnet_graph::{Callee, Node, NodeId, Target, TypedGraph, ops::Op};

use super::{region::Region, survey::Survey};
use crate::front::{
    evaluator::Scalarizer,
    expr::{BufferId, Expr},
    index::{Index, offset},
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

/// Returns one view of a graph as a region, for a pass that makes the same view.
pub(crate) fn find_lone_view(typed: &TypedGraph, target: Target, kept: &BTreeSet<NodeId>) -> Option<Region> {
    let survey = Survey::of(typed, target, kept)?;
    let is_plain = |name: &str| Op::find(name).is_some_and(|op| op.is_plain_view);
    // Of the functions, only an index by numbers and slices: a replacement writes it in brackets.
    let is_index = |node: &Node<'_>| {
        matches!(node.callee, Callee::Function("operator.getitem"))
            && node.operands().count() == 1
            && node.operands().all(|value| typed.tensor(value).is_some())
    };
    let is_written = |node: &Node<'_>| match node.callee {
        Callee::Method(name) => is_plain(name),
        Callee::Function(_) => is_index(node),
    };
    let mut views = typed.graph().nodes().filter(|node| is_written(node) && survey.is_view(node.id));
    views.find_map(|node| survey.assemble(BTreeSet::from([node.id])))
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
