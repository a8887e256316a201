//! The chat-completions dialects: OpenAI's own, and those of vLLM, SGLang, llama.cpp, and hosted servers.

use passnet_record::agent::{Finish, Message, Reply, TokenUsage, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use super::{
    answer::{ModelAnswer, Problem, arguments, count, error_text, name_calls},
    text_calls::{self, split_thinking},
};

/// Peculiarities of a server, learnt from its refusals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quirks {
    pub(super) max_completion_tokens: bool,
    pub(super) no_temperature: bool,
    pub(super) no_seed: bool,
    pub(super) text_tools: bool,
}

/// Parameters of a request, without the conversation.
#[derive(Clone, Debug)]
pub(super) struct RequestParameters<'a> {
    pub(super) model: &'a str,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: u32,
    pub(super) seed: u64,
    pub(super) quirks: Quirks,
}

/// Builds the body of a request.
pub(super) fn body(parameters: &RequestParameters<'_>, messages: &[Message], tools: &[ToolSpec]) -> Value {
    let quirks = parameters.quirks;
    let mut body = Map::new();
    body.insert("model".to_owned(), parameters.model.into());
    let messages: Vec<Value> = if quirks.text_tools {
        messages.iter().map(|message| as_text(message, tools)).collect()
    } else {
        messages.iter().map(as_native).collect()
    };
    body.insert("messages".to_owned(), messages.into());
    if !quirks.text_tools && !tools.is_empty() {
        let tools = tools.iter().map(|tool| json!({"type": "function", "function": tool}));
        body.insert("tools".to_owned(), tools.collect());
        body.insert("tool_choice".to_owned(), "auto".into());
    }
    let limit = if quirks.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body.insert(limit.to_owned(), parameters.max_tokens.into());
    if let (Some(temperature), false) = (parameters.temperature, quirks.no_temperature) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if !quirks.no_seed {
        // Every server accepts 31 bits.
        body.insert("seed".to_owned(), (parameters.seed & 0x7fff_ffff).into());
    }
    Value::Object(body)
}

fn as_native(message: &Message) -> Value {
    match message {
        Message::System { content } | Message::User { content } => json!({"role": message.role(), "content": content}),
        Message::Tool { call_id, content, .. } => json!({"role": "tool", "tool_call_id": call_id, "content": content}),
        Message::Assistant(reply) if reply.tool_calls.is_empty() => {
            json!({"role": "assistant", "content": reply.content})
        }
        Message::Assistant(reply) => {
            let calls = reply.tool_calls.iter().map(|call| {
                let function = json!({"name": call.name, "arguments": as_object(&call.arguments).to_string()});
                json!({"id": call.id, "type": "function", "function": function})
            });
            // Some servers refuse an empty text next to calls.
            let content = if reply.content.is_empty() { Value::Null } else { reply.content.as_str().into() };
            json!({"role": "assistant", "content": content, "tool_calls": calls.collect::<Vec<_>>()})
        }
    }
}

/// Returns a message in native form, with the reasoning in the field that chat templates read.
pub(super) fn message_with_reasoning(message: &Message) -> Value {
    let mut value = as_native(message);
    if let (Message::Assistant(Reply { reasoning: Some(reasoning), .. }), Some(fields)) =
        (message, value.as_object_mut())
    {
        fields.insert("reasoning_content".to_owned(), reasoning.as_str().into());
    }
    if let (Message::Tool { name, .. }, Some(fields)) = (message, value.as_object_mut()) {
        fields.insert("name".to_owned(), name.as_str().into());
    }
    value
}

/// Returns arguments as the object that chat templates expect; malformed arguments keep their text.
pub(super) fn as_object(arguments: &Value) -> Value {
    if arguments.is_object() { arguments.clone() } else { json!({"not_understood": arguments}) }
}

fn as_text(message: &Message, tools: &[ToolSpec]) -> Value {
    let content = match message {
        Message::System { content } => format!("{content}\n\n{}", text_calls::instructions(tools)),
        Message::User { content } => content.clone(),
        Message::Tool { name, content, .. } => {
            return json!({"role": "user", "content": format!("<tool_response name=\"{name}\">\n{content}\n</tool_response>")});
        }
        Message::Assistant(reply) => text_calls::render(reply),
    };
    json!({"role": message.role(), "content": content})
}

/// Reads an answer. Calls written into the text count if `text_tools` is set: the model was asked to write them there.
pub(super) fn parse(body: &[u8], tools: &[ToolSpec], text_tools: bool) -> Result<ModelAnswer, Problem> {
    let text = std::str::from_utf8(body).map_err(|_| Problem::broken("the answer is not UTF-8"))?;
    let value: Value = if text.trim_start().starts_with("data:") || text.trim_start().starts_with("event:") {
        super::stream::joined(text)?
    } else {
        serde_json::from_str(text).map_err(|error| Problem::broken(format!("the answer is not JSON: {error}")))?
    };
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        // Proxies answer 200 and put the status of the server behind them into the body.
        let status = count(error.get("code")).and_then(|code| u16::try_from(code).ok());
        let why = error_text(body);
        return Err(match status {
            Some(status) if (400..600).contains(&status) => super::answer::of_status(status, body, None),
            _ => Problem::broken(why),
        });
    }
    let choice = value.pointer("/choices/0").ok_or_else(|| Problem::broken("the answer has no choices"))?;
    let message = choice.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| Problem::broken("the answer has no message"))?;
    let mut notes = Vec::new();
    let (thinking, content) = split_thinking(&content_text(message.get("content")));
    let field =
        |name: &str| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let reasoning = field("reasoning_content").or_else(|| field("reasoning")).or(thinking);
    let mut reply = Reply { content, reasoning, tool_calls: native_calls(message), native: None };
    if reply.tool_calls.is_empty() {
        // Looked for even without text tools, so that the note shows why a model that writes calls as text
        // makes no progress.
        let (content, calls) = text_calls::parse(&reply.content, tools);
        if !calls.is_empty() && text_tools {
            notes.push("text_tool_call".to_owned());
            (reply.content, reply.tool_calls) = (content, calls);
        } else if !calls.is_empty() {
            notes.push("text_tool_call_ignored".to_owned());
        }
    }
    if reply.content.is_empty() && reply.tool_calls.is_empty() {
        // Without it the refusal would look like an empty answer.
        reply.content = field("refusal").unwrap_or_default();
    }
    name_calls(&mut reply.tool_calls);
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        // Some servers say `stop` although they return calls.
        _ if !reply.tool_calls.is_empty() => Finish::ToolCalls,
        Some("stop" | "eos" | "end_turn") => Finish::Stop,
        Some("tool_calls" | "function_call") => Finish::ToolCalls,
        Some("length" | "max_tokens") => Finish::Length,
        Some("content_filter") => Finish::Filtered,
        _ => Finish::Unknown,
    };
    Ok(ModelAnswer { reply, finish, usage: value.get("usage").and_then(usage), notes })
}

/// Returns the text of a message: a string, a list of parts, or absent.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts =
                parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str).or_else(|| part.as_str()));
            texts.collect::<Vec<_>>().join("")
        }
        _ => String::new(),
    }
}

fn native_calls(message: &Value) -> Vec<ToolCall> {
    let of = |call: &Value| {
        // Some servers flatten the call and rename its arguments.
        let function = call.get("function").unwrap_or(call);
        let name = function.get("name").and_then(Value::as_str)?.trim().to_owned();
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let sent = function.get("arguments").or_else(|| function.get("parameters")).or_else(|| function.get("input"));
        Some(ToolCall { id, name, arguments: arguments(sent) })
    };
    match (message.get("tool_calls"), message.get("function_call")) {
        (Some(Value::Array(calls)), _) => calls.iter().filter_map(of).collect(),
        (Some(call @ Value::Object(_)), _) | (_, Some(call @ Value::Object(_))) => of(call).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let first = |names: &[&str]| names.iter().find_map(|name| count(value.pointer(name)));
    Some(TokenUsage {
        input: first(&["/prompt_tokens", "/input_tokens"])?,
        output: first(&["/completion_tokens", "/output_tokens"]).unwrap_or(0),
        cached: first(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"]).unwrap_or(0),
        cache_written: 0,
        estimated: false,
        cost_usd: value.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0),
    })
}
