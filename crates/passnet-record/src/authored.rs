//! The parts of one model on which a language model works: the tasks that `passnet.optimize` writes, and what became of them.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{TextTable, counted};

/// Description of the tasks of a model: `tasks.json`, and the stdout of `passnet.optimize --tasks`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelTasks {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Number of threads that PyTorch used.
    pub threads: u32,
    /// Time of all operations of the model in eager mode, in nanoseconds.
    pub total_ns: f64,
    /// Tasks, the one with the most time outside of libraries first.
    pub tasks: Vec<ModelTask>,
    /// Reasons why other parts are no tasks.
    pub left_out: BTreeMap<String, String>,
}

/// A part of a model that is a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelTask {
    /// Name of the task in its suite.
    pub id: String,
    /// Number of places in the model where the part occurs.
    pub places: u32,
    /// Time of all places together in eager mode, in nanoseconds.
    pub eager_ns: f64,
    /// The share of `eager_ns` that is not that of library calls, such as matrix products.
    pub own_ns: f64,
    /// `eager_ns` / time of all operations of the model.
    pub share: f64,
}

impl ModelTask {
    /// Returns the time outside of libraries that passes with this speed-up leave, in nanoseconds. A speed-up below 1 counts as 1,
    /// because slower passes are not used.
    pub fn left_ns(&self, speedup: f64) -> f64 {
        let saved = self.eager_ns * (1.0 - 1.0 / speedup.max(1.0));
        (self.own_ns - saved).max(0.0)
    }
}

/// Speed-ups of the built-in author on the tasks of a model: `fuse.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BuiltinScores {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Speed-up by task; 1 if the author wrote no correct pass.
    pub scores: BTreeMap<String, f64>,
    /// Reasons why the referee cannot judge passes for other tasks.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

/// The passes that a language model has written for the parts of a model: `authored.json`, and a part of the result of `passnet.optimize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthoredModel {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the author, `llm:MODEL`.
    pub author: String,
    /// Directory of the attempts and their trajectories.
    pub directory: PathBuf,
    /// Number of attempts that have ended.
    pub attempts: u32,
    /// Tokens that the model read, also in attempts that have not ended.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Cost of all attempts in US dollars; `None` if unknown.
    pub cost_usd: Option<f64>,
    /// Reason why the work ended before all attempts.
    pub stopped: Option<String>,
    /// Tasks that the model worked on.
    pub tasks: Vec<AuthoredTask>,
    /// Reasons why other parts are no tasks.
    pub left_out: BTreeMap<String, String>,
}

/// A part of a model, and the work of a language model on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthoredTask {
    /// Name of the task.
    pub id: String,
    /// Number of places in the model where the part occurs.
    pub places: u32,
    /// Time of all places together in eager mode, in nanoseconds.
    pub eager_ns: f64,
    /// Share of the time of the model.
    pub share: f64,
    /// Speed-up of the built-in author, by the referee; 1 if it wrote no correct pass.
    pub fuse: f64,
    /// Largest speed-up of correct passes of the model, by the referee; `None` if there are none, or if their time did not settle.
    pub score: Option<f64>,
    /// Number of attempts that have ended.
    pub attempts: u32,
    /// Tokens of these attempts, read and written.
    pub tokens: u64,
    /// Pass directory that is applied to the whole model; `None` if no passes were accepted.
    pub passes: Option<PathBuf>,
    /// Result, as a sentence without a full stop.
    pub outcome: String,
    /// Number of regions in the whole model where the passes matched.
    #[serde(default)]
    pub found: u32,
    /// Number of these regions that were kept.
    #[serde(default)]
    pub kept: u32,
    /// Time that the kept regions save against eager mode, in nanoseconds.
    #[serde(default)]
    pub gain_ns: f64,
}

impl AuthoredModel {
    /// Returns one line per task.
    pub fn table(&self) -> TextTable {
        let titles = ["part", "result", "places", "share", "fuse", "model", "attempts", "tokens"];
        let mut rows = TextTable::new(&titles, 2);
        for task in &self.tasks {
            rows.push([
                task.id.clone(),
                task.outcome.clone(),
                task.places.to_string(),
                format!("{:.1} %", 100.0 * task.share),
                format!("{:.2}", task.fuse),
                task.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}")),
                task.attempts.to_string(),
                task.tokens.to_string(),
            ]);
        }
        rows
    }
}

impl fmt::Display for AuthoredModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept: u32 = self.tasks.iter().map(|task| task.kept).sum();
        let gain: f64 = self.tasks.iter().map(|task| task.gain_ns).sum();
        let (attempts, tokens) = (self.attempts as usize, self.input_tokens + self.output_tokens);
        write!(f, "{}: {}, {tokens} tokens", self.author, counted(attempts, "attempt"))?;
        if let Some(cost) = self.cost_usd {
            write!(f, ", ${cost:.2}")?;
        }
        let save = if kept == 1 { "which saves" } else { "which save" };
        write!(f, "; {} kept, {save} {:.1} us", counted(kept as usize, "region"), gain / 1e3)?;
        if let Some(why) = &self.stopped {
            write!(f, "; {why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_time_outside_of_libraries_that_is_not_saved() {
        let task = |eager_ns, own_ns| ModelTask { id: "t".to_owned(), places: 1, eager_ns, own_ns, share: 0.5 };
        let check = |eager_ns, own_ns, speedup, expected| {
            assert_eq!(task(eager_ns, own_ns).left_ns(speedup), expected, "{eager_ns} {own_ns} {speedup}");
        };
        check(100.0, 60.0, 1.0, 60.0);
        check(100.0, 60.0, 0.5, 60.0);
        check(100.0, 60.0, 2.0, 10.0);
        check(100.0, 60.0, 4.0, 0.0);
    }

    #[test]
    fn a_description_of_version_1_is_readable() {
        let text = r#"{"schema_version": 1, "model": "m.py:build", "source": "aa", "device": "cpu", "threads": 2, "total_ns": 10.0,
            "tasks": [{"id": "01-gelu", "ops": ["gelu"], "places": 3, "eager_ns": 5.0, "own_ns": 5.0, "share": 0.5}],
            "left_out": {"sort": "no tensor"}}"#;
        let tasks: ModelTasks = serde_json::from_str(text).unwrap();
        assert_eq!((tasks.tasks[0].places, tasks.threads), (3, 2));
        let text = r#"{"schema_version": 1, "author": "llm:m", "directory": "d", "attempts": 1, "input_tokens": 5, "output_tokens": 6,
            "cost_usd": null, "stopped": null, "left_out": {}, "tasks": [{"id": "01-gelu", "places": 3, "eager_ns": 5.0, "share": 0.5,
            "fuse": 1.0, "score": 2.0, "attempts": 1, "tokens": 11, "passes": "p", "outcome": "faster", "found": 3, "kept": 2, "gain_ns": 2500.0}]}"#;
        let authored: AuthoredModel = serde_json::from_str(text).unwrap();
        assert!(authored.to_string().ends_with("llm:m: 1 attempt, 11 tokens; 2 regions kept, which save 2.5 us"));
    }
}
