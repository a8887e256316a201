//! The Anthropic messages API.

use passnet_record::agent::{Finish, Message, Reply, TokenUsage, ToolCall, ToolSpec};
use serde_json::{Value, json};

use super::{
    answer::{ModelAnswer, Problem, arguments, count, error_text, name_calls},
    openai::{RequestParameters, as_object},
};

/// Version of the interface.
pub(super) const VERSION: &str = "2023-06-01";

/// Builds the body of a request. Everything up to the last message is marked for the provider's cache.
pub(super) fn body(parameters: &RequestParameters<'_>, messages: &[Message], tools: &[ToolSpec]) -> Value {
    let system: Vec<&str> = messages.iter().filter(|m| m.role() == "system").map(Message::content).collect();
    let mut body = json!({
        "model": parameters.model,
        "max_tokens": parameters.max_tokens,
        "system": [{"type": "text", "text": system.join("\n\n"), "cache_control": {"type": "ephemeral"}}],
        "messages": turns(messages),
        "tools": tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        }).collect::<Vec<_>>(),
    });
    if let (Some(temperature), false) = (parameters.temperature, parameters.quirks.no_temperature) {
        body["temperature"] = temperature.into();
    }
    body
}

/// Merges messages into alternating turns: results of parallel calls share one.
fn turns(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, mut blocks) = match message {
            Message::System { .. } => continue,
            Message::User { content } => ("user", vec![json!({"type": "text", "text": content})]),
            Message::Tool { call_id, content, .. } => {
                // The interface refuses empty text.
                let content = if content.is_empty() { "(nothing)" } else { content };
                ("user", vec![json!({"type": "tool_result", "tool_use_id": plain_id(call_id), "content": content})])
            }
            Message::Assistant(reply) => ("assistant", assistant(reply)),
        };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.append(&mut blocks),
            _ => turns.push((role, blocks)),
        }
    }
    // The mark moves to the end with each request: the next one then finds all but its last turn in the
    // cache.
    if let Some(block) = turns.last_mut().and_then(|(_, blocks)| blocks.last_mut()).and_then(Value::as_object_mut) {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn assistant(reply: &Reply) -> Vec<Value> {
    // Signed reasoning has to be sent back unchanged, so the blocks are not built from the parsed reply.
    if let Some(Value::Array(blocks)) = &reply.native {
        return blocks.clone();
    }
    let text = Some(json!({"type": "text", "text": reply.content})).filter(|_| !reply.content.trim().is_empty());
    let calls = reply.tool_calls.iter().map(|call| {
        json!({"type": "tool_use", "id": plain_id(&call.id), "name": call.name, "input": as_object(&call.arguments)})
    });
    let blocks: Vec<Value> = text.into_iter().chain(calls).collect();
    // The interface refuses a turn without blocks, for example after a filtered answer.
    if blocks.is_empty() { vec![json!({"type": "text", "text": "(nothing)"})] } else { blocks }
}

/// Replaces characters that the interface does not accept in an id.
fn plain_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// Reads an answer.
pub(super) fn parse(body: &[u8]) -> Result<ModelAnswer, Problem> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| Problem::broken(format!("the answer is not JSON: {error}")))?;
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Problem::broken(error_text(body)));
    }
    let blocks =
        value.get("content").and_then(Value::as_array).ok_or_else(|| Problem::broken("the answer has no content"))?;
    let of_kind = |kind: &str, field: &str| -> Vec<String> {
        let kind = blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some(kind));
        kind.filter_map(|block| block.get(field).and_then(Value::as_str)).map(str::to_owned).collect()
    };
    let calls = blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"));
    let mut tool_calls: Vec<ToolCall> = calls
        .filter_map(|block| {
            let name = block.get("name").and_then(Value::as_str)?.to_owned();
            let id = block.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            Some(ToolCall { id, name, arguments: arguments(block.get("input")) })
        })
        .collect();
    name_calls(&mut tool_calls);
    let thinking = of_kind("thinking", "thinking").join("\n");
    let finish = match value.get("stop_reason").and_then(Value::as_str) {
        _ if !tool_calls.is_empty() => Finish::ToolCalls,
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens") => Finish::Length,
        Some("refusal") => Finish::Filtered,
        _ => Finish::Unknown,
    };
    let reply = Reply {
        content: of_kind("text", "text").join("\n"),
        reasoning: Some(thinking).filter(|text| !text.is_empty()),
        tool_calls,
        // Reasoning is signed: the provider wants its own blocks back.
        native: Some(Value::Array(blocks.clone())).filter(|_| !of_kind("thinking", "signature").is_empty()),
    };
    Ok(ModelAnswer { reply, finish, usage: value.get("usage").and_then(usage), notes: Vec::new() })
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let field = |name: &str| count(value.get(name));
    let (cached, written) =
        (field("cache_read_input_tokens").unwrap_or(0), field("cache_creation_input_tokens").unwrap_or(0));
    Some(TokenUsage {
        // The interface counts cached tokens separately.
        input: field("input_tokens")? + cached + written,
        output: field("output_tokens").unwrap_or(0),
        cached,
        cache_written: written,
        estimated: false,
        cost_usd: None,
    })
}
