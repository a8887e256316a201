//! Survey of a graph: which nodes can be expressed, which of them belong together, and the regions that they form.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{MemoryUse, Node, NodeId, Target, TypedGraph, ValueId, is_barrier};

use super::{
    flow::{Expressible, depend_on, first_levels, inputs_of, is_of, last_levels, live_nodes},
    region::{Copies, Region, RegionInput, RegionOutput},
};
use crate::front::{
    expr::BufferId,
    lower::{
        Lowered, Lowering,
        call::Call,
        storage::{Obstacle, StorageChanges, TypedAliasClasses, is_view_node},
    },
    tensor::TensorId,
};

/// Bytes of a result that take about as long to write as PyTorch takes for a view.
const LARGE_RESULT: i64 = 16_384;

/// Returns all regions of a graph; none where rewriting could change visible memory.
pub(crate) fn find_regions(typed: &TypedGraph, target: Target, kept: &BTreeSet<NodeId>, copies: Copies) -> Vec<Region> {
    let Some(survey) = Survey::of(typed, target, kept) else { return Vec::new() };
    let without_views = |nodes| survey.without_second_copies(survey.without_views(nodes, copies));
    let parts = survey.by_level().into_iter().flat_map(|nodes| survey.until_used(without_views(nodes)));
    parts.map(|nodes| survey.without_overlaps(nodes)).filter_map(|nodes| survey.assemble(nodes)).collect()
}

/// Properties of a graph's nodes that decide which regions it has.
pub(crate) struct Survey<'g> {
    typed: &'g TypedGraph,
    target: Target,
    storage: TypedAliasClasses,
    changes: StorageChanges,
    /// Nodes that something depends on, or that change something.
    live: BTreeSet<NodeId>,
    expressible: BTreeSet<NodeId>,
    levels: Vec<usize>,
}

impl<'g> Survey<'g> {
    /// Surveys a graph in which the nodes `kept` stay as they are. Nodes that touch memory which is changed in a way that no
    /// region can follow stay as well. Returns `None` if rewriting could change visible memory.
    pub(crate) fn of(typed: &'g TypedGraph, target: Target, kept: &BTreeSet<NodeId>) -> Option<Self> {
        let graph = typed.graph();
        // One trial over the whole graph, because whether a node can be expressed depends on how its operands were lowered.
        let mut trial = Lowering::new(typed, target);
        // A pattern has no dead nodes: those of the graph stay as they are.
        let live = live_nodes(graph);
        let mut expressible: BTreeSet<NodeId> = graph
            .nodes()
            .filter(|node| live.contains(&node.id) && !kept.contains(&node.id))
            .filter_map(|node| trial.lower(node).map(|()| node.id))
            .collect();
        let begins: BTreeSet<NodeId> = trial.begins.iter().filter_map(|&value| graph.node_of(value)).collect();
        let storage = TypedAliasClasses::of(typed, &|node| expressible.contains(&node) || kept.contains(&node));
        loop {
            let nodes = Expressible { all: &expressible, begins: &begins };
            let first = first_levels(typed, nodes);
            let last = last_levels(typed, &live, nodes, &first);
            let changes = |levels: &[usize]| {
                let can_join = |nodes: &BTreeSet<NodeId>| {
                    let mut levels = nodes.iter().map(|node| levels[node.index()]);
                    let first = levels.next();
                    nodes.is_subset(&expressible) && levels.all(|level| Some(level) == first)
                };
                storage.changes(typed, &expressible, &can_join)
            };
            // Nodes are computed as late as possible, so that a node that only a region uses becomes part of it. Nodes that
            // have to be together may be on one level only if they are computed early.
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
                        // Then the levels change, so the search starts again. It ends because the set only shrinks.
                        expressible.remove(&node.id);
                    }
                }
            }
        }
    }

    /// Returns whether a node can be part of a region.
    pub(crate) fn can_express(&self, node: NodeId) -> bool {
        self.expressible.contains(&node)
    }

    /// Returns the expressible nodes of each level.
    pub(crate) fn by_level(&self) -> Vec<BTreeSet<NodeId>> {
        let deepest = self.levels.iter().copied().max().unwrap_or(0);
        let of_level =
            |level| self.expressible.iter().copied().filter(|node| self.levels[node.index()] == level).collect();
        (0..=deepest).map(of_level).collect()
    }

    /// Returns whether a node does nothing but view its argument.
    pub(crate) fn is_view(&self, node: NodeId) -> bool {
        is_view_node(self.typed, node)
    }

    /// Returns the nodes without those whose results are views of an outside tensor in eager mode: these have to stay views.
    fn without_views(&self, mut nodes: BTreeSet<NodeId>, copies: Copies) -> BTreeSet<NodeId> {
        let Self { typed, storage, changes, .. } = self;
        let graph = typed.graph();
        loop {
            let outside: Vec<ValueId> = match copies {
                Copies::Never => inputs_of(graph, &nodes),
                Copies::Unseen => {
                    let is_returned = |input: &ValueId| graph.output_values().any(|value| storage.share(*input, value));
                    graph.inputs().filter(is_returned).collect()
                }
            };
            let leaves = |value: &ValueId| {
                typed.tensor(*value).is_none_or(|ty| !ty.is_dense())
                    || (!changes.updates.contains_key(value)
                        && outside.iter().any(|&input| storage.share(input, *value)))
            };
            let views: Vec<NodeId> =
                self.outputs(&nodes).into_iter().filter(leaves).filter_map(|value| graph.node_of(value)).collect();
            // If a view is removed, its operand becomes a result, which may be a view as well.
            if views.is_empty() {
                break;
            }
            for view in views {
                nodes.remove(&view);
            }
        }
        nodes
    }

    /// Returns those nodes whose results are views of an outside tensor in eager mode.
    pub(crate) fn outside_views(&self, nodes: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        nodes - &self.without_views(nodes.clone(), Copies::Never)
    }

    /// Returns the nodes without those whose results have elements that share memory: a part that was cut off may end with such
    /// a view.
    fn without_overlaps(&self, mut nodes: BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        let overlaps = |value: &ValueId| self.typed.tensor(*value).is_none_or(|ty| !ty.is_dense());
        while let Some(node) =
            self.outputs(&nodes).into_iter().find(overlaps).and_then(|value| self.typed.graph().node_of(value))
        {
            nodes.remove(&node);
        }
        nodes
    }

    /// Returns, for a CPU, the nodes without views of results: writing a large result a second time costs more than PyTorch's
    /// view of it.
    fn without_second_copies(&self, mut nodes: BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        let Self { typed, .. } = self;
        let graph = typed.graph();
        if self.target != Target::Cpu {
            return nodes;
        }
        loop {
            let outputs = self.outputs(&nodes);
            // Returns the value that a view shows, if one of these nodes computes the value.
            let viewed = |value: ValueId| {
                let node = graph.node_of(value).filter(|node| nodes.contains(node) && is_view_node(typed, *node))?;
                Call::of(graph, graph.node(node))?.subject()?.as_value()
            };
            let is_second = |value: &ValueId| {
                let mut wholes = std::iter::successors(viewed(*value), |&whole| viewed(whole));
                typed.tensor(*value).is_some_and(|ty| ty.nbytes() >= LARGE_RESULT)
                    && wholes.any(|whole| outputs.contains(&whole))
            };
            let Some(second) = outputs.iter().copied().find(is_second).and_then(|value| graph.node_of(value)) else {
                break;
            };
            nodes.remove(&second);
        }
        nodes
    }

    /// Returns the region of these nodes; `None` where one call cannot replace them.
    pub(crate) fn assemble(&self, nodes: BTreeSet<NodeId>) -> Option<Region> {
        let Self { typed, target, .. } = self;
        let graph = typed.graph();
        let outside = inputs_of(graph, &nodes);
        self.is_replaceable(&nodes, &outside).then_some(())?;
        let mut lowering = Lowering::new(typed, *target);
        for &node in &nodes {
            lowering.lower(graph.node(node))?;
        }
        // The pattern also names a tensor of which only the type is used, as in `x.type_as(y)`.
        for value in outside {
            lowering.value(value)?;
        }
        (!self.sees_change(&lowering)).then_some(())?;
        let (updates, returned) = self.updates(&nodes, &mut lowering)?;
        let mut outputs = Vec::new();
        for value in self.outputs(&nodes) {
            let Lowered::Tensor(tensor) = lowering.value(value)? else { return None };
            let input = returned.get(&value).copied();
            outputs.push(RegionOutput { value, tensor, ty: typed.tensor(value)?.clone(), input });
        }
        let input = |&value: &ValueId| {
            Some(RegionInput { value, ty: typed.tensor(value)?.clone(), is_given: graph.node_of(value).is_none() })
        };
        let inputs: Vec<RegionInput> = lowering.inputs.iter().map(input).collect::<Option<_>>()?;
        let leaves_out_a_change = self.leaves_out_a_change(&nodes, &lowering, &updates);
        (!outputs.is_empty()).then(|| Region {
            nodes: nodes.into_iter().collect(),
            inputs,
            outputs,
            updates: updates.into_iter().collect(),
            leaves_out_a_change,
            tensors: lowering.tensors,
        })
    }

    /// Returns whether the nodes can be computed together, after `outside` and before anything uses them.
    fn is_replaceable(&self, nodes: &BTreeSet<NodeId>, outside: &[ValueId]) -> bool {
        let Some(&last) = nodes.last() else { return false };
        let is_torn = self.changes.together.iter().any(|group| !group.is_disjoint(nodes) && !group.is_subset(nodes));
        nodes.is_subset(&self.expressible)
            && !is_torn
            && !depend_on(self.typed.graph(), outside, nodes)
            && !self.is_used_before(nodes, last)
    }

    /// Returns whether a change of one input would be visible through another input.
    fn sees_change(&self, lowering: &Lowering<'_>) -> bool {
        lowering.changed.iter().any(|root| {
            let mut others = lowering.inputs.iter().filter(|&other| other != root);
            lowering.inputs.contains(root) && others.any(|&other| self.storage.share(*root, other))
        })
    }

    /// Returns the new elements of inputs that are overwritten, and the inputs that values of the nodes overwrite.
    fn updates(&self, nodes: &BTreeSet<NodeId>, lowering: &mut Lowering<'_>) -> Option<(Updates, Overwritten)> {
        let graph = self.typed.graph();
        let (mut updates, mut overwritten) = (Updates::new(), Overwritten::new());
        for (&value, input) in self.changes.updates.iter().filter(|(value, _)| is_of(graph, **value, nodes)) {
            let Lowered::Tensor(tensor) = lowering.value(value)? else { return None };
            let buffer = lowering.inputs.iter().position(|known| known == input)?;
            // If an input is changed several times, the last change replaces the earlier ones.
            updates.insert(buffer, tensor);
            overwritten.insert(value, buffer);
        }
        Some((updates, overwritten))
    }

    /// Returns whether a node changes the memory of an input that is not overwritten.
    fn leaves_out_a_change(&self, nodes: &BTreeSet<NodeId>, lowering: &Lowering<'_>, updates: &Updates) -> bool {
        let graph = self.typed.graph();
        let kept: Vec<ValueId> = (0..)
            .zip(&lowering.inputs)
            .filter(|(buffer, _)| !updates.contains_key(buffer))
            .map(|(_, &input)| input)
            .collect();
        let changes =
            nodes.iter().filter_map(|&node| Call::of(graph, graph.node(node))).filter(|call| call.is_change());
        let mut changed = changes.filter_map(|call| call.subject()?.as_value());
        changed.any(|changed| kept.iter().any(|&input| self.storage.share(input, changed)))
    }

    /// Returns the values of the nodes that are used outside or returned, in program order.
    fn outputs(&self, nodes: &BTreeSet<NodeId>) -> Vec<ValueId> {
        let graph = self.typed.graph();
        let others = graph.nodes().filter(|node| self.live.contains(&node.id) && !nodes.contains(&node.id));
        let used: BTreeSet<ValueId> = others.flat_map(|node| node.operands()).chain(graph.output_values()).collect();
        used.into_iter().filter(|&value| is_of(graph, value, nodes)).collect()
    }

    /// Returns the nodes in parts. A part ends before an outside node that uses one of its nodes, and at a call across which
    /// nothing may move. Such a call needs a cut because patterns are matched by names: a change of a copy could also match a
    /// change of the original.
    pub(crate) fn until_used(&self, nodes: BTreeSet<NodeId>) -> Vec<BTreeSet<NodeId>> {
        let graph = self.typed.graph();
        let memory = MemoryUse::of(graph);
        let mut parts: Vec<BTreeSet<NodeId>> = Vec::new();
        let mut part: BTreeSet<NodeId> = BTreeSet::new();
        for node in graph.nodes().filter(|node| self.live.contains(&node.id)) {
            if nodes.contains(&node.id) {
                part.insert(node.id);
            } else if is_barrier(&node)
                || memory.changes(&node, &nodes)
                || node.operands().any(|value| is_of(graph, value, &part))
            {
                // A call of a pass stands after its last node, so a node outside that needs one of its values must
                // come after all of them.
                parts.push(std::mem::take(&mut part));
            }
        }
        parts.push(part);
        parts
    }

    /// Returns whether a node outside uses a result before the last of the nodes.
    fn is_used_before(&self, nodes: &BTreeSet<NodeId>, last: NodeId) -> bool {
        let graph = self.typed.graph();
        let stays = |node: &Node<'_>| self.live.contains(&node.id) && !nodes.contains(&node.id);
        let mut others = graph.nodes().take(last.index()).filter(stays);
        others.any(|node| node.operands().any(|value| is_of(graph, value, nodes)))
    }
}

/// New elements of inputs that are overwritten, by buffer.
type Updates = BTreeMap<BufferId, TensorId>;

/// The input that each value overwrites, by number of its buffer.
type Overwritten = BTreeMap<ValueId, BufferId>;
