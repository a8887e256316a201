//! The search for matches: one choice per step of the plan, with backtracking.

use super::{
    assignment::{Mismatch, Mode, PartialMatch},
    candidates::{Candidates, candidates},
    found::{Match, MatchError, Occurrences, SearchLimits},
    nearest::{DeepestStep, ReplacementRefusal, nearest},
    pattern::Pattern,
    placement::Placements,
    prepared::PreparedGraph,
};
use crate::NodeId;

impl PreparedGraph<'_> {
    /// Finds all matches of a pattern, in program order of the node that stands for the pattern's first sink. A sink is a node that no
    /// node of the pattern uses. Of overlapping matches, only the first counts.
    ///
    /// # Errors
    /// If the search exceeds `limits`.
    pub fn find(&self, pattern: &Pattern<'_>, limits: SearchLimits) -> Result<Occurrences, MatchError> {
        find(self, pattern, limits)
    }
}

fn find(target: &PreparedGraph<'_>, pattern: &Pattern<'_>, limits: SearchLimits) -> Result<Occurrences, MatchError> {
    let mut search = MatchSearch {
        target,
        pattern,
        assignment: PartialMatch::new(target, pattern),
        placements: Placements::default(),
        progress: DeepestStep::default(),
        limits,
    };
    let mut matches = Vec::new();
    if let Some(op) = search.assignment.op_of(pattern.steps[0].root) {
        for &seed in target.nodes_of(op) {
            matches.extend(search.attempt(seed)?);
        }
    }
    let nearest = matches.is_empty().then(|| nearest(target, pattern, &mut search.assignment, search.progress));
    Ok(Occurrences { matches, nearest })
}

struct MatchSearch<'a> {
    target: &'a PreparedGraph<'a>,
    pattern: &'a Pattern<'a>,
    assignment: PartialMatch<'a>,
    placements: Placements,
    progress: DeepestStep,
    limits: SearchLimits,
}

/// A step with the nodes that may be chosen for its root.
struct ChoicePoint<'a> {
    candidates: Candidates<'a>,
    /// The node that was chosen last.
    current: NodeId,
    /// Mark to undo the last choice.
    mark: usize,
}

impl<'a> MatchSearch<'a> {
    /// Searches for a match with `seed` for the first root. Returns the first one in the order of candidates.
    fn attempt(&mut self, seed: NodeId) -> Result<Option<Match>, MatchError> {
        // A stack instead of recursion: a pattern may have thousands of steps.
        let mut levels = vec![ChoicePoint { candidates: Candidates::One(Some(seed)), current: seed, mark: 0 }];
        while let Some(level) = levels.last_mut() {
            // Undoes the last choice of this level. Before the first candidate, there is nothing to undo.
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
            // The place is checked at each step: if there is none for the choices so far, further choices cannot help.
            match self.placements.may_have_place(target, pattern, assignment, taken) {
                Ok(()) => {
                    let candidates = candidates(target, assignment, next, seed);
                    levels.push(ChoicePoint { candidates, current: candidate, mark: assignment.mark() });
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
        // The first refusal at the deepest step is kept, so that the report of the nearest miss does not depend on later refusals that
        // are equally good.
        if self.progress.refused.as_ref().is_none_or(|refusal| steps > refusal.steps) {
            let matched = self.assignment.nodes().iter().flatten().count();
            self.progress.refused = Some(ReplacementRefusal { steps, matched, mismatch });
        }
    }

    fn note_progress(&mut self, levels: &[ChoicePoint<'_>]) {
        if levels.len() > self.progress.chosen.len() {
            self.progress.chosen = levels.iter().map(|level| level.current).collect();
        }
    }
}
