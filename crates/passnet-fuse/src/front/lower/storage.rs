//! Values that share memory in eager mode, judged from shapes and strides.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{
    Arg, Graph, Node, NodeId, TensorType, TypedGraph, ValueId, is_assertion, is_barrier, operators::GETATTR,
    ops::Memory,
};

use super::call::Call;

/// Conditions on regions that follow from changes in place.
#[derive(Clone, Debug, Default)]
pub(crate) struct StorageChanges {
    /// Results of changes that have to be made to a graph's input, with that input; all other changes may be computed into
    /// fresh memory.
    pub(crate) updates: BTreeMap<ValueId, ValueId>,
    /// Sets of nodes that each have to be in one region, because they see changes of the same memory under several names.
    pub(crate) together: BTreeSet<BTreeSet<NodeId>>,
}

/// A change that no region can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A change of this value's memory, which is seen under another name. All nodes that touch the memory have to stay.
    Memory(ValueId),
    /// A call that may change anything.
    Call,
}

/// Sets of values that may share memory.
#[derive(Clone, Debug)]
pub(crate) struct TypedAliasClasses {
    parent: Vec<u32>,
}

impl TypedAliasClasses {
    /// Finds the sets of a graph. `is_expressed` returns whether a node is computed by definitions. The results of such nodes are
    /// in fresh memory unless they are views.
    pub(crate) fn of(typed: &TypedGraph, is_expressed: &dyn Fn(NodeId) -> bool) -> Self {
        let graph = typed.graph();
        let mut storage = Self { parent: (0..graph.num_values() as u32).collect() };
        for node in graph.nodes() {
            match Call::of(graph, node).map(|call| (sharing(typed, &call, is_expressed(node.id)), call)) {
                Some((Sharing::Nothing, _)) => {}
                Some((Sharing::Subject, call)) => {
                    if let Some(subject) = call.subject() {
                        for value in graph.values_in(std::iter::once(subject)) {
                            storage.join(value, node.value);
                        }
                    }
                }
                Some((Sharing::Anything, _)) | None => {
                    node.operands().for_each(|value| storage.join(value, node.value));
                }
            }
        }
        storage
    }

    fn root(&self, value: ValueId) -> u32 {
        let mut at = value.0;
        while self.parent[at as usize] != at {
            at = self.parent[at as usize];
        }
        at
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.root(a), self.root(b));
        // The older value is the root: it is the input, or the call that made the memory.
        self.parent[a.max(b) as usize] = a.min(b);
    }

    pub(crate) fn share(&self, a: ValueId, b: ValueId) -> bool {
        self.root(a) == self.root(b)
    }

    /// Returns the conditions that the changes in place of a graph put on regions whose nodes see them. `can_join` says
    /// whether nodes may become one region.
    ///
    /// # Errors
    /// If a region would see a change that it cannot follow.
    pub(crate) fn changes(
        &self,
        typed: &TypedGraph,
        expressible: &BTreeSet<NodeId>,
        can_join: &dyn Fn(&BTreeSet<NodeId>) -> bool,
    ) -> Result<StorageChanges, Obstacle> {
        let graph = typed.graph();
        let mut changes = StorageChanges::default();
        for node in graph.nodes() {
            let Some(call) = Call::of(graph, node) else {
                // These change no memory: reading an attribute, assertions, and switching the recording of gradients.
                if node.callee.target() == GETATTR || is_assertion(&node) || is_barrier(&node) {
                    continue;
                }
                return Err(Obstacle::Call);
            };
            if !call.is_change() {
                continue;
            }
            let changed = call.subject().and_then(Arg::as_value).ok_or(Obstacle::Call)?;
            let obstacle = Obstacle::Memory(changed);
            let is_seen = || self.touching(graph, changed).iter().any(|node| expressible.contains(&node.id));
            if !self.is_of_tensors(typed, changed) || !is_seen() {
                continue;
            }
            // The change is visible under an older name only in this case. Otherwise it is a new value like any other.
            if self.is_used_after(graph, node, changed) {
                let group = self.until_last_change(graph, changed);
                if !can_join(&group) {
                    return Err(obstacle);
                }
                changes.together.insert(group);
            }
            let mut inputs = graph.inputs().filter(|&input| self.share(input, changed));
            let Some(input) = inputs.next() else { continue };
            // A kernel overwrites an input as a whole. A part of it, or a layout with holes, would need stores with
            // the strides of a view.
            let is_whole = typed.tensor(input) == typed.tensor(node.value)
                && typed.tensor(input).is_some_and(TensorType::is_dense);
            let is_input = changed == input || changes.updates.get(&changed) == Some(&input);
            // If two inputs may share memory, a kernel that writes one of them could change elements of the other before it reads
            // them.
            if inputs.next().is_some() || !is_whole || !is_input {
                return Err(obstacle);
            }
            changes.updates.insert(node.value, input);
        }
        Ok(changes)
    }

    /// Returns whether the memory of a value is that of tensors whose types the graph knows.
    fn is_of_tensors(&self, typed: &TypedGraph, value: ValueId) -> bool {
        let graph = typed.graph();
        let mut values = graph.inputs().chain(graph.nodes().map(|node| node.value));
        values.any(|other| self.share(value, other) && typed.tensor(other).is_some())
    }

    /// Returns all nodes that touch the memory of a value.
    pub(crate) fn touching<'g>(&self, graph: &'g Graph, value: ValueId) -> Vec<Node<'g>> {
        let touches =
            |node: &Node<'_>| self.share(node.value, value) || node.operands().any(|other| self.share(other, value));
        graph.nodes().filter(touches).collect()
    }

    /// Returns all nodes that touch the memory of a value up to the last one that changes it.
    fn until_last_change(&self, graph: &Graph, value: ValueId) -> BTreeSet<NodeId> {
        let is_change = |node: &Node<'_>| Call::of(graph, *node).is_some_and(|call| call.is_change());
        let touching = self.touching(graph, value);
        let last = touching.iter().rposition(is_change).map_or(0, |last| last + 1);
        touching[..last].iter().map(|node| node.id).collect()
    }

    /// Returns whether memory that a node changes is used later under a name that it had before.
    fn is_used_after(&self, graph: &Graph, node: Node<'_>, changed: ValueId) -> bool {
        let is_older = |value: ValueId| value.0 < node.value.0 && self.share(value, changed);
        let mut later = graph.nodes().skip(node.id.index() + 1).flat_map(|later| later.operands());
        later.any(is_older) || graph.output_values().any(is_older)
    }
}

/// Returns whether a node does nothing but view its argument.
pub(crate) fn is_view_node(typed: &TypedGraph, node: NodeId) -> bool {
    let graph = typed.graph();
    Call::of(graph, graph.node(node)).is_some_and(|call| is_view_call(typed, &call))
}

/// Returns whether a call does nothing but view its argument.
pub(crate) fn is_view_call(typed: &TypedGraph, call: &Call<'_>) -> bool {
    !call.is_change() && sharing(typed, call, true) == Sharing::Subject
}

/// Returns the arguments with which a result may share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    Nothing,
    Subject,
    Anything,
}

fn sharing(typed: &TypedGraph, call: &Call<'_>, is_expressed: bool) -> Sharing {
    if call.is_change() {
        return Sharing::Subject;
    }
    // Indexing by a tensor copies.
    if call.name == "getitem" && typed.tensor(call.value).is_some() && has_tensor_key(typed, call) {
        return Sharing::Nothing;
    }
    match call.op().map_or(Memory::Unknown, |op| op.memory) {
        Memory::View => Sharing::Subject,
        Memory::ViewAsMethod if call.is_method => Sharing::Subject,
        Memory::ViewOrCopy => {
            let from = call.subject().and_then(Arg::as_value).and_then(|value| typed.tensor(value));
            let Some((from, to)) = from.zip(typed.tensor(call.value)) else { return Sharing::Anything };
            let is_shared = match call.name {
                "reshape" | "reshape_as" | "flatten" => can_view(from, &to.shape),
                "to" if asks_for_copy(call) => false,
                _ => from == to,
            };
            if is_shared { Sharing::Subject } else { Sharing::Nothing }
        }
        Memory::Fresh => Sharing::Nothing,
        // More than one operand, in addition to the equation.
        Memory::FreshOfSeveral if call.len() > 2 => Sharing::Nothing,
        _ if is_expressed => Sharing::Nothing,
        _ => Sharing::Anything,
    }
}

/// Returns whether a call of `to` has `copy=True`: the result is a copy even if its type is that of the argument.
fn asks_for_copy(call: &Call<'_>) -> bool {
    // `to(dtype, non_blocking, copy)`, `to(tensor, non_blocking, copy)` and `to(device, dtype, non_blocking, copy)`.
    let place = if matches!(call.positional().get(2), Some(Arg::Bool(_))) { 3 } else { 4 };
    matches!(call.arg(place, "copy"), Some(Arg::Bool(true)))
}

fn has_tensor_key(typed: &TypedGraph, call: &Call<'_>) -> bool {
    let graph = typed.graph();
    let is_tensor = |arg: &Arg| matches!(arg, Arg::Value(value) if typed.tensor(*value).is_some());
    match call.arg(1, "key") {
        Some(Arg::Tuple(range)) => graph.elements(range).iter().any(is_tensor),
        Some(key) => is_tensor(&key),
        None => false,
    }
}

/// Returns whether `view` to that shape needs no copy: each group of merged dimensions lies evenly in memory.
fn can_view(from: &TensorType, to: &[i64]) -> bool {
    if from.shape.contains(&0) {
        return true;
    }
    let mut groups: Vec<(i64, i64)> = Vec::new();
    for (&extent, &stride) in from.shape.iter().zip(&from.stride).filter(|&(&extent, _)| extent != 1) {
        match groups.last_mut() {
            Some((total, inner)) if *inner == stride * extent => (*total, *inner) = (*total * extent, stride),
            // Dimensions merge where the outer stride is the inner stride times the inner extent (the rule of
            // `Tensor.view`).
            _ => groups.push((extent, stride)),
        }
    }
    let mut groups = groups.into_iter().map(|(total, _)| total);
    let mut left = 1;
    for &extent in to.iter().filter(|&&extent| extent != 1) {
        if left == 1 {
            left = groups.next().unwrap_or(1);
        }
        if left % extent != 0 {
            return false;
        }
        left /= extent;
    }
    left == 1
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;

    #[test]
    fn what_reshape_can_do_without_a_copy() {
        let check = |shape: &[i64], stride: &[i64], to: &[i64], expected: bool| {
            let from = TensorType { shape: shape.to_vec(), stride: stride.to_vec(), dtype: DType::Float32 };
            assert_eq!(can_view(&from, to), expected, "{shape:?} {stride:?} to {to:?}");
        };
        check(&[2, 3, 4], &[12, 4, 1], &[6, 4], true);
        check(&[0, 4], &[4, 1], &[0], true);
        check(&[2, 0], &[1, 2], &[0, 7], true);
        check(&[2, 3, 4], &[12, 4, 1], &[4, 6], true);
        check(&[3, 2, 4], &[4, 12, 1], &[6, 4], false);
        check(&[3, 2, 4], &[4, 12, 1], &[3, 1, 2, 2, 2], true);
        check(&[4, 1, 3], &[3, 99, 1], &[12], true);
    }
}
