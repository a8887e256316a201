//! The teacher: the built-in author's passes, brought forward as an attentive model would do it.
//!
//! It is a [`Model`] like any other: it looks at a graph, writes a first pass, has it evaluated, adds what the evaluation
//! shows to be missing. It repeats numbers only from observations, so that each of them is measured.

use std::{collections::BTreeMap, time::Instant};

use passnet_eval::PassDirectory;
use passnet_python::lint::ORDER_FILE;
use serde_json::{Value, json};

use crate::{
    message::{Message, Reply, ToolCall},
    model::{Completion, Finish, Model, ModelError, Request, Usage},
    trajectory::replies,
    workspace::PLACE,
};

/// Passes of the built-in author by task, in the form of a model.
#[derive(Debug)]
pub struct Teacher {
    passes: BTreeMap<String, PassDirectory>,
}

/// What the teacher does next.
enum Move {
    Look,
    Write { names: Vec<String>, order: Vec<String> },
    Evaluate,
    Finish,
}

impl Teacher {
    /// A teacher of these passes.
    pub fn new(passes: BTreeMap<String, PassDirectory>) -> Self {
        Self { passes }
    }

    /// Whether there is anything to teach about a task.
    pub fn knows(&self, task: &str) -> bool {
        self.passes.get(task).is_some_and(|passes| !order_of(passes).is_empty())
    }
}

impl Model for Teacher {
    fn name(&self) -> &str {
        "teacher:fuse"
    }

    fn complete(&self, request: &Request<'_>) -> Result<Completion, ModelError> {
        let begin = Instant::now();
        let done = replies(request.messages).count();
        let reply = match self.passes.get(request.task).map(|passes| (passes, plan(passes))) {
            Some((passes, moves)) => act(moves.get(done).unwrap_or(&Move::Finish), passes, request.messages, done),
            None => Reply { content: "There is nothing here that I could make faster.".to_owned(), ..Reply::default() },
        };
        let finish = if reply.tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        Ok(Completion {
            raw: serde_json::to_vec(&reply).unwrap_or_default(),
            reply,
            finish,
            usage: Usage::default(),
            retries: 0,
            latency_ns: begin.elapsed().as_nanos() as u64,
            notes: Vec::new(),
        })
    }
}

fn order_of(passes: &PassDirectory) -> Vec<String> {
    let file = passes.files().iter().find(|(name, _)| name == ORDER_FILE);
    file.and_then(|(_, bytes)| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

/// Look; the first pass with its helpers; evaluate; the others, if any; evaluate; finish.
fn plan(passes: &PassDirectory) -> Vec<Move> {
    let order = order_of(passes);
    let Some((first, others)) = order.split_first() else { return vec![Move::Look, Move::Finish] };
    let file = |pass: &String| format!("{pass}.py");
    let is_pass = |name: &str| order.iter().any(|pass| file(pass) == name);
    let helpers =
        passes.files().iter().map(|(name, _)| name).filter(|name| name.as_str() != ORDER_FILE && !is_pass(name));
    let names: Vec<String> = helpers.cloned().chain([file(first)]).collect();
    let mut moves = vec![Move::Look, Move::Write { names, order: vec![first.clone()] }, Move::Evaluate];
    if !others.is_empty() {
        moves.push(Move::Write { names: others.iter().map(file).collect(), order: order.clone() });
        moves.push(Move::Evaluate);
    }
    moves.push(Move::Finish);
    moves
}

fn act(step: &Move, passes: &PassDirectory, messages: &[Message], done: usize) -> Reply {
    let seen = messages.iter().rev().find(|message| matches!(message, Message::Tool { .. })).map(Message::content);
    let seen = seen.unwrap_or_default();
    let call = |index: usize, name: &str, arguments: Value| ToolCall {
        id: format!("call_{done}_{index}"),
        name: name.to_owned(),
        arguments,
    };
    let (content, tool_calls) = match step {
        Move::Look => {
            let content = "I look at the types of the values first, and at how many bytes have to move.".to_owned();
            (content, vec![call(0, "graph_info", json!({}))])
        }
        Move::Write { names, order } => {
            let content = if done <= 1 { analysis(seen, order) } else { refinement(seen, names) };
            let list = serde_json::to_string(order).unwrap_or_default();
            let text = |name: &String| {
                let file = passes.files().iter().find(|(file, _)| file == name);
                file.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
            };
            let files = names.iter().map(|name| (name.clone(), text(name))).chain([(ORDER_FILE.to_owned(), list)]);
            let create = |(index, (name, text)): (usize, (String, String))| {
                call(
                    index,
                    "file_editor",
                    json!({"command": "create", "path": format!("{PLACE}/{name}"), "file_text": text}),
                )
            };
            (content, files.enumerate().map(create).collect())
        }
        Move::Evaluate => ("I have it evaluated.".to_owned(), vec![call(0, "pass_evaluator", json!({}))]),
        Move::Finish => (conclusion(seen), Vec::new()),
    };
    Reply { content, tool_calls, ..Reply::default() }
}

/// Lines of an observation that begin with one of some words.
fn lines<'a>(seen: &'a str, words: &[&str]) -> Vec<&'a str> {
    seen.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}

fn analysis(seen: &str, order: &[String]) -> String {
    let facts = lines(seen, &["eager mode:", "one ideal kernel:", "one core"]).join("\n");
    format!(
        "{facts}\n\nEach call of eager mode reads and writes memory of its own, and each has its overhead. A kernel that keeps \
         intermediate values in registers moves less and is one call. I begin with `{}` and see whether it matches and is right.",
        order.join("`, `")
    )
}

fn refinement(seen: &str, names: &[String]) -> String {
    let first = seen.lines().next().unwrap_or_default();
    let left: Vec<&str> = lines(seen, &["graph "]).into_iter().filter(|line| !line.contains(": correct")).collect();
    let left = if left.is_empty() { "Parts of the graphs are left as they were.".to_owned() } else { left.join("\n") };
    format!("{first}.\n{left}\n\nI add what is missing: {}.", names.join(", "))
}

fn conclusion(seen: &str) -> String {
    let first = seen.lines().next().unwrap_or_default();
    format!("{first}.\n{}\n\nI leave it at that.", lines(seen, &["graph "]).join("\n"))
}
