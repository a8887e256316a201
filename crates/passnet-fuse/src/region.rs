//! Which parts of a graph are rewritten: runs of expressible nodes between those that stay.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{NodeId, ValueId};

use crate::{
    author::Target,
    expr::BufferId,
    lower::{
        Lowered, Lowering,
        storage::{Storage, is_view},
    },
    tensor::{TensorId, Tensors},
    typed::{TensorType, TypedGraph},
};

/// A part of a graph that one call can replace: no path leads out of it and back into it, and all that it gives is used
/// only after its last node.
#[derive(Debug)]
pub(crate) struct Region {
    /// In program order.
    pub(crate) nodes: Vec<NodeId>,
    /// Values from outside, by number of their buffer.
    pub(crate) inputs: Vec<ValueId>,
    /// Values that are used outside or returned.
    pub(crate) outputs: Vec<Output>,
    /// Inputs that are overwritten, by number of their buffer, with their new elements.
    pub(crate) updates: Vec<(BufferId, TensorId)>,
    pub(crate) tensors: Tensors,
}

/// A result of a region.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) value: ValueId,
    pub(crate) tensor: TensorId,
    pub(crate) ty: TensorType,
    /// The input that is overwritten with it and is the result, where eager mode computes in place.
    pub(crate) input: Option<BufferId>,
}

impl Region {
    /// Results that need memory of their own.
    pub(crate) fn allocated(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().filter(|output| output.input.is_none())
    }
}

/// Whether a region may give as a copy what eager mode gives as a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// No: the view costs nothing.
    Never,
    /// Yes, unless the graph returns it as a view of one of its inputs: for graphs where nothing else can be rewritten.
    Unseen,
}

/// All regions of a graph, none where rewriting could change what is seen of memory.
pub(crate) fn regions(typed: &TypedGraph, target: Target, copies: Copies) -> Vec<Region> {
    let Some(survey) = Survey::of(typed, target) else { return Vec::new() };
    survey.by_level().into_iter().filter_map(|nodes| survey.assemble(survey.without_views(nodes, copies))).collect()
}

/// What a graph's nodes are to regions.
pub(crate) struct Survey<'g> {
    typed: &'g TypedGraph,
    target: Target,
    storage: Storage,
    updates: BTreeMap<ValueId, ValueId>,
    expressible: BTreeSet<NodeId>,
    levels: Vec<usize>,
}

impl<'g> Survey<'g> {
    /// `None` where rewriting could change what is seen of memory.
    pub(crate) fn of(typed: &'g TypedGraph, target: Target) -> Option<Self> {
        let graph = typed.graph();
        let mut trial = Lowering::new(typed, target);
        let expressible: BTreeSet<NodeId> =
            graph.nodes().filter_map(|node| trial.lower(node).map(|()| node.id)).collect();
        let storage = Storage::of(typed, &|node| expressible.contains(&node));
        let updates = storage.updates(typed)?;
        let levels = levels(typed, &expressible);
        Some(Self { typed, target, storage, updates, expressible, levels })
    }

    /// The expressible nodes of each level.
    pub(crate) fn by_level(&self) -> Vec<BTreeSet<NodeId>> {
        let deepest = self.levels.iter().copied().max().unwrap_or(0);
        let of_level =
            |level| self.expressible.iter().copied().filter(|node| self.levels[node.index()] == level).collect();
        (0..=deepest).map(of_level).collect()
    }

    /// Whether a node does nothing but view its argument.
    pub(crate) fn is_view(&self, node: NodeId) -> bool {
        is_view(self.typed, self.typed.graph().node(node))
    }

    /// Nodes without those whose results eager mode gives as views of something outside: these have to stay views.
    fn without_views(&self, mut nodes: BTreeSet<NodeId>, copies: Copies) -> BTreeSet<NodeId> {
        let Self { typed, storage, updates, .. } = self;
        let graph = typed.graph();
        loop {
            let outside: Vec<ValueId> = match copies {
                Copies::Never => inputs(typed, &nodes),
                Copies::Unseen => {
                    let mut returned = Vec::new();
                    for &output in graph.outputs() {
                        graph.for_each_value(output, &mut |value| returned.push(value));
                    }
                    graph.inputs().filter(|&input| returned.iter().any(|&value| storage.share(input, value))).collect()
                }
            };
            let leaves = |value: &ValueId| {
                typed.tensor(*value).is_none_or(|ty| !ty.is_dense())
                    || (!updates.contains_key(value) && outside.iter().any(|&input| storage.share(input, *value)))
            };
            let views: Vec<NodeId> =
                outputs(typed, &nodes).into_iter().filter(leaves).filter_map(|value| graph.node_of(value)).collect();
            if views.is_empty() {
                break;
            }
            for view in views {
                nodes.remove(&view);
            }
        }
        nodes
    }

    /// The region of these nodes.
    pub(crate) fn assemble(&self, nodes: BTreeSet<NodeId>) -> Option<Region> {
        let Self { typed, target, updates, .. } = self;
        let graph = typed.graph();
        let last = *nodes.last()?;
        let outside = inputs(typed, &nodes);
        if depend_on(typed, &outside, &nodes) || is_used_before(typed, &nodes, last) {
            return None;
        }
        let mut lowering = Lowering::new(typed, *target);
        for &node in &nodes {
            lowering.lower(graph.node(node))?;
        }
        // The pattern names also what only lends its type, as in `x.type_as(y)`.
        for value in outside {
            lowering.value(value)?;
        }
        let mut changed: BTreeMap<BufferId, TensorId> = BTreeMap::new();
        let mut returned: BTreeMap<ValueId, BufferId> = BTreeMap::new();
        for (&value, input) in
            updates.iter().filter(|(value, _)| graph.node_of(**value).is_some_and(|n| nodes.contains(&n)))
        {
            let Lowered::Tensor(tensor) = lowering.value(value)? else { return None };
            let buffer = lowering.inputs.iter().position(|known| known == input)?;
            // Later changes of one input come later.
            changed.insert(buffer, tensor);
            returned.insert(value, buffer);
        }
        let outputs: Option<Vec<Output>> = outputs(typed, &nodes)
            .into_iter()
            .map(|value| match lowering.value(value)? {
                Lowered::Tensor(tensor) => {
                    let input = returned.get(&value).copied();
                    Some(Output { value, tensor, ty: typed.tensor(value)?.clone(), input })
                }
                Lowered::List(_) => None,
            })
            .collect();
        let outputs = outputs?;
        let updates = changed.into_iter().collect();
        (!outputs.is_empty()).then_some(())?;
        Some(Region {
            nodes: nodes.into_iter().collect(),
            inputs: lowering.inputs,
            outputs,
            updates,
            tensors: lowering.tensors,
        })
    }
}

/// For each node the number of nodes that stay on the longest path to it: nodes of one level lie on no path through one
/// that stays.
fn levels(typed: &TypedGraph, expressible: &BTreeSet<NodeId>) -> Vec<usize> {
    let graph = typed.graph();
    let mut levels: Vec<usize> = Vec::with_capacity(graph.num_nodes());
    for node in graph.nodes() {
        let mut level = 0;
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                if let Some(operand) = graph.node_of(value) {
                    level = level.max(levels[operand.index()] + usize::from(!expressible.contains(&operand)));
                }
            });
        }
        levels.push(level);
    }
    levels
}

/// Values from outside that the nodes use.
fn inputs(typed: &TypedGraph, nodes: &BTreeSet<NodeId>) -> Vec<ValueId> {
    let graph = typed.graph();
    let mut inputs = BTreeSet::new();
    for &node in nodes {
        for arg in graph.node(node).all_args() {
            graph.for_each_value(arg, &mut |value| {
                if graph.node_of(value).is_none_or(|operand| !nodes.contains(&operand)) {
                    inputs.insert(value);
                }
            });
        }
    }
    inputs.into_iter().collect()
}

/// Values of the nodes that are used outside or returned, in program order.
fn outputs(typed: &TypedGraph, nodes: &BTreeSet<NodeId>) -> Vec<ValueId> {
    let graph = typed.graph();
    let mut used = BTreeSet::new();
    for node in graph.nodes().filter(|node| !nodes.contains(&node.id)) {
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                used.insert(value);
            });
        }
    }
    for &output in graph.outputs() {
        graph.for_each_value(output, &mut |value| {
            used.insert(value);
        });
    }
    used.into_iter().filter(|&value| graph.node_of(value).is_some_and(|node| nodes.contains(&node))).collect()
}

/// Whether one of the values is computed from one of the nodes.
fn depend_on(typed: &TypedGraph, values: &[ValueId], nodes: &BTreeSet<NodeId>) -> bool {
    let graph = typed.graph();
    let mut after = nodes.clone();
    for node in graph.nodes() {
        for arg in node.all_args() {
            let mut depends = false;
            graph.for_each_value(arg, &mut |value| {
                depends |= graph.node_of(value).is_some_and(|operand| after.contains(&operand));
            });
            if depends {
                after.insert(node.id);
            }
        }
    }
    values.iter().any(|&value| graph.node_of(value).is_some_and(|node| after.contains(&node)))
}

/// Whether a node outside uses a result before the last of the nodes.
fn is_used_before(typed: &TypedGraph, nodes: &BTreeSet<NodeId>, last: NodeId) -> bool {
    let graph = typed.graph();
    let mut is_used = false;
    for node in graph.nodes().take(last.index()).filter(|node| !nodes.contains(&node.id)) {
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                is_used |= graph.node_of(value).is_some_and(|operand| nodes.contains(&operand));
            });
        }
    }
    is_used
}
