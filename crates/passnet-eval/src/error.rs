//! The error of evaluations.

use std::io;

use passnet_inputs::UnknownContent;

use crate::zygote_config::ZygoteError;

/// Reason for an evaluation without a verdict. Neither the candidate nor the graph is at fault.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The fork server does not work.
    #[error(transparent)]
    Zygote(#[from] ZygoteError),
    /// An operation of the system failed.
    #[error("cannot evaluate: {0}")]
    Io(#[from] io::Error),
    /// The settings name contents that do not exist.
    #[error(transparent)]
    Content(#[from] UnknownContent),
}
