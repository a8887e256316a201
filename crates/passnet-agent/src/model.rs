//! Interface to a language model.

use std::{sync::atomic::AtomicBool, time::Duration};

use passnet_record::agent::{Finish, Message, Reply, TokenUsage, ToolSpec};

/// A model that continues a conversation; shared by all attempts of a run.
pub trait LanguageModel: Sync {
    /// Returns the name of the model, as recorded.
    fn name(&self) -> &str;

    /// Returns the next message.
    ///
    /// # Errors
    /// Fails if there is no usable answer after all retries.
    fn complete(&self, request: &Request<'_>) -> Result<Completion, ModelError>;
}

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the task, for models without HTTP.
    pub task: &'a str,
    /// Number of the attempt, for models without HTTP.
    pub attempt: u32,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// Tools that it may call.
    pub tools: &'a [ToolSpec],
    /// Seed of sampling, if the server accepts one.
    pub seed: u64,
    /// Stop request: the model gives up when this becomes true.
    pub stop: &'a AtomicBool,
    /// Time limit, retries included.
    pub time_left: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The message.
    pub reply: Reply,
    /// Reason why the model stopped.
    pub finish: Finish,
    /// Tokens and cost.
    pub usage: TokenUsage,
    /// Body as received; empty for models without HTTP.
    pub raw: Vec<u8>,
    /// Requests that failed before this one.
    pub retries: u32,
    /// Time from the first request to the answer, pauses included.
    pub latency_ns: u64,
    /// Corrections that the client made to the answer, e.g. `text_tool_call`.
    pub notes: Vec<String>,
}

/// Error of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The server refuses: key, model name, or request.
    #[error("the server refused the request (HTTP {status}): {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Message of the server.
        message: String,
    },
    /// The conversation is longer than the model's context.
    #[error("the conversation is too long for the model: {0}")]
    TooLong(String),
    /// The address has no server.
    #[error("there is no server at {url}: {why}; start the server, or correct its address")]
    Unreachable {
        /// Address of the server.
        url: String,
        /// Failure of the connection.
        why: String,
    },
    /// All retries failed.
    #[error("no usable answer after {tries} tries; the last one: {last}")]
    Exhausted {
        /// Requests made.
        tries: u32,
        /// Failure of the last request.
        last: String,
    },
    /// Stop request, or the time is up.
    #[error("stopped while waiting for the model")]
    Stopped,
}
