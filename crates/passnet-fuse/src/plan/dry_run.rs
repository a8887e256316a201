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
    Arg, Graph, MemoryUse, NodeId, Target, Type, TypedGraph,
    matching::{self, Match, PreparedGraph, SearchLimits},
};

use super::{
    pattern::{PatternText, SharedPattern, graph_of, share},
    pattern_printer::constant,
    region::RegionInput,
    rewritten::RewrittenGraph,
    schedule::schedule,
    site::{PassSite, Replacement},
    stage::LoopForm,
    survey::Survey,
    views::views_of,
};
use crate::front::lower::call::Call;

/// Outcome of a dry run.
pub(crate) struct DryRun {
    /// Passes in the order in which they are to be applied. Passes that would match a place that they cannot compute, or a
    /// node that must stay in its graph, are left out.
    pub(crate) passes: Vec<Vec<PassSite>>,
    /// By graph: operations of passes that are not written, because another graph with the same operations cannot use them, or because
    /// the matcher refuses them.
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
    let mut blocked = vec![BTreeSet::new(); task.len()];
    let passes = passes.into_iter().filter_map(|pass| pass.matched(task, &mut blocked)).collect();
    let mut passes = by_containment(task, passes);
    let mut added: BTreeSet<(usize, Vec<Matched>)> = BTreeSet::new();
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
        let first = sites.first()?;
        let shared = share(&sites.iter().map(|site| &site.pattern).collect::<Vec<&PatternText>>());
        let pattern = graph_of(&task[first.graph], &first.region, &shared)?;
        Some(Self { sites, shared, pattern })
    }

    /// Returns the pass with those sites that it matches. The matcher knows no types, so it takes more calls for views than the
    /// author does. If such a call stands between the nodes of a match that changes memory, it refuses the match. Calls that change
    /// memory in the other sites are added to `blocked`, or all calls of a site that has none.
    fn matched(self, task: &[TypedGraph], blocked: &mut [BTreeSet<NodeId>]) -> Option<Self> {
        let matched = matched_nodes(task, &self);
        let is_matched = |site: &PassSite| site.region.nodes.iter().any(|&node| matched.contains(&(site.graph, node)));
        if self.sites.iter().all(is_matched) {
            return Some(self);
        }
        let (sites, lost): (Vec<PassSite>, Vec<PassSite>) = self.sites.into_iter().partition(is_matched);
        for site in lost {
            let graph = task[site.graph].canonical();
            let memory = MemoryUse::of(graph);
            let changes = |node: &NodeId| memory.changes(&graph.node(*node), [node]);
            let changing: Vec<NodeId> = site.region.nodes.iter().copied().filter(changes).collect();
            blocked[site.graph].extend(if changing.is_empty() { site.region.nodes } else { changing });
        }
        Self::new(task, sites)
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
        // The first site leaves out a change of memory that is needed here.
        let is_needed_change = |node: NodeId| {
            let graph = typed.graph();
            first.region.leaves_out_a_change && Call::of(graph, graph.node(node)).is_some_and(|call| call.is_change())
        };
        let is_impossible = |node: NodeId| {
            !survey.can_express(node)
                || (is_of_views && !survey.is_view(node))
                || copied.contains(&node)
                || is_needed_change(node)
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

    /// Returns whether a match is a site of the pass; always true for a pass that leaves out no change of memory. At another place, something
    /// may read the changed memory later.
    fn is_planned_there(&self, graph: usize, state: &RewrittenGraph, found: &Match) -> bool {
        if !self.sites.iter().any(|site| site.region.leaves_out_a_change) {
            return true;
        }
        let Some(nodes) = original_nodes(state, found) else { return false };
        let is_whole = |site: &PassSite| nodes.iter().all(|(_, node)| site.region.nodes.contains(node));
        self.sites.iter().any(|site| site.graph == graph && is_whole(site))
    }

    /// Returns whether the pass has a plan for the types of a match.
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

/// Returns the nodes of the original graph that a match has; `None` if results of other passes are among them.
fn original_nodes(state: &RewrittenGraph, found: &Match) -> Option<Vec<Matched>> {
    let matched = found.nodes.iter().enumerate().filter_map(|(position, node)| Some((position, (*node)?)));
    matched.map(|(position, node)| Some((position, state.origins[state.graph.value_of(node).index()]?))).collect()
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
        let is_planned =
            |found: &&Match| pass.foresees(task, &state, found, target) && pass.is_planned_there(graph, &state, found);
        if let Some(lost) = matches.iter().find(|found| !is_planned(found)) {
            let constants = &lost.inputs[pass.sites[0].region.inputs.len()..];
            return Some(Lost {
                pass: place,
                graph,
                nodes: original_nodes(&state, lost),
                constants: constants.iter().map(|arg| arg.and_then(constant)).collect(),
            });
        }
        match state.replaced(&matches, &|found| pass.results(found), place) {
            Some(next) => state = next,
            None => return unknown(place),
        }
    }
    None
}
