//! State of a submission.

use serde::{Deserialize, Serialize};

use crate::signature::SignedResult;

/// State of a submission, as a board reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// It waits for its evaluation, or is being evaluated.
    Waiting,
    /// It was evaluated, and the board shows it.
    Shown(SignedResult),
    /// It was evaluated in vain.
    Refused {
        /// The reason.
        reason: String,
    },
}
