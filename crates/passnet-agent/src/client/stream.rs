//! Server-sent events, for servers that always stream.

use serde_json::{Map, Value, json};

use super::answer::Problem;

/// Joins a stream of chunks into one answer. A stream that ends before the answer is an error.
pub(super) fn joined(text: &str) -> Result<Value, Problem> {
    let mut message = Map::new();
    let mut calls: Vec<Value> = Vec::new();
    let (mut finish, mut usage, mut done) = (Value::Null, Value::Null, false);
    for data in text.lines().filter_map(|line| line.strip_prefix("data:")) {
        let data = data.trim();
        if data == "[DONE]" {
            done = true;
            break;
        }
        let chunk: Value = serde_json::from_str(data)
            .map_err(|error| Problem::broken(format!("a chunk of the stream is not JSON: {error}")))?;
        // The caller reads errors in the same place of a streamed and of a whole answer.
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(chunk);
        }
        if let Some(said) = chunk.get("usage").filter(|usage| usage.is_object()) {
            usage = said.clone();
        }
        let Some(choice) = chunk.pointer("/choices/0") else { continue };
        if let Some(reason) = choice.get("finish_reason").filter(|reason| reason.is_string()) {
            finish = reason.clone();
        }
        let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) else { continue };
        for name in ["content", "reasoning_content", "reasoning", "refusal"] {
            if let Some(piece) = delta.get(name).and_then(Value::as_str) {
                append(message.entry(name).or_insert_with(|| "".into()), piece);
            }
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            add_call(&mut calls, piece);
        }
    }
    // A broken connection must not turn half an answer into the model's reply.
    if finish.is_null() && !done {
        return Err(Problem::broken("the stream ended before the answer did"));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Ok(json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}))
}

/// Maximum calls of one answer.
const MAX_CALLS: usize = 128;

fn add_call(calls: &mut Vec<Value>, piece: &Value) {
    let index = piece.get("index").and_then(Value::as_u64).map_or(calls.len(), |index| index as usize);
    if index >= MAX_CALLS {
        return;
    }
    // Pieces name their call by a number that the server chooses. The limit above is for this reason.
    while calls.len() <= index {
        calls.push(json!({"id": "", "function": {"name": "", "arguments": ""}}));
    }
    for (from, to) in
        [("/id", "/id"), ("/function/name", "/function/name"), ("/function/arguments", "/function/arguments")]
    {
        if let (Some(Value::String(piece)), Some(place)) = (piece.pointer(from), calls[index].pointer_mut(to)) {
            append(place, piece);
        }
    }
}

fn append(place: &mut Value, piece: &str) {
    if let Value::String(text) = place {
        text.push_str(piece);
    }
}
