//! The teacher: presents the built-in author's passes as a model would develop them.
//!
//! It implements [`LanguageModel`]: it inspects a graph, writes a first draft, evaluates it, and continues to a faster one. It repeats
//! only numbers from observations, so that each of them is measured.

mod lesson;

use std::{collections::BTreeMap, time::Instant};

use passnet_record::{ORDER_FILE, PassDirectory};
use serde_json::{Value, json};

pub use self::lesson::{Approach, Lesson, lessons};
use crate::{
    message::{Message, Reply, ToolCall},
    model::{Completion, Finish, LanguageModel, ModelError, Request, TokenUsage},
    trajectory::replies,
    workspace::ROOT,
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

/// Next move of the teacher.
enum Move {
    Look,
    /// Edits the files towards a draft; `begins` marks the first edits of the draft.
    Write {
        draft: usize,
        edits: Vec<Edit>,
        begins: bool,
    },
    Evaluate,
    Finish,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Edit {
    Create { name: String, text: String },
    Delete { name: String },
}

impl Edit {
    fn name(&self) -> &str {
        match self {
            Self::Create { name, .. } | Self::Delete { name } => name,
        }
    }

    fn arguments(&self) -> Value {
        let path = format!("{ROOT}/{}", self.name());
        match self {
            Self::Create { text, .. } => json!({"command": "create", "path": path, "file_text": text}),
            Self::Delete { .. } => json!({"command": "delete", "path": path}),
        }
    }
}

/// Returns the moves of a lesson: look; write and evaluate each draft; finish.
fn plan(lesson: &Lesson) -> Vec<Move> {
    let mut moves = vec![Move::Look];
    let mut before = PassDirectory::empty();
    for (draft, passes) in lesson.drafts.iter().enumerate() {
        let edits = edits(&before, passes);
        let parts = edits.chunks(MAX_EDITS).enumerate();
        moves.extend(parts.map(|(part, edits)| Move::Write { draft, edits: edits.to_vec(), begins: part == 0 }));
        moves.push(Move::Evaluate);
        before = passes.clone();
    }
    moves.push(Move::Finish);
    moves
}

/// Returns the edits that turn one directory into another; the order of the passes comes last.
fn edits(before: &PassDirectory, after: &PassDirectory) -> Vec<Edit> {
    let gone = before.files().iter().filter(|(name, _)| after.files().iter().all(|(other, _)| other != name));
    let mut edits: Vec<Edit> = gone.map(|(name, _)| Edit::Delete { name: name.clone() }).collect();
    let new = after.files().iter().filter(|file| !before.files().contains(file));
    edits.extend(
        new.map(|(name, bytes)| Edit::Create { name: name.clone(), text: String::from_utf8_lossy(bytes).into_owned() }),
    );
    // The order names passes, so it is only valid when their files exist.
    edits.sort_by_key(|edit| edit.name() == ORDER_FILE);
    edits
}

fn act(lesson: &Lesson, messages: &[Message], done: usize) -> Reply {
    // All that the teacher says about speed is quoted from here: a measurement of this machine, not a
    // prediction.
    let seen = messages.iter().rev().find(|message| matches!(message, Message::Tool { .. })).map(Message::content);
    let seen = seen.unwrap_or_default();
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
                (false, _) => "The other files of it.".to_owned(),
                (true, 0) => analysis(lesson, seen),
                (true, _) => refinement(lesson, seen, edits),
            };
            let calls = edits.iter().enumerate().map(|(index, edit)| call(index, "file_editor", edit.arguments()));
            (content, calls.collect())
        }
        Move::Evaluate => ("I have it evaluated.".to_owned(), vec![call(0, "pass_evaluator", json!({}))]),
        Move::Finish => (conclusion(seen), Vec::new()),
    };
    Reply { content, tool_calls, ..Reply::default() }
}

/// Returns the lines of an observation that begin with one of some words.
fn lines<'a>(seen: &'a str, words: &[&str]) -> Vec<&'a str> {
    seen.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}

fn analysis(lesson: &Lesson, seen: &str) -> String {
    let facts = lines(seen, &["eager mode:", "one ideal kernel:", "arithmetic:", "one core"]).join("\n");
    let why = match lesson.approach {
        Approach::Operations => {
            "I begin with a kernel of its own for each operation that I can write one for. That is the least that can go wrong, \
             and its time says what calls cost before anything is fused."
        }
        Approach::Halves => {
            "I begin with the operations in two parts, the first half and the second, each fused as far as it goes. What \
             passes from one to the other still goes through memory."
        }
        Approach::FirstPass => "I begin with one pass and see whether it matches and is right; the others can follow.",
        Approach::Whole => {
            "A kernel that keeps intermediate values in registers moves less and is one call: I write it at once."
        }
    };
    let passes = lesson.drafts.first().map(lesson::order_of).unwrap_or_default();
    format!(
        "{facts}\n\nEach call of eager mode reads and writes memory of its own, and each has its overhead. {why} Passes: `{}`.",
        passes.join("`, `")
    )
}

fn refinement(lesson: &Lesson, seen: &str, edits: &[Edit]) -> String {
    let first = seen.lines().next().unwrap_or_default();
    let graphs = lines(seen, &["graph "]).join("\n");
    let why = match lesson.approach {
        Approach::Operations => {
            "Each of these kernels writes its result to memory, where the next one reads it again, and each is a call. What belongs \
             together becomes one kernel now, with what lies between in registers."
        }
        Approach::Halves => {
            "The value between the two parts is written and read once more than it has to be, and the second call is one too many. \
             I make one of them."
        }
        Approach::FirstPass | Approach::Whole => "I add the passes for what is left as it was.",
    };
    let files: Vec<String> = edits
        .iter()
        .map(|edit| match edit {
            Edit::Create { name, .. } => format!("`{name}`"),
            Edit::Delete { name } => format!("`{name}` (gone)"),
        })
        .collect();
    format!("{first}.\n{graphs}\n\n{why} Files: {}.", files.join(", "))
}

fn conclusion(seen: &str) -> String {
    let first = seen.lines().next().unwrap_or_default();
    format!("{first}.\n{}\n\nI leave it at that.", lines(seen, &["graph ", "best score"]).join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(&str, &str)]) -> PassDirectory {
        PassDirectory::new(files.iter().copied()).unwrap()
    }

    #[test]
    fn edits_lead_from_one_directory_to_the_next() {
        let before = directory(&[("a.py", "1"), ("b.py", "2"), (ORDER_FILE, "[\"a\", \"b\"]")]);
        let after = directory(&[("a.py", "3"), (ORDER_FILE, "[\"a\"]"), ("z.py", "4")]);
        let edits = edits(&before, &after);
        let named: Vec<_> = edits.iter().map(|edit| (edit.name(), matches!(edit, Edit::Delete { .. }))).collect();
        assert_eq!(named, [("b.py", true), ("a.py", false), ("z.py", false), (ORDER_FILE, false)]);
        let mut files: BTreeMap<String, String> =
            before.files().iter().map(|(name, text)| (name.clone(), String::from_utf8_lossy(text).into())).collect();
        for edit in edits {
            match edit {
                Edit::Create { name, text } => drop(files.insert(name, text)),
                Edit::Delete { name } => drop(files.remove(&name)),
            }
        }
        assert_eq!(PassDirectory::new(files).unwrap().id(), after.id());
    }

    #[test]
    fn a_draft_of_many_files_is_written_in_several_replies() {
        let files: Vec<(String, String)> = (0..30).map(|n| (format!("p{n:02}.py"), String::new())).collect();
        let lesson = Lesson { approach: Approach::Whole, drafts: vec![PassDirectory::new(files).unwrap()] };
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
