//! The client: OpenAI-compatible chat completions and the Anthropic messages API over HTTP.
//!
//! Servers differ in what they omit, wrap or rename. The client reads every known dialect, drops the parameters that a server
//! refuses, and retries everything else with growing pauses.

mod answer;
mod anthropic;
mod http;
mod key;
mod openai;
mod stream;
mod text_calls;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

pub use self::key::{ApiKey, KeyError};
use passnet_record::agent::{Message, Reply, TokenUsage, ToolSpec};

use self::{
    answer::{Adaptation, ModelAnswer, Problem},
    openai::{Quirks, RequestParameters},
};
use crate::model::{Completion, LanguageModel, ModelError, Request};

/// Interface of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatApi {
    /// `POST {base}/chat/completions`.
    OpenAi,
    /// `POST {base}/v1/messages`.
    Anthropic,
}

impl ChatApi {
    /// Returns the interface of the provider that has a model of this name. A user's own server has the interface of OpenAI.
    pub fn of_model(model: &str, own_server: bool) -> Self {
        if model.starts_with("claude") && !own_server { Self::Anthropic } else { Self::OpenAi }
    }

    /// Returns the address of the provider.
    pub const fn url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// Returns the environment variable that usually has the provider's key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens from the provider's cache.
    pub cached: f64,
}

/// Address and parameters of a model.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Name of the model, as the server knows it.
    pub model: String,
    /// Address of the server; for [`ChatApi::OpenAi`] including the version, such as `http://localhost:8000/v1`.
    pub base_url: String,
    /// Interface of the server.
    pub api: ChatApi,
    /// API key.
    pub key: ApiKey,
    /// Temperature of sampling; `None` for the server's default.
    pub temperature: Option<f64>,
    /// Maximum tokens of one answer.
    pub max_tokens: u32,
    /// Describe tools in the prompt and read calls from the text, for servers without tool calls.
    pub text_tools: bool,
    /// Time limit of one request.
    pub timeout: Duration,
    /// Retries after a temporary failure.
    pub retries: u32,
    /// Pause before the first retry; doubles each time.
    pub backoff: Duration,
    /// Prices, if known.
    pub prices: Option<Prices>,
}

/// Maximum pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Tries to connect to a server that has not answered yet. A wrong address is more likely than a server that starts.
const CONNECTION_TRIES: u32 = 3;
/// Maximum pause between these tries.
const CONNECTION_PAUSE: Duration = Duration::from_secs(1);
/// Interval at which a pause checks for a stop request.
const NAP: Duration = Duration::from_millis(50);
/// Approximate bytes per token, for servers that do not count.
const BYTES_PER_TOKEN: usize = 4;
/// Maximum adaptations to a server in one request.
const MAX_ADAPTATIONS: u32 = 4;

/// A model behind a server.
#[derive(Debug)]
pub struct ModelClient {
    options: ClientOptions,
    agent: ureq::Agent,
    url: String,
    quirks: Mutex<Quirks>,
    /// True once the server has answered.
    is_reached: AtomicBool,
}

impl ModelClient {
    /// Creates a client; nothing is sent yet.
    pub fn new(options: ClientOptions) -> Self {
        // Users give addresses with and without the path of the interface.
        let base = options.base_url.trim_end_matches('/');
        let url = match options.api {
            ChatApi::OpenAi if base.ends_with("/chat/completions") => base.to_owned(),
            ChatApi::OpenAi => format!("{base}/chat/completions"),
            ChatApi::Anthropic => format!("{}/v1/messages", base.trim_end_matches("/v1")),
        };
        let quirks = Mutex::new(Quirks { text_tools: options.text_tools, ..Quirks::default() });
        Self { agent: http::agent(options.timeout), url, quirks, is_reached: AtomicBool::new(false), options }
    }

    fn quirks(&self) -> Quirks {
        *self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an adaptation; returns false if the request had it already.
    fn adapt(&self, adaptation: Adaptation, asked: Quirks) -> bool {
        let mut quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        let (flag, before) = match adaptation {
            Adaptation::MaxCompletionTokens => (&mut quirks.max_completion_tokens, asked.max_completion_tokens),
            Adaptation::NoTemperature => (&mut quirks.no_temperature, asked.no_temperature),
            Adaptation::NoSeed => (&mut quirks.no_seed, asked.no_seed),
            Adaptation::TextTools => (&mut quirks.text_tools, asked.text_tools),
        };
        *flag = true;
        !before
    }

    fn ask(&self, request: &Request<'_>, quirks: Quirks, timeout: Duration) -> Result<(ModelAnswer, Vec<u8>), Problem> {
        let options = &self.options;
        let parameters = RequestParameters {
            model: &options.model,
            temperature: options.temperature,
            max_tokens: options.max_tokens,
            seed: request.seed,
            quirks,
        };
        let secret = options.key.reveal();
        let (body, headers) = match options.api {
            ChatApi::OpenAi => {
                let headers = secret.map(|key| ("authorization", format!("Bearer {key}")));
                (openai::body(&parameters, request.messages, request.tools), headers.into_iter().collect())
            }
            ChatApi::Anthropic => {
                let mut headers = vec![("anthropic-version", anthropic::VERSION.to_owned())];
                headers.extend(secret.map(|key| ("x-api-key", key.to_owned())));
                (anthropic::body(&parameters, request.messages, request.tools), headers)
            }
        };
        let body = body.to_string();
        let response = http::post(&self.agent, &self.url, &headers, body.as_bytes(), timeout)?;
        self.is_reached.store(true, Ordering::Relaxed);
        if !(200..300).contains(&response.status) {
            return Err(answer::of_status(response.status, &response.body, response.retry_after));
        }
        let mut answer = match options.api {
            ChatApi::OpenAi => openai::parse(&response.body, request.tools, quirks.text_tools)?,
            ChatApi::Anthropic => anthropic::parse(&response.body)?,
        };
        // Limits on tokens must hold for servers that report none, too.
        let usage = answer.usage.get_or_insert_with(|| estimate(&body, &response.body));
        if usage.cost_usd.is_none() {
            usage.cost_usd = options.prices.map(|prices| cost(usage, prices));
        }
        Ok((answer, response.body))
    }

    fn completion(&self, answer: ModelAnswer, raw: &[u8], retries: u32, begin: Instant) -> Completion {
        // The raw answer goes to a file that may be published, and some servers repeat the headers of a request.
        let raw = self.hide(String::from_utf8_lossy(raw).into_owned()).into_bytes();
        Completion {
            reply: answer.reply,
            finish: answer.finish,
            usage: answer.usage.unwrap_or_default(),
            raw,
            retries,
            latency_ns: begin.elapsed().as_nanos() as u64,
            notes: answer.notes,
        }
    }

    fn hide(&self, text: String) -> String {
        self.options.key.hide(text)
    }
}

impl LanguageModel for ModelClient {
    fn name(&self) -> &str {
        &self.options.model
    }

    fn complete(&self, request: &Request<'_>) -> Result<Completion, ModelError> {
        let begin = Instant::now();
        let (mut retries, mut adaptations) = (0, 0);
        loop {
            let left = request.time_left.saturating_sub(begin.elapsed());
            if left.is_zero() || request.stop.load(Ordering::Relaxed) {
                return Err(ModelError::Stopped);
            }
            // Read again for each try, because another thread may have learnt more about the server.
            let quirks = self.quirks();
            let (why, after) = match self.ask(request, quirks, self.options.timeout.min(left)) {
                Ok((answer, raw)) => return Ok(self.completion(answer, &raw, retries, begin)),
                Err(Problem::TooLong(why)) => return Err(ModelError::TooLong(self.hide(why))),
                Err(Problem::Refused { status, why }) => {
                    return Err(ModelError::Refused { status, message: self.hide(why) });
                }
                Err(Problem::Dialect(adaptation)) => {
                    // An adaptation is not a failure, so it costs no retry and no pause. Its own limit stops
                    // servers that contradict themselves.
                    adaptations += 1;
                    if !self.adapt(adaptation, quirks) || adaptations > MAX_ADAPTATIONS {
                        let message =
                            format!("it asks for {adaptation:?} and keeps asking after the request was adapted");
                        return Err(ModelError::Refused { status: 400, message });
                    }
                    tracing::debug!("the server asks for {adaptation:?}");
                    continue;
                }
                Err(Problem::Unreachable(why)) if !self.is_reached.load(Ordering::Relaxed) => {
                    if retries + 1 >= CONNECTION_TRIES {
                        return Err(ModelError::Unreachable { url: self.hide(self.url.clone()), why: self.hide(why) });
                    }
                    (why, Some(self.options.backoff.min(CONNECTION_PAUSE)))
                }
                // A server that has answered before probably restarts.
                Err(Problem::Unreachable(why)) => (why, None),
                Err(Problem::Passing { why, after }) => (why, after),
            };
            retries += 1;
            let why = self.hide(why);
            if retries > self.options.retries {
                return Err(ModelError::Exhausted { tries: retries, last: why });
            }
            // The server's own hint comes first. Without a hint the pauses grow.
            let pause = after.unwrap_or_else(|| pause(self.options.backoff, retries, request.seed));
            tracing::warn!("try {retries} failed: {why}; the next one in {pause:.1?}");
            if !sleep(pause.min(request.time_left.saturating_sub(begin.elapsed())), request.stop) {
                return Err(ModelError::Stopped);
            }
        }
    }
}

/// Sleeps; returns false on a stop request.
fn sleep(pause: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + pause;
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(NAP));
    }
}

/// Returns the pause before a retry: twice as long each time, spread by up to a quarter so that many clients do not retry
/// together.
fn pause(first: Duration, tries: u32, seed: u64) -> Duration {
    let pause = first.saturating_mul(1 << (tries - 1).min(16)).min(MAX_PAUSE);
    // From the seed and not from a clock or random numbers, so that runs are repeatable. The factor is that of
    // Fibonacci hashing.
    let mixed = (seed ^ u64::from(tries)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    pause.mul_f64(1.0 + mixed as f64 / 1024.0)
}

fn estimate(sent: &str, received: &[u8]) -> TokenUsage {
    let tokens = |bytes: usize| (bytes / BYTES_PER_TOKEN) as u64;
    TokenUsage { input: tokens(sent.len()), output: tokens(received.len()), estimated: true, ..TokenUsage::default() }
}

fn cost(usage: &TokenUsage, prices: Prices) -> f64 {
    // Cached tokens are part of the input and have a separate price.
    let fresh = usage.input.saturating_sub(usage.cached) as f64;
    (fresh * prices.input + usage.cached as f64 * prices.cached + usage.output as f64 * prices.output) / 1e6
}

/// Returns a message in the chat-completions form, as training data has it.
pub fn openai_message(message: &Message) -> Value {
    openai::message_with_reasoning(message)
}

/// Writes a reply as text, calls included.
pub fn text_of(reply: &Reply) -> String {
    text_calls::render(reply)
}

/// Reads an action from a chat message (a string, or an object with `content` and `tool_calls`) in any dialect, calls in the
/// text included.
pub fn reply_of(action: &Value, tools: &[ToolSpec]) -> Option<Reply> {
    let message = match action {
        Value::String(_) => serde_json::json!({"content": action}),
        Value::Object(_) => action.clone(),
        _ => return None,
    };
    let body = serde_json::json!({"choices": [{"message": message}]}).to_string();
    openai::parse(body.as_bytes(), tools, true).ok().map(|answer| answer.reply)
}
