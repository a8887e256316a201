//! Answers of a server, independent of its dialect.

use std::time::Duration;

use passnet_record::agent::{Finish, Reply, TokenUsage, ToolCall};
use serde_json::Value;

/// A usable answer.
#[derive(Debug)]
pub(super) struct ModelAnswer {
    pub(super) reply: Reply,
    pub(super) finish: Finish,
    /// `None` if the server does not report it.
    pub(super) usage: Option<TokenUsage>,
    pub(super) notes: Vec<String>,
}

/// Change to requests that a server asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adaptation {
    MaxCompletionTokens,
    NoTemperature,
    NoSeed,
    TextTools,
}

/// Failure of a request.
#[derive(Debug, PartialEq)]
pub(super) enum Problem {
    /// Temporary; retry after a pause.
    Passing { why: String, after: Option<Duration> },
    /// The address has no server: the connection is refused, or the host has no address.
    Unreachable(String),
    /// The server wants another form of request.
    Dialect(Adaptation),
    /// The conversation exceeds the context.
    TooLong(String),
    /// Permanent.
    Refused { status: u16, why: String },
}

impl Problem {
    pub(super) fn broken(why: impl Into<String>) -> Self {
        Self::Passing { why: why.into(), after: None }
    }
}

/// Maximum bytes of a server's message in an error.
const MAX_MESSAGE: usize = 600;

/// Classifies a status other than success.
pub(super) fn of_status(status: u16, body: &[u8], after: Option<Duration>) -> Problem {
    let why = error_text(body);
    let lower = why.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match status {
        // A used-up account answers 429 like a busy server, but waiting does not help.
        408 | 409 | 425 | 429 | 500..=599 if !says(&["insufficient_quota"]) => {
            Problem::Passing { why: format!("HTTP {status}: {why}"), after }
        }
        400 | 413 | 422 => {
            let too_long =
                ["context length", "context_length", "context window", "maximum context", "prompt is too long"];
            // Servers share no code for this error, so the message is searched.
            if says(&too_long) || (says(&["token"]) && says(&["exceed", "too long", "too many", "longer than"])) {
                Problem::TooLong(why)
            // The more specific names come first: the message about `max_completion_tokens` may also mention
            // others.
            } else if says(&["max_completion_tokens"]) {
                Problem::Dialect(Adaptation::MaxCompletionTokens)
            } else if says(&["temperature"]) {
                Problem::Dialect(Adaptation::NoTemperature)
            } else if says(&["seed"]) {
                Problem::Dialect(Adaptation::NoSeed)
            } else if says(&["tools", "tool_choice", "tool choice", "tool use", "function call"]) {
                Problem::Dialect(Adaptation::TextTools)
            } else {
                Problem::Refused { status, why }
            }
        }
        _ => Problem::Refused { status, why },
    }
}

/// Returns the message in the body of an error; servers put it in different fields.
pub(super) fn error_text(body: &[u8]) -> String {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let in_body = parsed.as_ref().map(|value| {
        // OpenAI nests the message in `error`, FastAPI servers such as vLLM use `detail`, others put it at
        // the top.
        let error = value.get("error").unwrap_or(value);
        let message = error.get("message").or_else(|| error.get("detail")).or_else(|| value.get("detail"));
        let message = message.or_else(|| value.get("message")).unwrap_or(error);
        let code = error.get("code").or_else(|| error.get("type")).and_then(Value::as_str);
        let text = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
        code.map_or(text.clone(), |code| format!("{text} ({code})"))
    });
    let text = in_body.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
    let text = if text.is_empty() { "without a message".to_owned() } else { text };
    text[..text.floor_char_boundary(MAX_MESSAGE)].to_owned()
}

/// Upper bound on counts from a server, so that sums do not overflow.
const MAX_COUNT: u64 = 1 << 40;

/// Reads a whole number that a server writes as an integer, a float, or text.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|f| *f >= 0.0).map(|f| f as u64))
        .or_else(|| value.as_str()?.parse().ok())
        .map(|count| count.min(MAX_COUNT))
}

/// Reads tool arguments from an object or JSON text; absent arguments are an empty object, malformed ones their text.
pub(super) fn arguments(value: Option<&Value>) -> Value {
    match value {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(Value::String(text)) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
        Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
            // Some servers encode twice.
            Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
                Ok(object @ Value::Object(_)) => object,
                _ => Value::String(inner),
            },
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(text.clone()),
        },
        Some(other) => other.clone(),
    }
}

/// Gives each call without a unique id a new one.
pub(super) fn name_calls(calls: &mut [ToolCall]) {
    for index in 0..calls.len() {
        let taken = calls[..index].iter().any(|other| other.id == calls[index].id);
        if calls[index].id.is_empty() || taken {
            calls[index].id = format!("call_{index}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_mean_what_they_should() {
        let of = |status, body: &str| of_status(status, body.as_bytes(), None);
        assert!(matches!(of(429, "slow down"), Problem::Passing { .. }));
        assert!(matches!(of(429, r#"{"error":{"code":"insufficient_quota","message":"m"}}"#), Problem::Refused { .. }));
        assert!(matches!(
            of(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#),
            Problem::Passing { .. }
        ));
        assert!(matches!(of(401, r#"{"error":{"message":"bad key"}}"#), Problem::Refused { status: 401, .. }));
        assert!(matches!(of(400, "This model's maximum context length is 8192 tokens"), Problem::TooLong(_)));
        assert!(matches!(of(400, "prompt is too long: 210000 tokens > 200000 maximum"), Problem::TooLong(_)));
        let text =
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}"#;
        assert_eq!(of(400, text), Problem::Dialect(Adaptation::MaxCompletionTokens));
        assert_eq!(of(400, "model does not support tools"), Problem::Dialect(Adaptation::TextTools));
        assert_eq!(of(400, "`temperature` must be 1"), Problem::Dialect(Adaptation::NoTemperature));
    }

    #[test]
    fn arguments_come_in_every_shape() {
        let object = json!({"a": 1});
        for value in [json!({"a": 1}), json!("{\"a\": 1}"), json!("\"{\\\"a\\\": 1}\"")] {
            assert_eq!(arguments(Some(&value)), object, "{value}");
        }
        assert_eq!(arguments(None), json!({}));
        assert_eq!(arguments(Some(&json!("{\"a\": "))), json!("{\"a\": "));
    }
}
