//! What the passes of a directory find in the graphs of their task, before anything runs.
//!
//! A pattern is replaced wherever it matches: also inside a larger region, where a constant stands for what was a tensor, or
//! where the same operations were left alone. Kernels refuse what is not in their plans, which fails the graph. So passes with
//! larger patterns come first, what a pass would find besides is planned too, and one that would be asked for what it cannot do
//! is not written.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{
    Arg, Builder, Graph, NodeId, ValueId,
    matching::{self, Limits, Match},
};

use crate::{
    author::{Site, Target, Work},
    config::Choices,
    pattern::{Pattern, SharedPattern, constant, graph_of, share},
    region::{Input, Survey},
    stage::schedule,
    typed::{Type, TypedGraph},
    views::views,
};

/// Passes in the order in which they are to be applied, without those that would be asked for what they cannot do, or for a
/// node that is kept in its graph.
pub(crate) fn rehearsed(
    task: &[TypedGraph],
    groups: Vec<Vec<Site>>,
    target: Target,
    kept: &[BTreeSet<NodeId>],
    choices: &Choices,
) -> Vec<Vec<Site>> {
    let roles: Vec<Role> = groups.into_iter().filter_map(|sites| Role::new(task, sites)).collect();
    let mut roles = by_containment(task, roles);
    let mut tried: BTreeSet<(usize, BTreeSet<NodeId>)> = BTreeSet::new();
    while let Some(Lost { role: place, graph, nodes }) = first_lost(task, &roles, target) {
        let Role { sites, .. } = &roles[place];
        let site = nodes
            .filter(|nodes| tried.insert((graph, nodes.clone())))
            .and_then(|nodes| roles[place].planned(&task[graph], graph, nodes, target, &kept[graph], choices));
        let grown = site.and_then(|site| Role::new(task, sites.iter().cloned().chain([site]).collect()));
        roles.splice(place..=place, grown);
    }
    roles.into_iter().map(|role| role.sites).collect()
}

/// A match that a pass has no plan for.
struct Lost {
    role: usize,
    graph: usize,
    /// What matches, in the original graph; `None` where results of other passes do.
    nodes: Option<BTreeSet<NodeId>>,
}

/// A pass: its places, and its pattern as a graph.
struct Role {
    sites: Vec<Site>,
    shared: SharedPattern,
    /// Inputs are the tensors, then the constants that differ between sites.
    pattern: Graph,
}

impl Role {
    fn new(task: &[TypedGraph], sites: Vec<Site>) -> Option<Self> {
        let shared = share(&sites.iter().map(|site| &site.pattern).collect::<Vec<&Pattern>>());
        let first = sites.first()?;
        let pattern = graph_of(&task[first.graph], &first.region, &shared)?;
        Some(Self { sites, shared, pattern })
    }

    /// A place that the author left alone, as one of this pass.
    fn planned(
        &self,
        typed: &TypedGraph,
        graph: usize,
        nodes: BTreeSet<NodeId>,
        target: Target,
        kept: &BTreeSet<NodeId>,
        choices: &Choices,
    ) -> Option<Site> {
        let first = self.sites.first()?;
        let on_host = (first.target != target).then(|| typed.on_host());
        let typed = match &on_host {
            Some(on_host) => on_host.as_ref()?,
            None => typed,
        };
        let region = Survey::of(typed, first.target, kept)?.assemble(nodes)?;
        let work = match &first.work {
            Work::Kernels(_) => Work::Kernels(schedule(&region, first.target.form())?),
            Work::Views(_) => Work::Views(views(&region)?),
            Work::Same => return None,
        };
        let site = Site::new(typed, graph, region, work, first.target, choices);
        (site.key() == first.key()).then_some(site)
    }

    fn find(&self, graph: &Graph) -> Option<Vec<Match>> {
        let pattern = matching::Pattern::new(&self.pattern).ok()?;
        if !pattern.may_occur_in(graph) {
            return Some(Vec::new());
        }
        Some(matching::Target::new(graph).find(&pattern, Limits::default()).ok()?.matches)
    }

    /// The nodes of a graph whose values the pass gives anew.
    fn results(&self, found: &Match) -> Vec<NodeId> {
        let mut results = Vec::new();
        for &output in self.pattern.outputs() {
            self.pattern.for_each_value(output, &mut |value| {
                results.extend(self.pattern.node_of(value).and_then(|node| found.nodes[node.index()]));
            });
        }
        results
    }

    /// Whether the pass has a plan for a match.
    fn foresees(&self, task: &[TypedGraph], state: &State, found: &Match, target: Target) -> bool {
        // One that does what its pattern does needs none.
        let is_same_as_pattern = matches!(self.sites[0].work, Work::Same);
        is_same_as_pattern
            || (0..self.sites.len()).any(|number| {
                let site = &self.sites[number];
                let on_host = site.target != target;
                let fits = |(input, arg): (&Input, &Option<Arg>)| {
                    let wanted = task[site.graph].type_of(input.value);
                    matches!(arg, Some(Arg::Value(value)) if is_same(wanted, &state.types[value.index()], on_host))
                };
                let (tensors, constants) = found.inputs.split_at(site.region.inputs.len());
                let is_known = |((_, known), arg): (&(String, Vec<String>), &Option<Arg>)| {
                    arg.and_then(constant).is_some_and(|text| text == known[number])
                };
                site.region.inputs.iter().zip(tensors).all(fits)
                    && self.shared.parameters.iter().zip(constants).all(is_known)
            })
    }
}

/// Whether a plan for one tensor holds for the other; strides of what a library makes are seen to when it is there.
fn is_same(wanted: &Type, found: &Type, on_host: bool) -> bool {
    match (wanted, found) {
        (Type::Tensor(a), Type::Tensor(b)) if !on_host => (&a.shape, a.dtype) == (&b.shape, b.dtype),
        (Type::Host { host: a }, Type::Host { host: b }) if on_host => (&a.shape, a.dtype) == (&b.shape, b.dtype),
        _ => false,
    }
}

/// Those whose patterns contain others' first, else in the given order.
fn by_containment(task: &[TypedGraph], roles: Vec<Role>) -> Vec<Role> {
    let regions: Vec<Vec<Graph>> = roles
        .iter()
        .map(|role| {
            let whole = |site: &Site| graph_of(&task[site.graph], &site.region, &SharedPattern::default());
            role.sites.iter().filter_map(whole).collect()
        })
        .collect();
    let occurs = |small: usize, large: usize| {
        regions[large].iter().any(|region| roles[small].find(region).is_some_and(|matches| !matches.is_empty()))
    };
    let count = roles.len();
    let before: Vec<Vec<usize>> = (0..count)
        .map(|small| {
            (0..count).filter(|&large| large != small && occurs(small, large) && !occurs(large, small)).collect()
        })
        .collect();
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut order = Vec::new();
    while let Some(&first) = left.first() {
        let is_free = |place: &&usize| before[**place].iter().all(|large| !left.contains(large));
        let next = left.iter().find(is_free).copied().unwrap_or(first);
        left.remove(&next);
        order.push(next);
    }
    let mut roles: Vec<Option<Role>> = roles.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| roles[place].take()).collect()
}

/// The first match that a pass has no plan for, if any.
fn first_lost(task: &[TypedGraph], roles: &[Role], target: Target) -> Option<Lost> {
    (0..task.len()).find_map(|graph| first_lost_in(graph, task, roles, target))
}

fn first_lost_in(graph: usize, task: &[TypedGraph], roles: &[Role], target: Target) -> Option<Lost> {
    let mut state = State::new(&task[graph]);
    for (place, role) in roles.iter().enumerate() {
        let Some(matches) = role.find(&state.graph) else { return Some(Lost { role: place, graph, nodes: None }) };
        if matches.is_empty() {
            continue;
        }
        if let Some(lost) = matches.iter().find(|found| !role.foresees(task, &state, found, target)) {
            let nodes = lost.nodes.iter().flatten().map(|node| state.origins[state.graph.value_of(*node).index()]);
            return Some(Lost { role: place, graph, nodes: nodes.collect() });
        }
        match state.replaced(role, &matches, place) {
            Some(next) => state = next,
            None => return Some(Lost { role: place, graph, nodes: None }),
        }
    }
    None
}

/// A graph between two passes.
struct State {
    graph: Graph,
    /// By value.
    types: Vec<Type>,
    /// By value: the node of the original graph that it is of.
    origins: Vec<Option<NodeId>>,
}

impl State {
    fn new(typed: &TypedGraph) -> Self {
        let graph = typed.graph().clone();
        let values: Vec<ValueId> = graph.inputs().chain(graph.nodes().map(|node| node.value)).collect();
        let types = values.iter().map(|&value| typed.type_of(value).clone()).collect();
        let origins = values.iter().map(|&value| graph.node_of(value)).collect();
        Self { graph, types, origins }
    }

    /// The graph with a call in place of each match, as the application of passes makes it. `None` where a call cannot stand
    /// at its place.
    fn replaced(&self, role: &Role, matches: &[Match], pass: usize) -> Option<Self> {
        let graph = &self.graph;
        let gone: BTreeSet<NodeId> =
            matches.iter().flat_map(|found| found.nodes.iter().flatten().chain(&found.dead)).copied().collect();
        let mut copy = Copy::of(self);
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
                let name = format!("fused_{pass}_{number}");
                let call = copy.builder.call_function(&name, &format!("torch.ops.passnet.{name}"), &args, &[]);
                let results = role.results(found);
                if let [only] = results.as_slice() {
                    copy.define(graph.value_of(*only), call, false);
                    continue;
                }
                copy.types.push(Type::Unknown(()));
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
struct Copy<'s> {
    from: &'s State,
    builder: Builder,
    /// What stands for each value of the original.
    values: BTreeMap<ValueId, ValueId>,
    types: Vec<Type>,
    origins: Vec<Option<NodeId>>,
}

impl<'s> Copy<'s> {
    /// With the inputs.
    fn of(from: &'s State) -> Self {
        let (builder, values) = (Graph::builder(), BTreeMap::new());
        let mut copy = Self { from, builder, values, types: Vec::new(), origins: Vec::new() };
        for input in from.graph.inputs() {
            let value = copy.builder.input(from.graph.name(input));
            copy.define(input, value, true);
        }
        copy
    }

    /// Says what stands for a value: the same, or what a pass gives.
    fn define(&mut self, original: ValueId, value: ValueId, is_same: bool) {
        self.values.insert(original, value);
        self.types.push(self.from.types[original.index()].clone());
        self.origins.push(self.from.origins[original.index()].filter(|_| is_same));
    }

    /// The same arguments here; `None` where one is not there yet.
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
