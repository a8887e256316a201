//! Messages of a conversation, independent of the provider.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Instructions for the model. Only the first message is of this kind.
    System {
        /// Text.
        content: String,
    },
    /// A message of the harness: the task, or a note.
    User {
        /// Text.
        content: String,
    },
    /// A message of the model.
    Assistant(Reply),
    /// Answer of a tool.
    Tool {
        /// The call that this answers.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// Text.
        content: String,
    },
}

impl Message {
    /// Returns the text of the message.
    pub fn content(&self) -> &str {
        match self {
            Self::System { content } | Self::User { content } | Self::Tool { content, .. } => content,
            Self::Assistant(reply) => &reply.content,
        }
    }

    /// Returns `system`, `user`, `assistant` or `tool`.
    pub const fn role(&self) -> &'static str {
        match self {
            Self::System { .. } => "system",
            Self::User { .. } => "user",
            Self::Assistant(_) => "assistant",
            Self::Tool { .. } => "tool",
        }
    }

    /// Returns the approximate number of bytes that the model reads for this message.
    pub fn size(&self) -> usize {
        const ENVELOPE: usize = 16;
        let calls = match self {
            Self::Assistant(reply) => {
                reply.tool_calls.iter().map(|call| call.name.len() + json_len(&call.arguments)).sum()
            }
            _ => 0,
        };
        ENVELOPE + self.content().len() + calls
    }
}

fn json_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_len(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + 4 + json_len(value)).sum::<usize>() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
    }
}

/// A message of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Text for the reader.
    pub content: String,
    /// Reasoning of the model, if the provider returns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tool calls in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The provider's form of this message, which has to be returned unchanged (Anthropic signs its reasoning).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Value>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id of the call, unique inside the conversation.
    pub id: String,
    /// Name of the tool, known or not.
    pub name: String,
    /// Arguments: an object, or the text that was sent if it is not a JSON object.
    pub arguments: Value,
}

/// Description of a tool for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name.
    pub name: String,
    /// Description of the tool.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
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
    /// The provider's filter stopped the answer, or the model refused.
    Filtered,
    /// The reason was not reported.
    Unknown,
}

/// Tokens and money that requests used.
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
    /// True if the server did not count tokens, so that their numbers are estimated from the number of bytes.
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
            // An unknown cost counts as 0 if the other cost is known, because a lower bound is more useful than no value.
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_round_trip() {
        let call = ToolCall { id: "c1".to_owned(), name: "f".to_owned(), arguments: json!({"a": 1}) };
        let reply = Reply { content: "x".to_owned(), tool_calls: vec![call], ..Reply::default() };
        for message in [
            Message::System { content: "s".to_owned() },
            Message::Assistant(reply),
            Message::Tool { call_id: "c1".to_owned(), name: "f".to_owned(), content: "y".to_owned() },
        ] {
            let text = serde_json::to_string(&message).unwrap();
            assert!(text.starts_with(&format!("{{\"role\":\"{}\"", message.role())), "{text}");
            assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        }
    }
}
