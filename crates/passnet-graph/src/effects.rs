//! Effects of calls in addition to their values, and values that may share storage.
//!
//! Both are derived from names and arguments, because a graph has no other information. The result is conservative: a call that may
//! change something counts as changing it, and a call that may return a view counts as returning a view.

use crate::{
    Arg, Callee, Graph, Node, NodeId, ValueId, operators,
    ops::{HashedMemory, Op},
};

/// Prefixes of functions that change or check global state.
const GLOBAL_STATE: [&str; 9] = [
    "torch._C._functorch.",
    "torch._C._set_",
    "torch._assert",
    "torch._check",
    "torch._functorch.",
    "torch.amp.",
    "torch.autograd.",
    "torch.ops.aten._assert",
    "torch.set_",
];

/// Prefixes of functions that are assertions.
const ASSERTIONS: [&str; 3] = ["torch._assert", "torch._check", "torch.ops.aten._assert"];

/// Returns the arguments whose storage the call changes.
pub(crate) fn mutated<'g>(graph: &'g Graph, node: &Node<'g>) -> Vec<Arg> {
    let mut changed = Vec::new();
    if is_in_place(graph, node) {
        changed.extend(first_argument(graph, node));
    }
    changed.extend(keyword(graph, node, "out"));
    let is_training = |position| argument(graph, node, position, "training").is_some_and(is_true);
    if node.callee == Callee::Function("torch.nn.functional.batch_norm") && is_training(5) {
        changed.extend(argument(graph, node, 1, "running_mean"));
        changed.extend(argument(graph, node, 2, "running_var"));
    }
    changed
}

/// Returns whether a call changes or asserts something that is not a value of the graph: whether gradients are recorded, the nesting
/// of `vmap`, autocast.
pub(crate) fn touches_global_state(node: &Node<'_>) -> bool {
    match node.callee {
        Callee::Method(_) => false,
        Callee::Function(path) => GLOBAL_STATE.iter().any(|prefix| path.starts_with(prefix)),
    }
}

/// Returns whether no computation may move across a call: it sets state that affects later calls. An assertion is not a barrier.
pub fn is_barrier(node: &Node<'_>) -> bool {
    touches_global_state(node) && !is_assertion(node)
}

/// Returns whether a call does nothing but raise an exception where its argument is false.
pub fn is_assertion(node: &Node<'_>) -> bool {
    matches!(node.callee, Callee::Function(path) if ASSERTIONS.iter().any(|prefix| path.starts_with(prefix)))
}

/// Returns whether a call matters even though nothing uses its value.
pub(crate) fn is_effectful(graph: &Graph, node: &Node<'_>) -> bool {
    touches_global_state(node) || !mutated(graph, node).is_empty()
}

/// Returns whether a call may write to any of its arguments, although its name does not say so: statistics of normalisations, tables with
/// a largest norm, and operators that are not PyTorch's.
fn may_update_arguments(node: &Node<'_>) -> bool {
    let Callee::Function(path) = node.callee else { return false };
    let name = last_segment(path);
    !(path.starts_with("torch.") || path.starts_with("operator."))
        || path.starts_with("torch.ops.")
        || name.contains("batch_norm")
        || name.contains("instance_norm")
        || name.contains("embedding")
}

fn is_in_place(graph: &Graph, node: &Node<'_>) -> bool {
    let target = node.callee.target();
    if let Callee::Function(path) = node.callee
        && let Some(operator) = operators::by_target(path)
    {
        return operator.mutates();
    }
    let name = last_segment(target);
    // In PyTorch, a method that changes its receiver has a name with a trailing `_`. Names with two trailing underscores, such as
    // `__add__`, are Python's.
    if name.ends_with('_') && !name.ends_with("__") {
        return true;
    }
    let position = target
        .strip_prefix("torch.nn.functional.")
        .and_then(Op::find)
        .and_then(|op| op.inplace_parameter)
        .unwrap_or(usize::MAX);
    argument(graph, node, position, "inplace").is_some_and(is_true)
}

fn last_segment(target: &str) -> &str {
    target.rsplit('.').next().unwrap_or(target)
}

fn keyword(graph: &Graph, node: &Node<'_>, name: &str) -> Option<Arg> {
    node.kwargs.iter().find(|&&(key, _)| graph.str(key) == name).map(|&(_, arg)| arg)
}

fn argument(graph: &Graph, node: &Node<'_>, position: usize, name: &str) -> Option<Arg> {
    keyword(graph, node, name).or_else(|| node.args.get(position).copied())
}

/// Returns the receiver or the first parameter. If all arguments are keyword arguments and none is named `input`, returns all of them.
fn first_argument(graph: &Graph, node: &Node<'_>) -> Vec<Arg> {
    match node.args.first().copied().or_else(|| keyword(graph, node, "input")) {
        Some(arg) => vec![arg],
        None => node.all_args().collect(),
    }
}

/// Returns whether an argument is true. An argument that is not a constant counts as true.
fn is_true(arg: Arg) -> bool {
    matches!(arg, Arg::Bool(true) | Arg::Value(_))
}

/// A partition of the values of a graph: values of one class may share storage.
pub(crate) struct AliasClasses {
    parent: Vec<u32>,
}

impl AliasClasses {
    /// Computes the classes: each value is in the class of the arguments that it may be a view of.
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut storage = Self { parent: (0..graph.num_values() as u32).collect() };
        for node in graph.nodes() {
            let mut join = |arg| graph.for_each_value(arg, &mut |value| storage.join(node.value, value));
            let changed = mutated(graph, &node);
            // A call that changes its argument returns that argument.
            if !changed.is_empty() {
                changed.into_iter().for_each(join);
                continue;
            }
            match viewed(&node) {
                Viewed::Nothing => {}
                Viewed::First => first_argument(graph, &node).into_iter().for_each(join),
                Viewed::All => node.all_args().for_each(&mut join),
            }
        }
        for value in 0..graph.num_values() as u32 {
            storage.parent[value as usize] = storage.find(value);
        }
        storage
    }

    /// Returns the number of the class of `value`. Values that may share storage have the same number.
    pub(crate) fn class(&self, value: ValueId) -> u32 {
        self.parent[value.index()]
    }

    fn find(&mut self, mut value: u32) -> u32 {
        while self.parent[value as usize] != value {
            let above = self.parent[self.parent[value as usize] as usize];
            self.parent[value as usize] = above;
            value = above;
        }
        value
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a.0), self.find(b.0));
        // The smaller number represents the class, so that the result does not depend on the order of joins.
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

enum Viewed {
    Nothing,
    First,
    All,
}

fn viewed(node: &Node<'_>) -> Viewed {
    let name = last_segment(node.callee.target());
    let memory = Op::find(name).map_or(HashedMemory::ByCallee, |op| op.hashed_memory);
    match node.callee {
        Callee::Function("operator.getitem") => Viewed::First,
        // Arithmetic on tensors always allocates new memory.
        Callee::Function(path) if path.starts_with("operator.") => Viewed::Nothing,
        Callee::Function(path) if path.starts_with("torch.nn.functional.") || path.starts_with("torch._C._nn.") => {
            if memory == HashedMemory::Alias {
                Viewed::First
            } else {
                Viewed::Nothing
            }
        }
        _ if memory == HashedMemory::Fresh => Viewed::Nothing,
        // A method that is not in the table may return a view of its receiver, but of no other argument.
        Callee::Method(_) | Callee::Function(operators::GETATTR) => Viewed::First,
        Callee::Function(_) => Viewed::All,
    }
}

/// Memory that the calls of a graph may read and change, derived from names alone, as in matching. For example, `x.float()` may be `x`
/// itself.
pub struct MemoryUse<'g> {
    graph: &'g Graph,
    storage: AliasClasses,
}

impl<'g> MemoryUse<'g> {
    /// Determines which values of a graph may share memory.
    pub fn of(graph: &'g Graph) -> Self {
        Self { graph, storage: AliasClasses::new(graph) }
    }

    /// Returns the names of the inputs that the graph certainly leaves unchanged.
    pub fn unchanged_inputs(&self) -> Vec<&'g str> {
        let mut is_changed = vec![false; self.graph.num_values()];
        for node in self.graph.nodes() {
            let mut mark = |arg| {
                self.graph.for_each_value(arg, &mut |value| is_changed[self.storage.class(value) as usize] = true);
            };
            if may_update_arguments(&node) {
                node.all_args().for_each(&mut mark);
            }
            mutated(self.graph, &node).into_iter().for_each(mark);
        }
        let inputs = self.graph.inputs().zip(self.graph.input_names());
        inputs.filter(|(value, _)| !is_changed[self.storage.class(*value) as usize]).map(|(_, name)| name).collect()
    }

    /// Returns whether a call may change memory that one of the nodes reads or writes.
    pub fn changes<'n>(&self, node: &Node<'_>, nodes: impl IntoIterator<Item = &'n NodeId>) -> bool {
        let changed = mutated(self.graph, &self.graph.node(node.id));
        let changed: Vec<u32> =
            changed.into_iter().filter_map(Arg::as_value).map(|value| self.storage.class(value)).collect();
        let is_touched = |node: Node<'_>| {
            node.operands().chain([node.value]).any(|value| changed.contains(&self.storage.class(value)))
        };
        !changed.is_empty() && nodes.into_iter().any(|&node| is_touched(self.graph.node(node)))
    }
}

/// Returns for each node whether it is live: it has an effect, or a node with an effect or the outputs depend on it.
pub(crate) fn live_nodes(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.num_nodes()];
    let mark = |live: &mut Vec<bool>, value| {
        if let Some(node) = graph.node_of(value) {
            live[node.index()] = true;
        }
    };
    graph.output_values().for_each(|value| mark(&mut live, value));
    // One backward pass is enough, because users come after the values that they use.
    for node in graph.nodes().rev() {
        if live[node.id.index()] || is_effectful(graph, &node) {
            live[node.id.index()] = true;
            node.operands().for_each(|value| mark(&mut live, value));
        }
    }
    live
}

/// Returns for each value how often live nodes and the outputs refer to it.
pub(crate) fn live_uses(graph: &Graph, live: &[bool]) -> Vec<u32> {
    let mut uses = vec![0_u32; graph.num_values()];
    let of_nodes = graph.nodes().filter(|node| live[node.id.index()]).flat_map(|node| node.operands());
    for value in of_nodes.chain(graph.output_values()) {
        uses[value.index()] += 1;
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_that_no_call_may_change_are_unchanged() {
        let mut b = Graph::builder();
        let names = ["read", "view", "added", "out", "mean", "table", "custom"];
        let [read, view, added, out, mean, table, custom] = names.map(|name| Arg::Value(b.input(name)));
        let flat = b.call_method("flat", "view", &[view, Arg::Int(-1)], &[]).into();
        let sum = b.call_function("sum", "torch.exp", &[read], &[("out", out)]).into();
        b.call_method("a", "zero_", &[flat], &[]);
        b.call_function("b", "operator.iadd", &[added, read], &[]);
        b.call_function("c", "torch.batch_norm", &[sum, mean], &[]);
        b.call_function("d", "torch.nn.functional.embedding", &[sum, table], &[]);
        let last = b.call_function("e", "torch.ops.mine.update", &[custom], &[]);
        let graph = b.finish(&[last.into()]).unwrap();
        assert_eq!(MemoryUse::of(&graph).unchanged_inputs(), ["read"]);
    }
}
