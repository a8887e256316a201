//! Requests that the environment does not serve.

use passnet_eval::EvalError;
use serde_json::{Value, json};

use crate::devices::Busy;

/// Reason why a request was not served.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The request is not valid, or the referee does not work.
    Error(String),
    /// The client has to come back later.
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

impl Refusal {
    pub(super) fn reply(self) -> Value {
        match self {
            Self::Error(message) => json!({"error": message}),
            Self::Busy(Busy { quota, retry_after, message }) => json!({
                "error": message,
                "busy": if quota { "quota" } else { "queue" },
                "retry_after_s": retry_after.as_secs(),
            }),
        }
    }
}
