//! Records of a leaderboard: signed results, and the answers of its server (`docs/reference/board.md`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{AuthorSpec, ContentId, RunMetadata};

/// Version of [`ResultStatement`].
pub const RESULT_VERSION: u32 = 1;

/// Result of a submission on the hidden graphs of a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultStatement {
    /// Version of this record, 1.
    pub schema_version: u32,
    /// Id of the submitted bundle.
    pub bundle: ContentId,
    /// Run on the board's pages.
    pub run: String,
    /// Author, as the bundle names it.
    pub author: AuthorSpec,
    /// Description of the run.
    pub metadata: RunMetadata,
    /// Name of the hidden suite.
    pub suite: String,
    /// Version of the hidden suite.
    pub suite_version: String,
    /// Accelerator, or CPU where there is none.
    pub device: String,
    /// Number of hidden graphs.
    pub graphs: usize,
    /// Number of hidden graphs that are correct.
    pub correct: usize,
    /// Sound score; absent if the measurements have no intervals.
    pub sound: Option<f64>,
    /// Lower and upper end of the 95 % interval of the sound score.
    pub interval: Option<[f64; 2]>,
    /// AS, the published score.
    pub aggregated: f64,
    /// BLAKE3 hash of the log that the board shows.
    pub log: ContentId,
    /// Time at which the evaluation ended, RFC 3339, UTC.
    pub at: String,
}

/// A statement as text, and its Ed25519 signature (RFC 8032) in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedResult {
    /// JSON of a [`ResultStatement`], byte for byte as it was signed.
    pub statement: String,
    /// Signature of the bytes of `statement`; 64 bytes in hexadecimal.
    pub signature: String,
    /// Public key; 32 bytes in hexadecimal.
    pub key: String,
}

/// State of a submission, as a board reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SubmissionState {
    /// The submission waits for its evaluation, or is being evaluated.
    Waiting,
    /// The submission was evaluated, and the board shows it.
    Shown(SignedResult),
    /// The board cannot evaluate or show the submission.
    Refused { reason: String },
}

impl fmt::Display for SubmissionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown(_) => write!(f, "evaluated and shown"),
            Self::Refused { reason } => write!(f, "not shown: {reason}"),
            Self::Waiting => write!(f, "still waits"),
        }
    }
}

/// Answer of a board to a submission: an id, or the reason of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardReply {
    /// Id of the bundle, if the submission was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ContentId>,
    /// Reason why the submission was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
