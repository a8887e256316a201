//! State of a submission.

use serde::{Deserialize, Serialize};

use crate::signature::SignedResult;

/// State of a submission, as a board reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SubmissionState {
    /// The submission waits for its evaluation, or is being evaluated.
    Waiting,
    /// The submission was evaluated, and the board shows it.
    Shown(SignedResult),
    /// The board cannot evaluate or show it.
    Refused { reason: String },
}
