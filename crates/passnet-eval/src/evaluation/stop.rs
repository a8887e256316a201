//! Reasons to stop an evaluation.

use std::io;

use passnet_inputs::Content;
use passnet_record::Status;

use crate::{
    block::BlockError,
    error::EvalError,
    failure::{Failure, of_candidate, of_reference},
    judge::PairError,
    worker::WorkerFault,
};

/// Reason to end an evaluation early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The evaluation has an outcome other than `correct`.
    Failure(Failure),
    /// The graph itself crashed its worker on this adversarial content. The evaluation may work without the content.
    Skip(Content),
    /// The evaluation has no outcome: the machine or the fork server is at fault.
    Fault(WorkerFault),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<PairError> for Stop {
    fn from(error: PairError) -> Self {
        match error {
            PairError::Failure(failure) => Self::Failure(failure),
            PairError::Io(error) => Self::Fault(error.into()),
        }
    }
}

impl Stop {
    /// Returns the outcome, or the reason why there is none.
    pub(crate) fn into_failure(self) -> Result<Failure, EvalError> {
        match self {
            Self::Failure(failure) => Ok(failure),
            Self::Skip(content) => {
                let message = format!("the graph itself cannot be run on `{content}` inputs");
                Ok(Failure::new(Status::ReferenceError, "raised", message))
            }
            Self::Fault(WorkerFault::Zygote(error)) => Err(error.into()),
            Self::Fault(fault) => Err(io::Error::other(fault.to_string()).into()),
        }
    }
}

/// Conversion of a fault of one side into a reason to stop.
pub(super) trait OrStop<T> {
    fn reference(self, phase: &str) -> Result<T, Stop>;
    fn candidate(self, phase: &str) -> Result<T, Stop>;
}

impl<T> OrStop<T> for Result<T, WorkerFault> {
    fn reference(self, phase: &str) -> Result<T, Stop> {
        self.map_err(|fault| of_reference(fault, phase).map_or_else(Stop::Fault, Stop::Failure))
    }

    fn candidate(self, phase: &str) -> Result<T, Stop> {
        self.map_err(|fault| of_candidate(fault, phase).map_or_else(Stop::Fault, Stop::Failure))
    }
}

/// Returns the reason to stop if inputs cannot be made: the sample or the machine is at fault.
pub(super) fn block_stop(error: BlockError) -> Stop {
    match &error {
        BlockError::Input(error) => Failure::new(Status::ReferenceError, "bad_metadata", error.to_string()).into(),
        BlockError::TooLarge { .. } => {
            Failure::new(Status::ReferenceError, "inputs_too_large", error.to_string()).into()
        }
        // The error of the system does not name the operation that failed.
        BlockError::Io(cause) => Stop::Fault(io::Error::new(cause.kind(), error.to_string()).into()),
    }
}
