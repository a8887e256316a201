//! The search itself: one choice per step of the plan, taken back where it leads nowhere.

use super::{
    Found, Limits, Match, MatchError, Pattern, Target,
    assignment::{Assignment, Mismatch, Mode},
    nearest,
    pattern::Step,
    placement::Placements,
};
use crate::{Arg, NodeId, Use};

/// Where the search got stuck for the first time at the deepest step.
#[derive(Default)]
pub(super) struct Progress {
    /// The nodes chosen for the roots of the steps before.
    pub(super) chosen: Vec<NodeId>,
    /// The first refusal with the most steps taken.
    pub(super) refused: Option<Refusal>,
}

/// All calls agreed so far, but they cannot be replaced.
pub(super) struct Refusal {
    /// Steps taken.
    pub(super) steps: usize,
    /// Pattern nodes that agreed.
    pub(super) matched: usize,
    pub(super) mismatch: Mismatch,
}

/// See [`Target::find`].
pub(super) fn find(target: &Target<'_>, pattern: &Pattern<'_>, limits: Limits) -> Result<Found, MatchError> {
    let mut search = Search {
        target,
        pattern,
        assignment: Assignment::new(target, pattern),
        placements: Placements::default(),
        progress: Progress::default(),
        limits,
    };
    let mut matches = Vec::new();
    if let Some(op) = search.assignment.op_of(pattern.steps[0].root) {
        for &seed in target.nodes_of(op) {
            matches.extend(search.attempt(seed)?);
        }
    }
    let nearest =
        matches.is_empty().then(|| nearest::nearest(target, pattern, &mut search.assignment, search.progress));
    Ok(Found { matches, nearest })
}

struct Search<'a> {
    target: &'a Target<'a>,
    pattern: &'a Pattern<'a>,
    assignment: Assignment<'a>,
    placements: Placements,
    progress: Progress,
    limits: Limits,
}

/// A step with the nodes that may be chosen for its root.
struct Level<'a> {
    candidates: Candidates<'a>,
    /// Chosen last.
    current: NodeId,
    /// To take that choice back.
    mark: usize,
}

impl<'a> Search<'a> {
    /// Looks for a match with `seed` for the first root. The first one in the order of candidates is taken.
    fn attempt(&mut self, seed: NodeId) -> Result<Option<Match>, MatchError> {
        let mut levels = vec![Level { candidates: Candidates::One(Some(seed)), current: seed, mark: 0 }];
        while let Some(level) = levels.last_mut() {
            self.assignment.undo(level.mark);
            let Some(candidate) = level.candidates.next() else {
                levels.pop();
                self.note_progress(&levels);
                continue;
            };
            level.current = candidate;
            let step = self.pattern.steps[levels.len() - 1];
            self.count_steps()?;
            if self.assignment.compare(step.root, candidate, Mode::Strict).mismatch.is_some() {
                continue;
            }
            let taken = levels.len();
            let (target, pattern, assignment) = (self.target, self.pattern, &mut self.assignment);
            let Some(&next) = pattern.steps.get(taken) else {
                match self.placements.place(target, pattern, assignment) {
                    Ok(found) => {
                        assignment.undo(0);
                        return Ok(Some(found));
                    }
                    Err(mismatch) => self.note_refusal(taken, mismatch),
                }
                continue;
            };
            match self.placements.may_have_place(target, pattern, assignment, taken) {
                Ok(()) => {
                    let candidates = candidates(target, assignment, next, seed);
                    levels.push(Level { candidates, current: candidate, mark: assignment.mark() });
                }
                Err(mismatch) => self.note_refusal(taken, mismatch),
            }
        }
        Ok(None)
    }

    fn count_steps(&self) -> Result<(), MatchError> {
        if self.assignment.compared > self.limits.comparisons {
            return Err(MatchError::TooAmbiguous { limit: self.limits.comparisons });
        }
        Ok(())
    }

    fn note_refusal(&mut self, steps: usize, mismatch: Mismatch) {
        if self.progress.refused.as_ref().is_none_or(|refusal| steps > refusal.steps) {
            let matched = self.assignment.nodes().iter().flatten().count();
            self.progress.refused = Some(Refusal { steps, matched, mismatch });
        }
    }

    fn note_progress(&mut self, levels: &[Level<'_>]) {
        if levels.len() > self.progress.chosen.len() {
            self.progress.chosen = levels.iter().map(|level| level.current).collect();
        }
    }
}

/// Nodes that come into question for the root of a step.
pub(super) enum Candidates<'a> {
    One(Option<NodeId>),
    /// Those nearest to `center` first: pieces that belong together are close to each other.
    Near {
        center: NodeId,
        /// In program order, all before the center.
        before: &'a [NodeId],
        /// In program order, the others.
        after: &'a [NodeId],
    },
    /// In program order. A node that uses the value twice is there twice, one after the other.
    Users(std::slice::Iter<'a, Use>, Option<NodeId>),
}

impl<'a> Candidates<'a> {
    fn near(center: NodeId, nodes: &'a [NodeId]) -> Self {
        let (before, after) = nodes.split_at(nodes.partition_point(|&node| node < center));
        Self::Near { center, before, after }
    }
}

impl Iterator for Candidates<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        match self {
            Self::One(node) => node.take(),
            Self::Near { center, before, after } => {
                let distance_before = before.last().map_or(u32::MAX, |node| center.0 - node.0);
                let distance_after = after.first().map_or(u32::MAX, |node| node.0 - center.0);
                if distance_before <= distance_after { before.split_off_last() } else { after.split_off_first() }
                    .copied()
            }
            Self::Users(uses, last) => {
                let node = uses.find_map(|&user| match user {
                    Use::Node(node) if Some(node) != *last => Some(node),
                    _ => None,
                })?;
                *last = Some(node);
                Some(node)
            }
        }
    }
}

/// Candidates for a step after the first, given what was chosen before it. `seed` stands for the root of the first.
pub(super) fn candidates<'a>(
    target: &'a Target<'_>,
    assignment: &Assignment<'_>,
    step: Step,
    seed: NodeId,
) -> Candidates<'a> {
    // An input may stand for a constant or a list, which has no list of users.
    let from = step.from.and_then(|value| assignment.partner(value)).and_then(Arg::as_value);
    match (from, assignment.op_of(step.root)) {
        (Some(value), _) => Candidates::Users(target.uses.of(value).iter(), None),
        (None, Some(op)) => Candidates::near(seed, target.nodes_of(op)),
        (None, None) => Candidates::One(None),
    }
}
