//! Requests that the environment does not serve.

use passnet_eval::EvalError;
use passnet_record::env::{BusyReason, RefusedReply};

use crate::devices::Busy;

/// Reason why a request was not served.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The request is not valid, or the referee does not work.
    Error(String),
    /// The client has to retry later.
    Busy(Busy),
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Error(message)
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Self {
        Self::Error(message.to_owned())
    }
}

impl From<EvalError> for Refusal {
    fn from(error: EvalError) -> Self {
        Self::Error(error.to_string())
    }
}

impl From<Refusal> for RefusedReply {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Error(message) => Self::error(message),
            Refusal::Busy(Busy { quota, retry_after, message }) => Self {
                error: message,
                busy: Some(if quota { BusyReason::Quota } else { BusyReason::Queue }),
                retry_after_s: Some(retry_after.as_secs()),
            },
        }
    }
}
