//! Counts of the passes that were timed against eager mode, and of those that lost.

use std::fmt;

use passnet_record::counted;

/// Outcome of a call of [`Confirmer::passes`](super::Confirmer::passes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confirmed {
    /// Number of passes that were timed.
    pub timed: usize,
    /// Number of passes that were dropped, or planned again without some operations.
    pub dropped: usize,
    /// Passes that lost, including those that stay because nothing else matches: task and reason.
    pub losses: Vec<String>,
}

impl fmt::Display for Confirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} timed against eager mode, {} dropped", counted(self.timed, "pass"), self.dropped)?;
        self.losses.iter().try_for_each(|pass| write!(f, "\n  {pass}"))
    }
}
