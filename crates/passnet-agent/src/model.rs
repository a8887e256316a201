//! What answers: a language model over HTTP, or something that behaves like one.

use std::{ops::AddAssign, sync::atomic::AtomicBool, time::Duration};

use serde::{Deserialize, Serialize};

use crate::message::{Message, Reply, ToolSpec};

/// Something that continues a conversation. Shared by all attempts of a run.
pub trait Model: Sync {
    /// Name, as it goes into records.
    fn name(&self) -> &str;

    /// The next message.
    ///
    /// # Errors
    /// When no usable answer was had, retries included.
    fn complete(&self, request: &Request<'_>) -> Result<Completion, ModelError>;
}

/// A question to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The task, for models that are not asked over HTTP.
    pub task: &'a str,
    /// Which attempt at it, for the same.
    pub attempt: u32,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// Tools that it may call.
    pub tools: &'a [ToolSpec],
    /// Seed of sampling, where the server takes one.
    pub seed: u64,
    /// Gives up when this becomes true.
    pub stop: &'a AtomicBool,
    /// Gives up when this much time has passed, retries included.
    pub time_left: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The message.
    pub reply: Reply,
    /// Why the model stopped.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
    /// The body as received; empty where the model is not asked over HTTP.
    pub raw: Vec<u8>,
    /// Requests that failed before this one.
    pub retries: u32,
    /// From the first request to the answer, waiting included.
    pub latency_ns: u64,
    /// Things about the answer that were put right, e.g. `text_tool_call`.
    pub notes: Vec<String>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// It ran into the limit on tokens.
    Length,
    /// A filter of the provider, or a refusal.
    Filtered,
    /// Not said.
    Unknown,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cached: u64,
    /// Tokens written to the provider's cache.
    pub cache_written: u64,
    /// The server did not say; estimated from the number of bytes.
    pub estimated: bool,
    /// US dollars: as the server says, else by the prices given; `None` where neither is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Tokens read and written.
    pub const fn tokens(&self) -> u64 {
        self.input + self.output
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
        self.cache_written += other.cache_written;
        self.estimated |= other.estimated;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The server refuses: key, model name, or request.
    #[error("the server refuses (HTTP {status}): {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it says.
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
        /// What was wrong with the last one.
        last: String,
    },
    /// Somebody said stop, or the time is up.
    #[error("stopped while waiting for the model")]
    Stopped,
}
