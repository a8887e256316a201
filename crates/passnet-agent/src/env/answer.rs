//! Requests as text to types, and answers to text.

use passnet_record::env::{
    BusyReason, CloseReply, EnvReply, EnvRequest, RefusedReply, ResetReply, StepReply, TasksReply,
};
use serde::Serialize;
use serde_json::Value;

/// Answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvAnswer {
    pub(super) id: Option<Value>,
    pub(super) body: EnvBody,
}

/// Content of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EnvBody {
    Tasks(TasksReply),
    Reset(ResetReply),
    Step(Box<StepReply>),
    Close(CloseReply),
    Refused(RefusedReply),
}

impl EnvAnswer {
    /// Returns the answer to a text that is not a request.
    pub(crate) fn error(message: &str) -> Self {
        Self { id: None, body: EnvBody::Refused(RefusedReply::error(message)) }
    }

    /// Returns the answer as JSON, without a line break.
    pub fn to_json(&self) -> String {
        match &self.body {
            EnvBody::Tasks(reply) => self.line(reply),
            EnvBody::Reset(reply) => self.line(reply),
            EnvBody::Step(reply) => self.line(reply),
            EnvBody::Close(reply) => self.line(reply),
            EnvBody::Refused(reply) => self.line(reply),
        }
    }

    fn line(&self, body: &impl Serialize) -> String {
        // Plain data: writing it as JSON does not fail.
        serde_json::to_string(&EnvReply::new(self.id.clone(), body)).unwrap_or_default()
    }

    /// Returns why the request may be served later, and after how many seconds; `None` for all other answers.
    pub fn busy(&self) -> Option<(BusyReason, u64)> {
        match &self.body {
            EnvBody::Refused(reply) => reply.busy.zip(reply.retry_after_s),
            _ => None,
        }
    }
}

/// Reads a request, and the `id` that its answer has to repeat.
pub(super) fn read_request(text: &str) -> (Option<Value>, Result<EnvRequest, String>) {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return (None, Err(format!("the request is not JSON: {error}"))),
    };
    let id = value.get("id").cloned();
    let operations = EnvRequest::OPERATIONS.join(", ");
    let request = match value.get("op").and_then(Value::as_str) {
        None => Err(format!("a request has an `op`: {operations}")),
        Some(name) if !EnvRequest::OPERATIONS.contains(&name) => {
            Err(format!("there is no op `{name}`; there are {operations}"))
        }
        Some(name) => {
            let name = name.to_owned();
            serde_json::from_value(value).map_err(|error| format!("`{name}`: {error}; docs/reference/trajectories.md"))
        }
    };
    (id, request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_none_is_refused_with_its_id() {
        let check = |text: &str, id: Option<Value>, part: &str| {
            let (found, request) = read_request(text);
            let error = request.unwrap_err();
            assert!(found == id && error.contains(part), "{text}: {error}");
        };
        check("{", None, "not JSON");
        check("[]", None, "has an `op`: tasks, reset, step, close");
        check(r#"{"op": "steps", "id": 3}"#, Some(3.into()), "no op `steps`");
        check(r#"{"op": "step", "id": "a", "session": 1}"#, Some("a".into()), "missing field `action`");
        check(r#"{"op": "reset", "task": "a", "client": 3}"#, None, "invalid type");
        assert_eq!(read_request(r#"{"op": "tasks", "id": null}"#), (Some(Value::Null), Ok(EnvRequest::Tasks)));
    }

    #[test]
    fn only_a_refusal_for_now_is_busy() {
        let answer = |body| EnvAnswer { id: None, body: EnvBody::Refused(body) };
        assert_eq!(answer(RefusedReply::error("m")).busy(), None);
        let busy = RefusedReply { busy: Some(BusyReason::Queue), retry_after_s: Some(5), ..RefusedReply::error("m") };
        assert_eq!(answer(busy).busy(), Some((BusyReason::Queue, 5)));
    }
}
