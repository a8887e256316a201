//! Limits on the texts and calls of one reply, so that no reply fills the journal or the context.

use passnet_record::agent::Reply;
use serde_json::Value;

use crate::{shorten::shortened, tools::MAX_CALLS};

/// Maximum bytes of one text in a call. It exceeds the limit of a file, so a text that is cut here is refused.
const MAX_ARGUMENT: usize = 512 << 10;
/// Maximum bytes of a reply's text that stay in the conversation.
const MAX_TEXT: usize = 128 << 10;

/// Bounds the text of a reply. Calls beyond the limit are dropped, so that each call in the conversation has its answer.
pub(super) fn bounded(mut reply: Reply, notes: &mut Vec<String>) -> Reply {
    if reply.content.len() > MAX_TEXT {
        reply.content = shortened(&reply.content, MAX_TEXT);
        notes.push("text_shortened".to_owned());
    }
    if let Some(reasoning) = reply.reasoning.as_mut().filter(|reasoning| reasoning.len() > MAX_TEXT) {
        *reasoning = shortened(reasoning, MAX_TEXT);
    }
    reply.tool_calls.iter_mut().for_each(|call| bound_texts(&mut call.arguments));
    if reply.tool_calls.len() > MAX_CALLS {
        reply.tool_calls.truncate(MAX_CALLS);
        // The provider's own blocks still have the calls that were dropped, and would ask for their results.
        reply.native = None;
        notes.push("calls_dropped".to_owned());
    }
    reply
}

fn bound_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_ARGUMENT => *text = shortened(text, MAX_ARGUMENT),
        Value::Array(items) => items.iter_mut().for_each(bound_texts),
        Value::Object(fields) => fields.values_mut().for_each(bound_texts),
        _ => {}
    }
}
