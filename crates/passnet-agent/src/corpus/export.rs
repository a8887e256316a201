//! Trajectories in the forms that trainers read. `docs/reference/trajectories.md` describes them.

use passnet_record::agent::{Message, Style, Trajectory};
use serde_json::{Value, json};

use crate::{
    client::{openai_message, text_of},
    style::{self, learnt_messages},
    trajectory::conduct_of,
};

/// A form of training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `messages` as in chat completions, `tools` as JSON text: TRL, and services for fine-tuning.
    OpenAi,
    /// `conversations` with `from` and `value`, calls written as text.
    ShareGpt,
}

/// Returns one line of training data.
pub fn example(trajectory: &Trajectory, format: Format) -> Value {
    match format {
        Format::OpenAi => {
            let messages: Vec<Value> = trajectory.messages.iter().map(even_message).collect();
            json!({
                // Datasets libraries infer one schema for a column, so every row has the same fields and
                // types.
                "messages": messages,
                // As text: schemas of different tools do not fit one column.
                "tools": tools(trajectory),
                "loss_mask": mask(trajectory),
                "id": trajectory.id,
                "task": trajectory.setup.task.id,
                "score": trajectory.score,
                "reward": trajectory.reward.value,
                "conduct": conduct_of(trajectory),
                "style": style_name(trajectory),
            })
        }
        Format::ShareGpt => {
            let turns = trajectory.messages.iter().zip(learnt_messages(trajectory)).map(|(message, learnt)| {
                let value = match message {
                    Message::Assistant(reply) => text_of(reply),
                    Message::Tool { content, .. } => format!("<tool_response>\n{content}\n</tool_response>"),
                    Message::System { content } | Message::User { content } => content.clone(),
                };
                let from = match message.role() {
                    "user" => "human",
                    "assistant" => "gpt",
                    other => other,
                };
                json!({"from": from, "value": value, "loss": learnt})
            });
            json!({"conversations": turns.collect::<Vec<_>>(), "tools": tools(trajectory), "id": trajectory.id, "conduct": conduct_of(trajectory), "style": style_name(trajectory)})
        }
    }
}

/// Returns the tools in the form of chat completions, as JSON text.
fn tools(trajectory: &Trajectory) -> String {
    let tools: Vec<Value> =
        trajectory.setup.tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
    Value::from(tools).to_string()
}

/// Returns 1 for each message that is learnt from, 0 for the others.
fn mask(trajectory: &Trajectory) -> Vec<u8> {
    learnt_messages(trajectory).into_iter().map(u8::from).collect()
}

/// Returns the name of a trajectory's style; `unsolved` if its passes are not right in the end.
fn style_name(trajectory: &Trajectory) -> &'static str {
    style::style_of(trajectory).map_or("unsolved", Style::name)
}

/// Returns a message whose content is always text, so that all rows have one type.
fn even_message(message: &Message) -> Value {
    let mut value = openai_message(message);
    if let Some(content) = value.get_mut("content").filter(|content| content.is_null()) {
        *content = "".into();
    }
    value
}
