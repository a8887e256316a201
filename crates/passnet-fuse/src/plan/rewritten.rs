//! A graph of a task while passes are applied to it in a dry run.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Arg, Builder, Graph, NodeId, Type, TypedGraph, ValueId, matching::Match};

/// A graph between two passes.
pub(crate) struct RewrittenGraph {
    pub(crate) graph: Graph,
    /// Type of each value.
    pub(crate) types: Vec<Type>,
    /// For each value, the node of the original graph that computes it.
    pub(crate) origins: Vec<Option<NodeId>>,
}

impl RewrittenGraph {
    pub(crate) fn new(typed: &TypedGraph) -> Self {
        let graph = typed.canonical().clone();
        let values: Vec<ValueId> = graph.inputs().chain(graph.nodes().map(|node| node.value)).collect();
        let types = values.iter().map(|&value| typed.type_of(value).clone()).collect();
        let origins = values.iter().map(|&value| graph.node_of(value)).collect();
        Self { graph, types, origins }
    }

    /// Returns the graph with a call in place of each match, as applying pass `index` does. `results` returns the nodes whose values a
    /// call computes. `None` if a call cannot stand in place of its match.
    pub(crate) fn replaced(
        &self,
        matches: &[Match],
        results: &dyn Fn(&Match) -> Vec<NodeId>,
        index: usize,
    ) -> Option<Self> {
        let graph = &self.graph;
        let gone: BTreeSet<NodeId> =
            matches.iter().flat_map(|found| found.nodes.iter().flatten().chain(&found.dead)).copied().collect();
        let mut copy = GraphCopy::of(self);
        for node in graph.nodes() {
            if !gone.contains(&node.id) {
                let args = copy.args(node.args.iter().copied())?;
                let keys = node.kwargs.iter().map(|&(key, _)| graph.str(key));
                let kwargs: Vec<(&str, Arg)> = keys.zip(copy.args(node.kwargs.iter().map(|&(_, arg)| arg))?).collect();
                let value = copy.builder.call(graph.name(node.value), node.callee, &args, &kwargs);
                copy.define(node.value, value, true);
            }
            for (number, found) in matches.iter().enumerate().filter(|(_, found)| found.insert_after == node.id) {
                let args = copy.args(found.inputs.iter().flatten().copied())?;
                // A name that no pattern contains, so that later passes see a call they do not know, as they will
                // when passes are applied.
                let name = format!("fused_{index}_{number}");
                let call = copy.builder.call_function(&name, &format!("torch.ops.passnet.{name}"), &args, &[]);
                let results = results(found);
                if let [only] = results.as_slice() {
                    copy.define(graph.value_of(*only), call, false);
                    continue;
                }
                copy.types.push(Type::Unknown);
                copy.origins.push(None);
                for (place, &result) in results.iter().enumerate() {
                    let element = [call.into(), Arg::Int(place as i64)];
                    let name = format!("{name}_{place}");
                    let value = copy.builder.call_function(&name, "operator.getitem", &element, &[]);
                    copy.define(graph.value_of(result), value, false);
                }
            }
        }
        let outputs = copy.args(graph.outputs().iter().copied())?;
        Some(Self { graph: copy.builder.finish(&outputs).ok()?, types: copy.types, origins: copy.origins })
    }
}

/// A graph while it is copied.
struct GraphCopy<'s> {
    from: &'s RewrittenGraph,
    builder: Builder,
    /// For each value of the original the value that replaces it.
    values: BTreeMap<ValueId, ValueId>,
    types: Vec<Type>,
    origins: Vec<Option<NodeId>>,
}

impl<'s> GraphCopy<'s> {
    /// Creates a copy that has the inputs of the graph.
    fn of(from: &'s RewrittenGraph) -> Self {
        let (builder, values) = (Graph::builder(), BTreeMap::new());
        let mut copy = Self { from, builder, values, types: Vec::new(), origins: Vec::new() };
        for input in from.graph.inputs() {
            let value = copy.builder.input(from.graph.name(input));
            copy.define(input, value, true);
        }
        copy
    }

    /// Records the value that replaces an original value: the same value, or a result of a pass.
    fn define(&mut self, original: ValueId, value: ValueId, is_same: bool) {
        self.values.insert(original, value);
        self.types.push(self.from.types[original.index()].clone());
        self.origins.push(self.from.origins[original.index()].filter(|_| is_same));
    }

    /// Returns arguments with the values of the copy; `None` if the copy does not have one of them yet.
    fn args(&mut self, args: impl Iterator<Item = Arg>) -> Option<Vec<Arg>> {
        let Self { from, builder, values, .. } = self;
        let mut is_there = true;
        let mut known = |value: ValueId| {
            is_there &= values.contains_key(&value);
            values.get(&value).copied().unwrap_or(value)
        };
        let copied = args.map(|arg| builder.copy_arg(&from.graph, arg, &mut known)).collect();
        is_there.then_some(copied)
    }
}
