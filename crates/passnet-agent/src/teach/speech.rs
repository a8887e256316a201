//! Words of the teacher. Everything about speed and verdicts is quoted from observations.

use passnet_record::agent::Message;

use super::{
    edit::Edit,
    lesson::{Approach, Lesson, order_of},
};

/// Last observations of a conversation.
#[derive(Clone, Copy)]
pub(super) struct LastObservations<'a> {
    /// Of any tool.
    pub(super) last: &'a str,
    /// Of `pass_evaluator`.
    pub(super) evaluation: &'a str,
}

impl<'a> LastObservations<'a> {
    pub(super) fn of(messages: &'a [Message]) -> Self {
        let find = |wanted: Option<&str>| {
            let tool = |message: &&Message| match message {
                Message::Tool { name, .. } => wanted.is_none_or(|wanted| name == wanted),
                _ => false,
            };
            messages.iter().rev().find(tool).map(Message::content).unwrap_or_default()
        };
        Self { last: find(None), evaluation: find(Some("pass_evaluator")) }
    }

    /// Returns whether the last evaluated state is the best one.
    pub(super) fn is_best(&self) -> bool {
        let score = number_after(self.evaluation, ", score ");
        score.is_some() && score == number_after(self.evaluation, "best score so far: ")
    }
}

fn number_after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    text.split_once(words)?.1.split([' ', '\n']).next()
}

pub(super) fn first_line(seen: &str) -> &str {
    seen.lines().next().unwrap_or_default()
}

/// Returns the id of the first integrity rule that a text names, such as `PN206`.
pub(super) fn rule(seen: &str) -> Option<&str> {
    let is_rule =
        |word: &&str| word.len() == 5 && word.starts_with("PN") && word[2..].bytes().all(|c| c.is_ascii_digit());
    seen.split(|c: char| !c.is_ascii_alphanumeric()).find(is_rule)
}

/// Returns the lines of an observation that begin with one of some words.
fn lines<'a>(seen: &'a str, words: &[&str]) -> Vec<&'a str> {
    seen.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}

pub(super) fn analysis(lesson: &Lesson, seen: LastObservations<'_>) -> String {
    let facts = lines(seen.last, &["eager mode:", "one ideal kernel:", "arithmetic:", "one core"]).join("\n");
    let why = match lesson.approach {
        Approach::Operations => {
            "I begin with a separate kernel for each operation for which I can write one. This is the safest start, and its time \
             shows the cost of the calls before anything is fused."
        }
        Approach::Halves => {
            "I begin with the operations in two parts, the first half and the second, each fused as far as possible. Values \
             that pass from one to the other still go through memory."
        }
        Approach::FirstPass => "I begin with one pass and see whether it matches and is right; the others can follow.",
        Approach::Whole | Approach::Slip(_) => {
            "A kernel that keeps intermediate values in registers moves less and is one call: I write it at once."
        }
        Approach::Configs => {
            "A kernel that keeps intermediate values in registers moves less and is one call. Only a measurement shows \
             the best sizes of its loops or tiles."
        }
    };
    let note = lesson.drafts.first().map(|draft| draft.note.as_str()).unwrap_or_default();
    let note = match lesson.approach {
        Approach::Configs => format!(" I begin with {note}."),
        _ if note.is_empty() => String::new(),
        _ => format!(" {note}"),
    };
    let passes = lesson.drafts.first().map(|draft| order_of(&draft.passes)).unwrap_or_default();
    format!(
        "{facts}\n\nEach call of eager mode reads and writes memory of its own, and each has its overhead. {why}{note} Passes: `{}`.",
        passes.join("`, `")
    )
}

pub(super) fn refinement(lesson: &Lesson, draft: usize, seen: LastObservations<'_>, edits: &[Edit]) -> String {
    let note = lesson.drafts[draft].note.as_str();
    let why = match lesson.approach {
        Approach::Operations => {
            "Each of these kernels writes its result to memory, where the next one reads it again, and each is a call. Operations \
             that belong together become one kernel now, with the values between them in registers."
                .to_owned()
        }
        Approach::Halves => {
            "The value between the two parts is written and read once more than it has to be, and the second call is one too many. \
             I make one of them."
                .to_owned()
        }
        Approach::FirstPass | Approach::Whole => "I add the passes for the remaining operations.".to_owned(),
        Approach::Configs => format!("The same kernel with {note}, to compare."),
        Approach::Slip(_) => note.to_owned(),
    };
    let files: Vec<String> = edits
        .iter()
        .map(|edit| match edit {
            Edit::Create { name, .. } | Edit::Replace { name, .. } => format!("`{name}`"),
            Edit::Delete { name } => format!("`{name}` (deleted)"),
        })
        .collect();
    format!("{}\n\n{why} Files: {}.", measured(seen), files.join(", "))
}

/// Quotes the last evaluation: how many graphs are right, and each graph.
pub(super) fn measured(seen: LastObservations<'_>) -> String {
    format!("{}.\n{}", first_line(seen.evaluation), lines(seen.evaluation, &["graph "]).join("\n"))
}

pub(super) fn conclusion(seen: LastObservations<'_>) -> String {
    let graphs = lines(seen.evaluation, &["graph ", "best score"]).join("\n");
    format!("{}.\n{graphs}\n\nI leave it at that.", first_line(seen.evaluation))
}
