//! The teacher: presents the built-in author's passes as a model would develop them.
//!
//! The teacher implements [`LanguageModel`]: it inspects a graph, writes a first draft, evaluates it, and continues to a faster or a
//! corrected draft. It repeats only numbers from observations, so that each number is measured.

mod edit;
mod lesson;
mod slip;
mod source;
mod speech;

use std::{collections::BTreeMap, time::Instant};

use passnet_record::{
    PassDirectory,
    agent::{Finish, Message, Reply, Style, TokenUsage, ToolCall},
};
use serde_json::{Value, json};

use self::{
    edit::{Edit, edits},
    speech::{LastObservations, analysis, conclusion, first_line, measured, refinement, rule},
};
pub use self::{
    lesson::{Approach, Draft, Lesson, lessons},
    slip::Slip,
};
use crate::{
    model::{Completion, LanguageModel, ModelError, Request},
    trajectory::replies,
};

/// Maximum edits in one reply; an attempt carries out sixteen calls.
const MAX_EDITS: usize = 12;

/// A model that gives lessons by task and attempt.
#[derive(Debug, Default)]
pub struct Teacher {
    lessons: BTreeMap<(String, u32), Lesson>,
}

impl Teacher {
    /// Creates a teacher of these lessons.
    pub fn new(lessons: impl IntoIterator<Item = ((String, u32), Lesson)>) -> Self {
        Self { lessons: lessons.into_iter().collect() }
    }
}

impl LanguageModel for Teacher {
    fn name(&self) -> &str {
        "teacher:fuse"
    }

    fn complete(&self, request: &Request<'_>) -> Result<Completion, ModelError> {
        let begin = Instant::now();
        let done = replies(request.messages).count();
        let reply = match self.lessons.get(&(request.task.to_owned(), request.attempt)) {
            Some(lesson) => act(lesson, request.messages, done),
            None => Reply { content: "There is nothing here that I could make faster.".to_owned(), ..Reply::default() },
        };
        let finish = if reply.tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        Ok(Completion {
            // Nothing was received.
            raw: Vec::new(),
            reply,
            finish,
            usage: TokenUsage::default(),
            retries: 0,
            latency_ns: begin.elapsed().as_nanos() as u64,
            notes: Vec::new(),
        })
    }
}

/// A move of the teacher.
enum Move {
    Look,
    /// Edits the files towards a draft; `begins` marks the first edits of the draft.
    Write {
        draft: usize,
        edits: Vec<Edit>,
        begins: bool,
    },
    Evaluate,
    /// Reads the manual of the rule that the last evaluation names.
    ReadRule,
    /// Returns to the best state, if the last one is another.
    Settle,
    Finish,
}

/// Returns the moves of a lesson: look; write and evaluate each draft; finish.
fn plan(lesson: &Lesson) -> Vec<Move> {
    let mut moves = vec![Move::Look];
    let mut before = PassDirectory::empty();
    for (draft, Draft { passes, .. }) in lesson.drafts.iter().enumerate() {
        let edits = edits(&before, passes);
        let parts = edits.chunks(MAX_EDITS).enumerate();
        moves.extend(parts.map(|(part, edits)| Move::Write { draft, edits: edits.to_vec(), begins: part == 0 }));
        moves.push(Move::Evaluate);
        if draft == 0 && lesson.approach.style() == Style::Refused {
            moves.push(Move::ReadRule);
        }
        before = passes.clone();
    }
    if lesson.approach == Approach::Configs {
        moves.push(Move::Settle);
    }
    moves.push(Move::Finish);
    moves
}

fn act(lesson: &Lesson, messages: &[Message], done: usize) -> Reply {
    // The teacher quotes all statements about speed from these observations, so they are measurements of this
    // machine and not predictions.
    let seen = LastObservations::of(messages);
    let call = |index: usize, name: &str, arguments: Value| ToolCall {
        id: format!("call_{done}_{index}"),
        name: name.to_owned(),
        arguments,
    };
    let (content, tool_calls) = match plan(lesson).get(done).unwrap_or(&Move::Finish) {
        Move::Look => {
            let content = "I look at the types of the values first, and at how many bytes have to move.".to_owned();
            (content, vec![call(0, "graph_info", json!({}))])
        }
        Move::Write { draft, edits, begins } => {
            let content = match (begins, draft) {
                (false, _) => "The other files of this version.".to_owned(),
                (true, 0) => analysis(lesson, seen),
                (true, _) => refinement(lesson, *draft, seen, edits),
            };
            let calls = edits.iter().enumerate().map(|(index, edit)| call(index, "file_editor", edit.arguments()));
            (content, calls.collect())
        }
        Move::Evaluate => ("I have it evaluated.".to_owned(), vec![call(0, "pass_evaluator", json!({}))]),
        Move::ReadRule => {
            let topic = rule(seen.evaluation).unwrap_or("rules");
            let content = format!("{}.\n\nI read what the rule is for.", first_line(seen.evaluation));
            (content, vec![call(0, "docs", json!({"topic": topic}))])
        }
        Move::Settle if seen.is_best() => (conclusion(seen), Vec::new()),
        Move::Settle => {
            let content = format!("{}\n\nAn earlier state has the better score: I return to it.", measured(seen));
            (content, vec![call(0, "best_state", json!({"command": "restore"}))])
        }
        Move::Finish => (conclusion(seen), Vec::new()),
    };
    Reply { content, tool_calls, ..Reply::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_of_many_files_is_written_in_several_replies() {
        let files: Vec<(String, String)> = (0..30).map(|n| (format!("p{n:02}.py"), String::new())).collect();
        let drafts = vec![Draft::new(PassDirectory::new(files).unwrap())];
        let lesson = Lesson { approach: Approach::Whole, drafts };
        let sizes: Vec<usize> = plan(&lesson)
            .iter()
            .filter_map(|step| match step {
                Move::Write { edits, .. } => Some(edits.len()),
                _ => None,
            })
            .collect();
        assert_eq!(sizes, [12, 12, 6]);
    }
}
