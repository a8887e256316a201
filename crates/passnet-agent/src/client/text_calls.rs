//! Tool calls in the text, for models whose server does not parse them.

use passnet_record::agent::{Reply, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use super::answer::arguments;

/// Returns the instructions for a model without native tool calls.
pub(super) fn instructions(tools: &[ToolSpec]) -> String {
    let tools: Vec<String> = tools.iter().map(|tool| json!(tool).to_string()).collect();
    format!(
        "# Tools\n\nThese functions can be called:\n<tools>\n{}\n</tools>\n\nTo call one, write a JSON object with its name and \
         arguments between tags:\n<tool_call>\n{{\"name\": \"NAME\", \"arguments\": {{...}}}}\n</tool_call>",
        tools.join("\n")
    )
}

/// Writes a reply as text, calls included.
pub(super) fn render(reply: &Reply) -> String {
    let calls = reply
        .tool_calls
        .iter()
        .map(|call| format!("<tool_call>\n{}\n</tool_call>", json!({"name": call.name, "arguments": call.arguments})));
    let parts: Vec<String> =
        Some(reply.content.clone()).filter(|text| !text.is_empty()).into_iter().chain(calls).collect();
    parts.join("\n")
}

/// Splits reasoning between `<think>` tags from the rest. The opening tag may be missing: some templates put it into the
/// prompt.
pub(super) fn split_thinking(content: &str) -> (Option<String>, String) {
    let Some((before, after)) = content.split_once("</think>") else {
        return (None, content.to_owned());
    };
    let thinking = before.trim_start().strip_prefix("<think>").unwrap_or(before).trim();
    (Some(thinking.to_owned()).filter(|text| !text.is_empty()), after.trim_start().to_owned())
}

/// Splits calls of known tools from a text. A call of an unknown tool stays text.
pub(super) fn parse(content: &str, tools: &[ToolSpec]) -> (String, Vec<ToolCall>) {
    let known = |name: &str| tools.iter().any(|tool| tool.name == name);
    // From the most explicit form to the least: a bare JSON object is a call only if nothing else is.
    for find in [tagged, functions, bracketed, fenced, whole] {
        let (rest, calls) = find(content);
        // Only calls of known tools: models also quote code in these forms.
        if !calls.is_empty() && calls.iter().all(|call| known(&call.name)) {
            return (rest.trim().to_owned(), calls);
        }
    }
    (content.to_owned(), Vec::new())
}

fn call_of(value: &Value) -> Option<ToolCall> {
    let value = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
    let name = value.get("name").and_then(Value::as_str)?.to_owned();
    let sent = value.get("arguments").or_else(|| value.get("parameters")).or_else(|| value.get("input"));
    Some(ToolCall { id: String::new(), name, arguments: arguments(sent) })
}

fn calls_in(json: &str) -> Vec<ToolCall> {
    // Only the first value counts: models tend to continue after it.
    let first = serde_json::Deserializer::from_str(json.trim()).into_iter::<Value>().next();
    match first {
        Some(Ok(Value::Array(items))) => items.iter().filter_map(call_of).collect(),
        Some(Ok(value)) => call_of(&value).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns the text outside of two tags, and the pieces between them; the last closing tag may be missing.
fn between<'a>(content: &'a str, open: &str, close: &str) -> (String, Vec<&'a str>) {
    let (mut outside, mut pieces, mut rest) = (String::new(), Vec::new(), content);
    while let Some((before, after)) = rest.split_once(open) {
        outside.push_str(before);
        let (piece, behind) = after.split_once(close).unwrap_or((after, ""));
        pieces.push(piece);
        rest = behind;
    }
    outside.push_str(rest);
    (outside, pieces)
}

/// `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` (Hermes, Qwen), also around `<function=...>`.
fn tagged(content: &str) -> (String, Vec<ToolCall>) {
    let (outside, pieces) = between(content, "<tool_call>", "</tool_call>");
    let calls = pieces.into_iter().flat_map(|piece| {
        let calls = calls_in(piece);
        if calls.is_empty() { functions(piece).1 } else { calls }
    });
    (outside, calls.collect())
}

/// `<function=NAME><parameter=KEY>VALUE</parameter></function>` (Qwen3-Coder, R2E-Gym).
fn functions(content: &str) -> (String, Vec<ToolCall>) {
    let (outside, pieces) = between(content, "<function=", "</function>");
    let calls = pieces.into_iter().filter_map(|piece| {
        let (name, inside) = piece.split_once('>')?;
        let (_, parameters) = between(inside, "<parameter=", "</parameter>");
        let arguments: Map<String, Value> = parameters
            .into_iter()
            .filter_map(|parameter| {
                let (key, text) = parameter.split_once('>')?;
                let text = text.strip_prefix('\n').unwrap_or(text);
                Some((key.trim().to_owned(), text.strip_suffix('\n').unwrap_or(text).into()))
            })
            .collect();
        Some(ToolCall { id: String::new(), name: name.trim().to_owned(), arguments: arguments.into() })
    });
    (outside, calls.collect())
}

/// `[TOOL_CALLS] [{...}]` (Mistral) and `<|python_tag|>{...}` (Llama).
fn bracketed(content: &str) -> (String, Vec<ToolCall>) {
    let split = content.split_once("[TOOL_CALLS]").or_else(|| content.split_once("<|python_tag|>"));
    split.map_or((String::new(), Vec::new()), |(before, json)| (before.to_owned(), calls_in(json)))
}

/// Returns a fenced block of JSON that is a call.
fn fenced(content: &str) -> (String, Vec<ToolCall>) {
    let (outside, pieces) = between(content, "```", "```");
    let json = |piece: &'_ str| {
        let (language, text) = piece.split_once('\n').unwrap_or(("", piece));
        if matches!(language.trim(), "" | "json" | "tool_call" | "tool_code") { calls_in(text) } else { Vec::new() }
    };
    let calls: Vec<ToolCall> = pieces.into_iter().flat_map(json).collect();
    (outside, calls)
}

/// A text that is a call and nothing else.
fn whole(content: &str) -> (String, Vec<ToolCall>) {
    let trimmed = content.trim();
    let calls = if trimmed.starts_with(['{', '[']) { calls_in(trimmed) } else { Vec::new() };
    (String::new(), calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<ToolSpec> {
        vec![ToolSpec { name: "edit".to_owned(), description: String::new(), parameters: json!({}) }]
    }

    #[test]
    fn calls_are_found_in_every_notation() {
        let expected = json!({"path": "a.py"});
        for text in [
            "I edit.\n<tool_call>\n{\"name\": \"edit\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>",
            "I edit. <tool_call>{\"name\": \"edit\", \"arguments\": \"{\\\"path\\\": \\\"a.py\\\"}\"}",
            "I edit.\n<function=edit>\n<parameter=path>\na.py\n</parameter>\n</function>",
            "I edit. <tool_call><function=edit><parameter=path>a.py</parameter></function></tool_call>",
            "I edit. [TOOL_CALLS] [{\"name\": \"edit\", \"arguments\": {\"path\": \"a.py\"}}]",
            "I edit. <|python_tag|>{\"name\": \"edit\", \"parameters\": {\"path\": \"a.py\"}}",
            "I edit.\n```json\n{\"name\": \"edit\", \"arguments\": {\"path\": \"a.py\"}}\n```",
        ] {
            let (rest, calls) = parse(text, &tools());
            assert_eq!(rest, "I edit.", "{text}");
            assert_eq!((calls.len(), &calls[0].arguments), (1, &expected), "{text}");
        }
        assert_eq!(parse("{\"name\": \"edit\", \"arguments\": {}}", &tools()).1.len(), 1);
    }

    #[test]
    fn other_text_stays_text() {
        for text in [
            "a pass: ```python\nx = 1\n```",
            "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>",
            "<tool_call>not json</tool_call>",
            "{\"a\": 1}",
        ] {
            assert_eq!(parse(text, &tools()), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn reasoning_is_split_from_the_answer() {
        assert_eq!(split_thinking("<think>\nhm\n</think>\n\nyes"), (Some("hm".to_owned()), "yes".to_owned()));
        assert_eq!(split_thinking("hm</think>yes"), (Some("hm".to_owned()), "yes".to_owned()));
        assert_eq!(split_thinking("yes"), (None, "yes".to_owned()));
    }
}
