//! Which parts of a graph are rewritten: runs of expressible nodes between those that stay.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Graph, Node, NodeId, ValueId, operators::GETATTR};

use crate::{
    author::Target,
    expr::BufferId,
    lower::{
        Call, Lowered, Lowering,
        storage::{Changes, Obstacle, Storage, is_view},
    },
    tensor::{TensorId, Tensors},
    typed::{TensorType, TypedGraph},
};

/// A part of a graph that one call can replace: no path leads out of it and back into it, and all that it gives is used
/// only after its last node.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// In program order.
    pub(crate) nodes: Vec<NodeId>,
    /// Values from outside, by number of their buffer.
    pub(crate) inputs: Vec<Input>,
    /// Values that are used outside or returned.
    pub(crate) outputs: Vec<Output>,
    /// Inputs that are overwritten, by number of their buffer, with their new elements.
    pub(crate) updates: Vec<(BufferId, TensorId)>,
    pub(crate) tensors: Tensors,
}

/// A value from outside.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) value: ValueId,
    pub(crate) ty: TensorType,
    /// Whether the graph is given it; else one of its nodes makes it.
    pub(crate) is_given: bool,
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
pub(crate) fn regions(typed: &TypedGraph, target: Target, kept: &BTreeSet<NodeId>, copies: Copies) -> Vec<Region> {
    let Some(survey) = Survey::of(typed, target, kept) else { return Vec::new() };
    let parts = survey.by_level().into_iter().flat_map(|nodes| survey.until_used(survey.without_views(nodes, copies)));
    parts.filter_map(|nodes| survey.assemble(nodes)).collect()
}

/// What a graph's nodes are to regions.
pub(crate) struct Survey<'g> {
    typed: &'g TypedGraph,
    target: Target,
    storage: Storage,
    changes: Changes,
    /// Nodes that something depends on, or that change something.
    live: BTreeSet<NodeId>,
    expressible: BTreeSet<NodeId>,
    levels: Vec<usize>,
}

impl<'g> Survey<'g> {
    /// With nodes that are to stay as they are; so does what touches memory that is changed in a way that no region can follow.
    /// `None` where rewriting could change what is seen of memory.
    pub(crate) fn of(typed: &'g TypedGraph, target: Target, kept: &BTreeSet<NodeId>) -> Option<Self> {
        let graph = typed.graph();
        let mut trial = Lowering::new(typed, target);
        // A pattern has no dead nodes: those of the graph stay as they are.
        let live = live_nodes(graph);
        let mut expressible: BTreeSet<NodeId> = graph
            .nodes()
            .filter(|node| live.contains(&node.id) && !kept.contains(&node.id))
            .filter_map(|node| trial.lower(node).map(|()| node.id))
            .collect();
        let storage = Storage::of(typed, &|node| expressible.contains(&node) || kept.contains(&node));
        loop {
            let first = levels(typed, &expressible);
            let last = last_levels(typed, &expressible, &first);
            let changes = |levels: &[usize]| {
                let can_join = |nodes: &BTreeSet<NodeId>| {
                    let mut levels = nodes.iter().map(|node| levels[node.index()]);
                    let first = levels.next();
                    nodes.is_subset(&expressible) && levels.all(|level| Some(level) == first)
                };
                storage.changes(typed, &expressible, &can_join)
            };
            // As late as can be: then what only feeds a region is part of it. Nodes that have to be together may be so only
            // early.
            let found = match changes(&last) {
                Ok(changes) => Ok((changes, last)),
                Err(_) => changes(&first).map(|changes| (changes, first)),
            };
            match found {
                Ok((changes, levels)) => {
                    return Some(Self { typed, target, storage, changes, live, expressible, levels });
                }
                Err(Obstacle::Call) => return None,
                Err(Obstacle::Memory(value)) => {
                    for node in storage.touching(graph, value) {
                        expressible.remove(&node.id);
                    }
                }
            }
        }
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
        is_view_node(self.typed, node)
    }

    /// Nodes without those whose results eager mode gives as views of something outside: these have to stay views.
    fn without_views(&self, mut nodes: BTreeSet<NodeId>, copies: Copies) -> BTreeSet<NodeId> {
        let Self { typed, storage, changes, .. } = self;
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
                    || (!changes.updates.contains_key(value)
                        && outside.iter().any(|&input| storage.share(input, *value)))
            };
            let views: Vec<NodeId> =
                self.outputs(&nodes).into_iter().filter(leaves).filter_map(|value| graph.node_of(value)).collect();
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
        let Self { typed, target, storage, changes, .. } = self;
        let graph = typed.graph();
        let last = *nodes.last()?;
        let outside = inputs(typed, &nodes);
        let is_torn = changes.together.iter().any(|group| !group.is_disjoint(&nodes) && !group.is_subset(&nodes));
        if !nodes.is_subset(&self.expressible)
            || is_torn
            || depend_on(typed, &outside, &nodes)
            || self.is_used_before(&nodes, last)
        {
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
        let sees_change = |root: &ValueId| {
            let mut others = lowering.inputs.iter().filter(|&other| other != root);
            lowering.inputs.contains(root) && others.any(|&other| storage.share(*root, other))
        };
        if lowering.changed.iter().any(sees_change) {
            return None;
        }
        let mut changed: BTreeMap<BufferId, TensorId> = BTreeMap::new();
        let mut returned: BTreeMap<ValueId, BufferId> = BTreeMap::new();
        let own =
            changes.updates.iter().filter(|(value, _)| graph.node_of(**value).is_some_and(|n| nodes.contains(&n)));
        for (&value, input) in own {
            let Lowered::Tensor(tensor) = lowering.value(value)? else { return None };
            let buffer = lowering.inputs.iter().position(|known| known == input)?;
            // Later changes of one input come later.
            changed.insert(buffer, tensor);
            returned.insert(value, buffer);
        }
        let outputs: Option<Vec<Output>> = self
            .outputs(&nodes)
            .into_iter()
            .map(|value| match lowering.value(value)? {
                Lowered::Tensor(tensor) => {
                    let input = returned.get(&value).copied();
                    Some(Output { value, tensor, ty: typed.tensor(value)?.clone(), input })
                }
                Lowered::List(_) | Lowered::Absent => None,
            })
            .collect();
        let outputs = outputs.filter(|outputs| !outputs.is_empty())?;
        let input = |&value: &ValueId| {
            Some(Input { value, ty: typed.tensor(value)?.clone(), is_given: graph.node_of(value).is_none() })
        };
        let inputs: Option<Vec<Input>> = lowering.inputs.iter().map(input).collect();
        Some(Region {
            nodes: nodes.into_iter().collect(),
            inputs: inputs?,
            outputs,
            updates: changed.into_iter().collect(),
            tensors: lowering.tensors,
        })
    }

    /// Values of the nodes that are used outside or returned, in program order.
    fn outputs(&self, nodes: &BTreeSet<NodeId>) -> Vec<ValueId> {
        let graph = self.typed.graph();
        let mut used = BTreeSet::new();
        for node in graph.nodes().filter(|node| self.live.contains(&node.id) && !nodes.contains(&node.id)) {
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

    /// The nodes in parts, cut where a node outside uses one of them.
    fn until_used(&self, nodes: BTreeSet<NodeId>) -> Vec<BTreeSet<NodeId>> {
        let graph = self.typed.graph();
        let mut parts: Vec<BTreeSet<NodeId>> = Vec::new();
        let mut part: BTreeSet<NodeId> = BTreeSet::new();
        for node in graph.nodes().filter(|node| self.live.contains(&node.id)) {
            if nodes.contains(&node.id) {
                part.insert(node.id);
                continue;
            }
            let mut uses = false;
            for arg in node.all_args() {
                graph.for_each_value(arg, &mut |value| {
                    uses |= graph.node_of(value).is_some_and(|of| part.contains(&of))
                });
            }
            if uses {
                parts.push(std::mem::take(&mut part));
            }
        }
        parts.push(part);
        parts
    }

    /// Whether a node outside uses a result before the last of the nodes.
    fn is_used_before(&self, nodes: &BTreeSet<NodeId>, last: NodeId) -> bool {
        let graph = self.typed.graph();
        let mut is_used = false;
        let stays = |node: &Node<'_>| self.live.contains(&node.id) && !nodes.contains(&node.id);
        for node in graph.nodes().take(last.index()).filter(stays) {
            for arg in node.all_args() {
                graph.for_each_value(arg, &mut |value| {
                    is_used |= graph.node_of(value).is_some_and(|operand| nodes.contains(&operand));
                });
            }
        }
        is_used
    }
}

/// Whether a node does nothing but view its argument.
pub(crate) fn is_view_node(typed: &TypedGraph, node: NodeId) -> bool {
    is_view(typed, typed.graph().node(node))
}

/// Nodes that something depends on, or that change something.
pub(crate) fn live_nodes(graph: &Graph) -> BTreeSet<NodeId> {
    let mut used = BTreeSet::new();
    for &output in graph.outputs() {
        graph.for_each_value(output, &mut |value| {
            used.insert(value);
        });
    }
    let nodes: Vec<Node<'_>> = graph.nodes().collect();
    let mut live = BTreeSet::new();
    for node in nodes.into_iter().rev() {
        let is_pure = Call::of(graph, node).map_or(node.callee.target() == GETATTR, |call| !call.is_change());
        if is_pure && !used.contains(&node.value) {
            continue;
        }
        live.insert(node.id);
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                used.insert(value);
            });
        }
    }
    live
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

/// For each node the last level at which it can be computed, given the first ones: that of the first of its users. What
/// changes memory stays where it is.
fn last_levels(typed: &TypedGraph, expressible: &BTreeSet<NodeId>, first: &[usize]) -> Vec<usize> {
    let graph = typed.graph();
    let deepest = first.iter().copied().max().unwrap_or(0);
    let mut last = vec![deepest; graph.num_nodes()];
    let nodes: Vec<Node<'_>> = graph.nodes().collect();
    for node in nodes.into_iter().rev() {
        let place = node.id.index();
        let is_change = Call::of(graph, node).is_none_or(|call| call.is_change());
        if is_change || !expressible.contains(&node.id) {
            last[place] = first[place];
        }
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                if let Some(operand) = graph.node_of(value) {
                    last[operand.index()] = last[operand.index()].min(last[place]);
                }
            });
        }
    }
    last
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
