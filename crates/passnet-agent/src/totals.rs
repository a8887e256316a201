//! Totals of a run while it is under way.

use std::fmt;

use passnet_record::{
    agent::{JournalEvent, TokenUsage},
    counted,
};

use crate::run::Update;

/// Counts over the updates of a run. `Display` is one line for people.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    steps: usize,
    evaluations: usize,
    suspended: usize,
    usage: TokenUsage,
    ended: usize,
    /// Sum of the logarithms of the scores of ended attempts.
    log_score: f64,
}

impl Totals {
    /// Counts an update.
    pub fn add(&mut self, update: &Update<'_>) {
        match update {
            Update::Event { event: JournalEvent::Reply { usage, .. }, .. } => {
                self.steps += 1;
                self.usage += *usage;
            }
            Update::Event { event: JournalEvent::Observed { observation, .. }, .. } => {
                self.evaluations += usize::from(observation.outcome.evaluation.is_some());
            }
            Update::Event { .. } => {}
            Update::Ended(trajectory) => {
                self.ended += 1;
                self.log_score += trajectory.score.ln();
            }
            Update::Suspended(_) => self.suspended += 1,
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The score comes first: a narrow terminal cuts the line off at its end.
        if self.ended > 0 {
            write!(f, "score {:.3}, ", (self.log_score / self.ended as f64).exp())?;
        }
        let (steps, evaluations) = (counted(self.steps, "step"), counted(self.evaluations, "evaluation"));
        write!(f, "{steps}, {evaluations}, {}", counted(self.usage.tokens() as usize, "token"))?;
        if let Some(cost) = self.usage.cost_usd {
            write!(f, ", ${cost:.2}")?;
        }
        if self.suspended > 0 {
            write!(f, ", {} suspended", self.suspended)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Suspended;

    #[test]
    fn the_line_has_only_parts_that_are_known() {
        let mut totals = Totals::default();
        assert_eq!(totals.to_string(), "0 steps, 0 evaluations, 0 tokens");
        let suspended = Suspended { task: "t".to_owned(), attempt: 0, why: "no answer".to_owned() };
        totals.add(&Update::Suspended(&suspended));
        assert_eq!(totals.to_string(), "0 steps, 0 evaluations, 0 tokens, 1 suspended");
        (totals.ended, totals.log_score) = (2, 4.0_f64.ln());
        assert!(totals.to_string().starts_with("score 2.000, "), "{totals}");
    }
}
