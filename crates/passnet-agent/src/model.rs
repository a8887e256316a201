//! Interface to a language model.

use std::{ops::AddAssign, sync::atomic::AtomicBool, time::Duration};

use serde::{Deserialize, Serialize};

use crate::message::{Message, Reply, ToolSpec};

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

/// Reason why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// The model calls tools.
    ToolCalls,
    /// The token limit was reached.
    Length,
    /// The provider's filter or a refusal.
    Filtered,
    /// Not reported.
    Unknown,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens from the provider's cache.
    pub cached: u64,
    /// Input tokens that were written to the provider's cache.
    pub cache_written: u64,
    /// True if the server did not count: estimated from the number of bytes.
    pub estimated: bool,
    /// Cost in US dollars, as reported by the server or computed from prices; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl TokenUsage {
    /// Returns input and output tokens together.
    pub const fn tokens(&self) -> u64 {
        self.input + self.output
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
        self.cache_written += other.cache_written;
        self.estimated |= other.estimated;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            // Unknown costs count as 0 next to known ones: a lower bound is of more use than nothing.
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// Error of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The server refuses: key, model name, or request.
    #[error("the server refuses (HTTP {status}): {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Message of the server.
        message: String,
    },
    /// The conversation is longer than the model's context.
    #[error("the conversation is too long for the model: {0}")]
    TooLong(String),
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
