//! Dry run: applies the passes to the graphs of their task without running anything, as the referee will apply them.
//!
//! A pattern is replaced wherever it matches. It can match at places that the author did not choose: inside a larger
//! region, where a constant stands in place of a tensor, or where the author left the same operations alone. A kernel
//! refuses a call that is not in its plans, and the graph fails. So passes with larger patterns come first, and the
//! author also plans the other matches of a pass.
//!
//! If a match in one graph cannot be planned, the other graphs keep as much of the pass as possible. Either the pass is
//! divided by a constant that differs in this match, or the operations that the one graph cannot replace stay in all
//! graphs.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{
    Arg, Builder, Graph, NodeId, Target, Type, TypedGraph, ValueId,
    matching::{self, Match, PreparedGraph, SearchLimits},
};

use super::{
    pattern::{PatternText, SharedPattern, graph_of, share},
    pattern_printer::constant,
    region::RegionInput,
    schedule::schedule,
    site::{PassSite, Replacement},
    stage::LoopForm,
    survey::Survey,
    views::views_of,
};

/// Outcome of a dry run.
pub(crate) struct DryRun {
    /// Passes in the order in which they are to be applied. Passes that would match a place that they cannot compute, or a
    /// node that must stay in its graph, are left out.
    pub(crate) passes: Vec<Vec<PassSite>>,
    /// By graph: operations of passes that are not written, because another graph with the same operations cannot use them.
    pub(crate) blocked: Vec<BTreeSet<NodeId>>,
}

/// Applies passes to the graphs of their task, and changes the passes that match a place that they cannot compute.
pub(crate) fn dry_run(
    task: &[TypedGraph],
    groups: Vec<Vec<PassSite>>,
    target: Target,
    kept: &[BTreeSet<NodeId>],
) -> DryRun {
    let passes: Vec<PlannedPass> = groups.into_iter().filter_map(|sites| PlannedPass::new(task, sites)).collect();
    let mut passes = by_containment(task, passes);
    let mut added: BTreeSet<(usize, Vec<Matched>)> = BTreeSet::new();
    let mut blocked = vec![BTreeSet::new(); task.len()];
    while let Some(Lost { pass: place, graph, nodes, constants }) = first_lost(task, &passes, target) {
        let pass = &passes[place];
        let planned = match &nodes {
            Some(nodes) => pass.planned(&task[graph], graph, nodes, target, &kept[graph]),
            None => Err(Vec::new()),
        };
        let instead: Vec<PlannedPass> = match planned {
            // Each place is added once. If it is lost again, planning it did not help: the pass is dropped, because
            // another attempt would end the same way.
            Ok(site) if added.insert((graph, nodes.unwrap_or_default())) => {
                PlannedPass::new(task, pass.sites.iter().cloned().chain([site]).collect()).into_iter().collect()
            }
            Ok(_) => Vec::new(),
            Err(impossible) => {
                let parts = pass.divided(&constants);
                if parts.is_empty() {
                    for site in &pass.sites {
                        blocked[site.graph].extend(impossible.iter().map(|&position| site.region.nodes[position]));
                    }
                }
                parts.into_iter().filter_map(|sites| PlannedPass::new(task, sites)).collect()
            }
        };
        passes.splice(place..=place, instead);
    }
    DryRun { passes: passes.into_iter().map(|pass| pass.sites).collect(), blocked }
}

/// A node of a pattern by its position, and the node of the original graph that it matches.
type Matched = (usize, NodeId);

/// A match for which a pass has no plan.
struct Lost {
    pass: usize,
    graph: usize,
    /// Matched nodes; `None` if results of other passes are among them.
    nodes: Option<Vec<Matched>>,
    /// For each parameter that stands for a constant, the constant of the match; `None` for a tensor.
    constants: Vec<Option<String>>,
}

/// A pass: its places, and its pattern as a graph.
struct PlannedPass {
    sites: Vec<PassSite>,
    shared: SharedPattern,
    /// Inputs are the tensors, then the constants that differ between sites.
    pattern: Graph,
}

impl PlannedPass {
    fn new(task: &[TypedGraph], sites: Vec<PassSite>) -> Option<Self> {
        let shared = share(&sites.iter().map(|site| &site.pattern).collect::<Vec<&PatternText>>());
        let first = sites.first()?;
        let pattern = graph_of(&task[first.graph], &first.region, &shared)?;
        Some(Self { sites, shared, pattern })
    }

    /// Returns a site of this pass for a place that the author left alone. The error holds the positions of the operations
    /// that cannot be replaced there.
    fn planned(
        &self,
        typed: &TypedGraph,
        graph: usize,
        nodes: &[Matched],
        target: Target,
        kept: &BTreeSet<NodeId>,
    ) -> Result<PassSite, Vec<usize>> {
        let first = &self.sites[0];
        let on_host = (first.target != target).then(|| typed.on_host());
        let typed = match &on_host {
            Some(on_host) => on_host.as_ref().ok_or_else(Vec::new)?,
            None => typed,
        };
        let survey = Survey::of(typed, first.target, kept).ok_or_else(Vec::new)?;
        let planned = || {
            let region = survey.assemble(nodes.iter().map(|&(_, node)| node).collect())?;
            let replacement = match &first.replacement {
                Replacement::Kernels(_) => Replacement::Kernels(schedule(&region, LoopForm::of(first.target))?),
                Replacement::Views(_) => Replacement::Views(views_of(&region)?),
                Replacement::Same(_) => return None,
            };
            let site = PassSite::new(typed, graph, region, replacement, first.target);
            (site.key() == first.key()).then_some(site)
        };
        let is_of_views = matches!(first.replacement, Replacement::Views(_));
        // A kernel copies, so it cannot replace a call whose result is a view here, such as a cast to the type that the tensor has.
        let copied: BTreeSet<NodeId> = match &first.replacement {
            Replacement::Kernels(_) if views_of(&first.region).is_none() => {
                survey.outside_views(&nodes.iter().map(|&(_, node)| node).collect())
            }
            _ => BTreeSet::new(),
        };
        let is_impossible = |node: NodeId| {
            !survey.can_express(node) || (is_of_views && !survey.is_view(node)) || copied.contains(&node)
        };
        let impossible = || nodes.iter().filter(|(_, node)| is_impossible(*node)).map(|&(position, _)| position);
        let planned = if copied.is_empty() { planned() } else { None };
        planned.ok_or_else(|| impossible().collect())
    }

    /// Returns the sites grouped by the value of one constant, so that each pattern can contain that value. Of the constants
    /// in which the match differs from some site, it is the one whose value the fewest sites share with the match. Returns
    /// nothing if the match differs from no site.
    fn divided(&self, constants: &[Option<String>]) -> Vec<Vec<PassSite>> {
        let equal = |number: usize| {
            let (_, known) = &self.shared.parameters[number];
            known.iter().filter(|known| Some(*known) == constants[number].as_ref()).count()
        };
        let differing = (0..constants.len()).filter(|&number| equal(number) < self.sites.len());
        let Some(number) = differing.min_by_key(|&number| equal(number)) else { return Vec::new() };
        let mut parts: BTreeMap<&str, Vec<PassSite>> = BTreeMap::new();
        for (site, known) in self.sites.iter().zip(&self.shared.parameters[number].1) {
            parts.entry(known).or_default().push(site.clone());
        }
        parts.into_values().collect()
    }

    fn find(&self, graph: &Graph) -> Option<Vec<Match>> {
        let pattern = matching::Pattern::new(&self.pattern).ok()?;
        // Most pairs of pattern and graph have no match. This check compares counts of operations and is much cheaper
        // than a search.
        if !pattern.may_occur_in(graph) {
            return Some(Vec::new());
        }
        Some(PreparedGraph::new(graph).find(&pattern, SearchLimits::default()).ok()?.matches)
    }

    /// Returns the nodes of a graph whose values the pass replaces.
    fn results(&self, found: &Match) -> Vec<NodeId> {
        let nodes = self.pattern.output_values().filter_map(|value| self.pattern.node_of(value));
        nodes.filter_map(|node| found.nodes[node.index()]).collect()
    }

    /// Returns whether the pass has a plan for a match.
    fn foresees(&self, task: &[TypedGraph], state: &RewrittenGraph, found: &Match, target: Target) -> bool {
        // A pass that only repeats the operations of its pattern needs no plan.
        let is_same_as_pattern = matches!(self.sites[0].replacement, Replacement::Same(_));
        is_same_as_pattern
            || (0..self.sites.len()).any(|number| {
                let site = &self.sites[number];
                let on_host = site.target != target;
                let fits = |(input, arg): (&RegionInput, &Option<Arg>)| {
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

/// Returns whether a plan for one tensor holds for the other. Strides are not compared: those of a library's result are known
/// only when it exists, and are handled then.
fn is_same(wanted: &Type, found: &Type, on_host: bool) -> bool {
    match (wanted, found) {
        (Type::Tensor(a), Type::Tensor(b)) if !on_host => (&a.shape, a.dtype) == (&b.shape, b.dtype),
        (Type::Host { host: a }, Type::Host { host: b }) if on_host => (&a.shape, a.dtype) == (&b.shape, b.dtype),
        _ => false,
    }
}

/// Returns the passes in the given order, except that a pass comes before another if its pattern contains the other's, or shares
/// nodes with the other's matches.
fn by_containment(task: &[TypedGraph], passes: Vec<PlannedPass>) -> Vec<PlannedPass> {
    let regions: Vec<Vec<Graph>> = passes
        .iter()
        .map(|pass| {
            let whole = |site: &PassSite| graph_of(&task[site.graph], &site.region, &SharedPattern::default());
            pass.sites.iter().filter_map(whole).collect()
        })
        .collect();
    let occurs = |small: usize, large: usize| {
        regions[large].iter().any(|region| passes[small].find(region).is_some_and(|matches| !matches.is_empty()))
    };
    let matched: Vec<BTreeSet<(usize, NodeId)>> = passes.iter().map(|pass| matched_nodes(task, pass)).collect();
    // A small pass must not replace a node inside a match of a larger pass: the rest of the match would stay as it is.
    let takes = |small: usize, large: usize| {
        let size = |pass: usize| passes[pass].sites[0].region.nodes.len();
        let is_of =
            |site: &PassSite| site.region.nodes.iter().any(|&node| matched[small].contains(&(site.graph, node)));
        size(small) < size(large) && passes[large].sites.iter().any(is_of)
    };
    let count = passes.len();
    let is_before = |large: usize, small: usize| {
        large != small && (takes(small, large) || occurs(small, large) && !occurs(large, small))
    };
    let before: Vec<Vec<usize>> =
        (0..count).map(|small| (0..count).filter(|&large| is_before(large, small)).collect()).collect();
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut order = Vec::new();
    while let Some(&first) = left.first() {
        let is_free = |place: &&usize| before[**place].iter().all(|large| !left.contains(large));
        // Passes can contain each other in a cycle. Then the first one in the given order comes first.
        let next = left.iter().find(is_free).copied().unwrap_or(first);
        left.remove(&next);
        order.push(next);
    }
    let mut passes: Vec<Option<PlannedPass>> = passes.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| passes[place].take()).collect()
}

/// Returns the nodes that a pass matches in the graphs of a task before anything is replaced, including its own sites.
fn matched_nodes(task: &[TypedGraph], pass: &PlannedPass) -> BTreeSet<(usize, NodeId)> {
    let of_graph = |(graph, typed): (usize, &TypedGraph)| {
        let matches = pass.find(typed.canonical()).unwrap_or_default();
        matches.into_iter().flat_map(|found| found.nodes).flatten().map(move |node| (graph, node)).collect::<Vec<_>>()
    };
    task.iter().enumerate().flat_map(of_graph).collect()
}

/// Returns the first match that a pass has no plan for, if any.
fn first_lost(task: &[TypedGraph], passes: &[PlannedPass], target: Target) -> Option<Lost> {
    (0..task.len()).find_map(|graph| first_lost_in(graph, task, passes, target))
}

fn first_lost_in(graph: usize, task: &[TypedGraph], passes: &[PlannedPass], target: Target) -> Option<Lost> {
    let mut state = RewrittenGraph::new(&task[graph]);
    let unknown = |pass| Some(Lost { pass, graph, nodes: None, constants: Vec::new() });
    for (place, pass) in passes.iter().enumerate() {
        let Some(matches) = pass.find(&state.graph) else { return unknown(place) };
        if matches.is_empty() {
            continue;
        }
        if let Some(lost) = matches.iter().find(|found| !pass.foresees(task, &state, found, target)) {
            let matched = lost.nodes.iter().enumerate().filter_map(|(position, node)| Some((position, (*node)?)));
            let origin = |(position, node)| Some((position, state.origins[state.graph.value_of(node).index()]?));
            let constants = &lost.inputs[pass.sites[0].region.inputs.len()..];
            return Some(Lost {
                pass: place,
                graph,
                nodes: matched.map(origin).collect(),
                constants: constants.iter().map(|arg| arg.and_then(constant)).collect(),
            });
        }
        match state.replaced(pass, &matches, place) {
            Some(next) => state = next,
            None => return unknown(place),
        }
    }
    None
}

/// A graph between two passes.
struct RewrittenGraph {
    graph: Graph,
    /// Type of each value.
    types: Vec<Type>,
    /// For each value, the node of the original graph that computes it.
    origins: Vec<Option<NodeId>>,
}

impl RewrittenGraph {
    fn new(typed: &TypedGraph) -> Self {
        let graph = typed.canonical().clone();
        let values: Vec<ValueId> = graph.inputs().chain(graph.nodes().map(|node| node.value)).collect();
        let types = values.iter().map(|&value| typed.type_of(value).clone()).collect();
        let origins = values.iter().map(|&value| graph.node_of(value)).collect();
        Self { graph, types, origins }
    }

    /// Returns the graph with a call in place of each match, as applying the pass does. `None` if a call cannot stand in
    /// place of its match.
    fn replaced(&self, pass: &PlannedPass, matches: &[Match], index: usize) -> Option<Self> {
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
                let results = pass.results(found);
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
