//! Messages of the environment server, one JSON object per request and reply (`docs/reference/trajectories.md`).
//!
//! ```text
//! {"op": "tasks"}                                     -> TasksReply
//! {"op": "reset", "task": T}                          -> ResetReply
//! {"op": "step", "session": S, "action": A}           -> StepReply
//! {"op": "close", "session": S}                       -> CloseReply
//! ```
//!
//! A request may have an `id`; its reply repeats it. A request that is not served is answered with a [`RefusedReply`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{Reward, TaskCheck, TaskEvaluation, ToolSpec};

/// Version of these messages.
pub const ENV_PROTOCOL: u32 = 1;

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum EnvRequest {
    /// Lists the tasks.
    Tasks,
    /// Begins an episode.
    Reset(ResetRequest),
    /// Carries out an action of an episode.
    Step(StepRequest),
    /// Ends an episode and releases its state.
    Close {
        /// Number of the episode.
        session: u64,
    },
}

impl EnvRequest {
    /// Names of the operations, as in the field `op`.
    pub const OPERATIONS: [&str; 4] = ["tasks", "reset", "step", "close"];
}

/// Request for an episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetRequest {
    /// Name of the task.
    pub task: String,
    /// Name of the client, for the shares and quotas of a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// `training` or `batch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
}

/// Request to carry out an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRequest {
    /// Number of the episode.
    pub session: u64,
    /// Answer of a model: a chat message (an object with `content` and `tool_calls`, in the dialect of any server), or its text.
    pub action: Value,
    /// Name of this action. If a request has the same key as the previous request, it gets the same reply, and the action is not carried
    /// out again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Envelope of every reply: its version, and the `id` of the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvReply<T> {
    /// [`ENV_PROTOCOL`] of the server. Absent in replies of servers before version 1 was written.
    #[serde(default)]
    pub schema_version: u32,
    /// `id` of the request, any JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    #[serde(flatten)]
    pub body: T,
}

impl<T> EnvReply<T> {
    /// Returns the reply to a request.
    pub const fn new(id: Option<Value>, body: T) -> Self {
        Self { schema_version: ENV_PROTOCOL, id, body }
    }
}

/// Tasks of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksReply {
    /// Names, in the order of the suite.
    pub tasks: Vec<String>,
}

/// Beginning of an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResetReply {
    /// Number of the episode.
    pub session: u64,
    /// The prompt, as messages of the chat completions API.
    pub messages: Vec<Value>,
    pub tools: Vec<ChatTool>,
}

/// A tool in the form of the chat completions API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatTool {
    #[serde(rename = "type")]
    pub kind: ChatToolKind,
    pub function: ToolSpec,
}

/// Kinds of tools that the API has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatToolKind {
    Function,
}

impl From<ToolSpec> for ChatTool {
    fn from(function: ToolSpec) -> Self {
        Self { kind: ChatToolKind::Function, function }
    }
}

/// Reply to an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReply {
    /// Results of the tools, as messages of the chat completions API, to be appended to the conversation.
    pub messages: Vec<Value>,
    /// Increase of the best reward. At the last action, the difference to the final measurement.
    pub reward: f64,
    /// True if the episode is over.
    pub done: bool,
    pub info: StepInfo,
}

/// Facts about an action that are not part of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepInfo {
    /// Number of actions so far.
    pub step: u32,
    /// Largest number of actions.
    pub steps: u32,
    /// Evaluations of this action.
    pub evaluations: Vec<TaskEvaluation>,
    /// Checks without timing that this action made.
    pub checks: Vec<TaskCheck>,
    /// Codes of the integrity rules that judged states broke.
    pub rules_broken: Vec<String>,
    /// Score of the best state so far, on the visible graphs.
    pub score: Option<f64>,
    /// Sum of the rewards of the episode.
    #[serde(rename = "return")]
    pub total: f64,
    /// Reward of the best state so far with its interval, over all graphs.
    pub interval: Reward,
}

/// Reply to the end of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseReply {}

/// Reply to a request that was not served and had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedReply {
    pub error: String,
    /// Present if the same request may be served later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<BusyReason>,
    /// Seconds after which the client should try again; present with `busy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

impl RefusedReply {
    /// Returns the reply to a request that can never be served.
    pub fn error(message: impl Into<String>) -> Self {
        Self { error: message.into(), busy: None, retry_after_s: None }
    }
}

/// Reason why a request has to be sent again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusyReason {
    /// The client has as many actions in progress as it may have.
    Quota,
    /// The queue of all clients is full.
    Queue,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_of_version_1_are_read() {
        let read = |value: Value| serde_json::from_value::<EnvRequest>(value).unwrap();
        assert_eq!(read(json!({"op": "tasks", "id": 3})), EnvRequest::Tasks);
        assert_eq!(read(json!({"op": "close", "session": 7})), EnvRequest::Close { session: 7 });
        let reset = ResetRequest { task: "a".to_owned(), client: Some("host:1".to_owned()), priority: None };
        assert_eq!(read(json!({"op": "reset", "task": "a", "client": "host:1", "id": "x"})), EnvRequest::Reset(reset));
        let step = StepRequest { session: 1, action: json!("text"), key: None };
        assert_eq!(read(json!({"op": "step", "session": 1, "action": "text"})), EnvRequest::Step(step));
        for name in EnvRequest::OPERATIONS {
            let error =
                serde_json::from_value::<EnvRequest>(json!({"op": name, "session": 1, "task": "a", "action": 1}));
            assert!(error.is_ok(), "{name}");
        }
    }

    fn json_of(reply: &impl Serialize) -> Value {
        serde_json::to_value(reply).unwrap()
    }

    #[test]
    fn replies_are_one_flat_object() {
        let tool = ToolSpec { name: "t".to_owned(), description: "d".to_owned(), parameters: json!({}) };
        let reset = ResetReply { session: 2, messages: Vec::new(), tools: vec![tool.into()] };
        let expected = json!({"schema_version": 1, "id": 4, "session": 2, "messages": [],
            "tools": [{"type": "function", "function": {"name": "t", "description": "d", "parameters": {}}}]});
        assert_eq!(json_of(&EnvReply::new(Some(json!(4)), reset)), expected);
        assert_eq!(json_of(&EnvReply::new(None, CloseReply {})), json!({"schema_version": 1}));
        let busy = RefusedReply { busy: Some(BusyReason::Quota), retry_after_s: Some(5), ..RefusedReply::error("m") };
        let expected = json!({"schema_version": 1, "error": "m", "busy": "quota", "retry_after_s": 5});
        assert_eq!(json_of(&EnvReply::new(None, busy)), expected);
        // The first versions of the server wrote no version.
        let old: EnvReply<TasksReply> = serde_json::from_value(json!({"id": 0, "tasks": ["a"]})).unwrap();
        assert_eq!((old.schema_version, old.body.tasks), (0, vec!["a".to_owned()]));
    }
}
