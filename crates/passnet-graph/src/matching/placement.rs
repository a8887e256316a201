//! Placement: checks that a complete assignment may be replaced, and chooses the place of the replacement.

use super::{
    assignment::{Mismatch, MismatchKind, PartialMatch},
    found::Match,
    pattern::Pattern,
    prepared::PreparedGraph,
};
use crate::{
    NodeId, Use, ValueId,
    effects::{AliasClasses, mutated},
};

/// A place in the program with replacements. Node `n` is at `(n, 0)`. The replacements right after the node are at `(n, 1)`, `(n, 2)`
/// ...: the second number is that of the match, counted from 1.
type ProgramPosition = (u32, u32);

/// Places of the matches found so far.
#[derive(Default)]
pub(super) struct Placements {
    positions: Vec<ProgramPosition>,
}

impl Placements {
    /// Returns whether there may be a place for the replacement, given the nodes that are assigned after the first `steps` of the plan.
    /// If there is no place, further choices cannot make one.
    pub(super) fn may_have_place(
        &self,
        target: &PreparedGraph<'_>,
        pattern: &Pattern<'_>,
        assignment: &mut PartialMatch<'_>,
        steps: usize,
    ) -> Result<(), Mismatch> {
        let check = Check { target, pattern, assignment, positions: &self.positions, steps };
        let (cost, place) = (check.cost(), check.position());
        // These checks count as comparisons, so that the limit of the search bounds them as well.
        assignment.compared += cost;
        place.map(|_| ())
    }

    /// Checks a complete assignment and, if it is legal, makes it a match.
    pub(super) fn place(
        &mut self,
        target: &PreparedGraph<'_>,
        pattern: &Pattern<'_>,
        assignment: &mut PartialMatch<'_>,
    ) -> Result<Match, Mismatch> {
        let (insert_at, dead) = {
            let check = Check { target, pattern, assignment, positions: &self.positions, steps: pattern.steps.len() };
            check.inputs_are_outside()?;
            let insert_at = check.position()?;
            check.storage(insert_at)?;
            (insert_at, check.dead())
        };
        assignment.claim(self.positions.len() as u32);
        self.positions.push(insert_at);
        Ok(Match {
            nodes: assignment.nodes().to_vec(),
            inputs: assignment.inputs().to_vec(),
            insert_after: NodeId(insert_at.0),
            dead,
        })
    }
}

struct Check<'c> {
    target: &'c PreparedGraph<'c>,
    pattern: &'c Pattern<'c>,
    assignment: &'c PartialMatch<'c>,
    positions: &'c [ProgramPosition],
    /// Number of steps of the plan that were taken.
    steps: usize,
}

impl Check<'_> {
    /// Returns an estimate of the number of nodes that the checks read.
    fn cost(&self) -> u64 {
        let uses = self.outputs().map(|node| self.target.uses.of(self.target.graph.value_of(node)).len());
        let ((_, first), (_, last)) = self.ends();
        let window = if self.pattern.mutators.is_empty() { 0 } else { last.0 - first.0 };
        (self.pattern.num_live + uses.sum::<usize>()) as u64 + u64::from(window)
    }

    fn inputs_are_outside(&self) -> Result<(), Mismatch> {
        let mut inside = None;
        self.for_each_bound(|input, value| {
            if let Some(node) = self.target.graph.node_of(value)
                && let Some(pattern) = self.assignment.stands_for(node)
            {
                inside.get_or_insert(Mismatch { pattern, target: node, kind: MismatchKind::Inside { input, value } });
            }
        });
        inside.map_or(Ok(()), Err)
    }

    /// Returns the last place where all inputs of the pattern are computed and no output is used yet. The place is not after the last
    /// matched node, unless an input is computed later.
    fn position(&self) -> Result<ProgramPosition, Mismatch> {
        // A later match at the same node comes after the earlier ones, so it may read their results.
        let number = self.positions.len() as u32 + 1;
        let mut last_read: Option<(ProgramPosition, ValueId)> = None;
        self.for_each_bound(|input, value| {
            if let Some(node) = self.target.graph.node_of(value) {
                last_read = last_read.max(Some((self.position_of(node), input)));
            }
        });
        let (_, (last_pattern, last)) = self.ends();
        let latest = last_read.map_or(last.0, |((node, _), _)| node.max(last.0));
        let Some((user_at, user)) = self.first_outside_use() else { return Ok((latest, number)) };
        if (latest, number) < user_at {
            return Ok((latest, number));
        }
        let no_place =
            |input| Mismatch { pattern: last_pattern, target: last, kind: MismatchKind::NoPlace { input, user } };
        let input = last_read.map_or(ValueId(0), |(_, input)| input);
        let earliest = (user_at.0.checked_sub(1).ok_or(no_place(input))?, number);
        match last_read {
            Some((read_at, input)) if read_at >= earliest => Err(no_place(input)),
            _ => Ok(earliest),
        }
    }

    /// Checks that the computation may move to `insert_at`. Between its nodes and that place, no node outside may change storage
    /// that the match reads, or use storage that the match changes. Within the match, the order around changes must be that of
    /// the pattern.
    fn storage(&self, insert_at: ProgramPosition) -> Result<(), Mismatch> {
        let Some(storage) = &self.target.storage else { return Ok(()) };
        let ((_, first), (last_pattern, last)) = self.ends();
        // All nodes of the match move to one place. The move crosses the nodes between them and that place.
        let window = first.0.min(insert_at.0 + 1)..=last.0.max(insert_at.0);
        let error = |node| Mismatch { pattern: last_pattern, target: last, kind: MismatchKind::Storage { node } };
        let touched = self.touched_classes(storage);
        let is_touched = |value: ValueId| touched.binary_search(&storage.class(value)).is_ok();

        // Mutators are in program order, so the window is found by a binary search.
        let start = self.target.mutators.partition_point(|mutator| mutator.node.0 < *window.start());
        for mutator in self.target.mutators[start..].iter().take_while(|mutator| mutator.node.0 <= *window.end()) {
            let is_outside = self.assignment.stands_for(mutator.node).is_none();
            if is_outside && (mutator.is_barrier || mutator.changed.iter().any(|&value| is_touched(value))) {
                return Err(error(mutator.node));
            }
        }
        if self.pattern.mutators.is_empty() {
            return Ok(());
        }
        let changes = self.changes(storage);
        for node in window.map(NodeId).filter(|&node| self.assignment.stands_for(node).is_none()) {
            // A node that stays on the same side of each change reads the same values. The node that allocates the memory stays before
            // the first change.
            let crosses = |changer: NodeId| (changer < node) == (node.0 <= insert_at.0);
            let mut crossing = changes.iter().filter(|&&(changer, _)| crosses(changer));
            // All matches are of the same pattern, so the other match changes something as well.
            let is_of_another = self.assignment.owner(node).is_some();
            if is_of_another || crossing.any(|(_, changed)| self.touches(storage, node, changed)) {
                return Err(error(node));
            }
        }
        self.order_around_changes(storage)
    }

    fn order_around_changes(&self, storage: &AliasClasses) -> Result<(), Mismatch> {
        for &pattern in &self.pattern.mutators {
            let Some(mutator) = self.assignment.nodes()[pattern.index()] else { continue };
            let changed = self.classes_changed_by(storage, mutator);
            for (other_pattern, other) in self.pairs() {
                let same_order = (other_pattern < pattern) == (other < mutator);
                if !same_order && self.touches(storage, other, &changed) {
                    return Err(Mismatch { pattern, target: mutator, kind: MismatchKind::Reordered { other } });
                }
            }
        }
        Ok(())
    }

    /// Returns the dead nodes that use values of the match. They have to be removed together with the match.
    fn dead(&self) -> Vec<NodeId> {
        let mut dead = Vec::new();
        let interior = self.pairs().filter(|&(pattern, _)| !self.pattern.is_output[pattern.index()]);
        let mut work: Vec<NodeId> = interior.map(|(_, node)| node).collect();
        while let Some(node) = work.pop() {
            for &user in self.target.uses.of(self.target.graph.value_of(node)) {
                if let Use::Node(user) = user
                    && !self.target.live[user.index()]
                {
                    dead.push(user);
                    work.push(user);
                }
            }
        }
        dead.sort_unstable();
        dead.dedup();
        dead
    }

    fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.pattern.live_nodes().filter_map(|pattern| Some((pattern, self.assignment.nodes()[pattern.index()]?)))
    }

    /// Returns the target nodes whose values the pattern returns and whose users outside are already known.
    fn outputs(&self) -> impl Iterator<Item = NodeId> + '_ {
        let is_settled = |pattern: NodeId| {
            self.pattern.is_output[pattern.index()]
                && (self.pattern.users_placed_at[pattern.index()] as usize) < self.steps
        };
        self.pairs().filter(move |&(pattern, _)| is_settled(pattern)).map(|(_, node)| node)
    }

    /// Returns the first and the last matched node of the target, each after the pattern node it stands for.
    fn ends(&self) -> ((NodeId, NodeId), (NodeId, NodeId)) {
        let none = (NodeId(0), NodeId(0));
        (
            self.pairs().min_by_key(|&(_, node)| node).unwrap_or(none),
            self.pairs().max_by_key(|&(_, node)| node).unwrap_or(none),
        )
    }

    fn for_each_bound(&self, mut visit: impl FnMut(ValueId, ValueId)) {
        for (input, bound) in (0..).map(ValueId).zip(self.assignment.inputs()) {
            if let &Some(bound) = bound {
                self.target.graph.for_each_value(bound, &mut |value| visit(input, value));
            }
        }
    }

    fn position_of(&self, node: NodeId) -> ProgramPosition {
        self.assignment.owner(node).map_or((node.0, 0), |number| self.positions[number as usize])
    }

    fn first_outside_use(&self) -> Option<(ProgramPosition, NodeId)> {
        self.outputs()
            .flat_map(|node| self.target.uses.of(self.target.graph.value_of(node)))
            .filter_map(|&user| match user {
                Use::Node(user) if self.assignment.stands_for(user).is_none() => Some((self.position_of(user), user)),
                _ => None,
            })
            .min()
    }

    /// Returns the sorted classes of storage that the match reads or changes.
    fn touched_classes(&self, storage: &AliasClasses) -> Vec<u32> {
        let mut classes: Vec<u32> =
            self.pairs().map(|(_, node)| storage.class(self.target.graph.value_of(node))).collect();
        self.for_each_bound(|_, value| classes.push(storage.class(value)));
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// Returns the matched calls that change something, each with the sorted classes that it changes.
    fn changes(&self, storage: &AliasClasses) -> Vec<(NodeId, Vec<u32>)> {
        let changers = self.pattern.mutators.iter().filter_map(|node| self.assignment.nodes()[node.index()]);
        changers.map(|node| (node, self.classes_changed_by(storage, node))).collect()
    }

    fn classes_changed_by(&self, storage: &AliasClasses, node: NodeId) -> Vec<u32> {
        let graph = self.target.graph;
        let mut classes = Vec::new();
        for arg in mutated(graph, &graph.node(node)) {
            graph.for_each_value(arg, &mut |value| classes.push(storage.class(value)));
        }
        classes.sort_unstable();
        classes
    }

    /// Returns whether an argument of `node` is in one of the `classes`, which are sorted.
    fn touches(&self, storage: &AliasClasses, node: NodeId, classes: &[u32]) -> bool {
        let graph = self.target.graph;
        let mut touches = false;
        for arg in graph.node(node).all_args() {
            graph.for_each_value(arg, &mut |value| touches |= classes.binary_search(&storage.class(value)).is_ok());
        }
        touches
    }
}
