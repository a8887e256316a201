//! Reader of the evaluation logs of the public harness: text in, records out.
//!
//! The log is a merged stdout and stderr in which tagged lines are found by search, wherever they stand in a line.
//! The reader follows the public scorer, oddities included, and lists each place where an oddity made a difference
//! as a [`Quirk`]. Grammar and quirks are described in `docs/scoring.md`.

mod line;
mod quirk;
mod record;

use std::collections::BTreeMap;

use passnet_record::GraphId;

use self::record::Draft;
pub use self::{
    quirk::{Quirk, QuirkKind},
    record::LogRecord,
};
use crate::{Failure, GraphOutcome, Outcomes, Speedup};

/// A log that cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct LogError {
    /// 1-based line number.
    pub line: usize,
    /// What is wrong there.
    pub kind: LogErrorKind,
}

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogErrorKind {
    /// Not an evaluation log.
    #[error("no `[Processing]` line in the whole text: this is not an evaluation log, or it was cut at the front")]
    NoRecords,
    /// A record without a name.
    #[error("`[Processing]` without a path after it; each record must name its sample")]
    NoPath,
    /// A value that should be a number.
    #[error("`{value}` in `{tag}` is not a number; was the log truncated or interleaved here?")]
    NotANumber {
        /// The tag of the line.
        tag: String,
        /// The text found.
        value: String,
    },
    /// Comparison results without what they are results of.
    #[error("the record that starts here has comparison results but no `{tag}` line to read them by")]
    Missing {
        /// The tag that is missing.
        tag: &'static str,
    },
    /// Lists that should be of one length.
    #[error("`{tag}` has {found} values where the graph has {expected} outputs")]
    Count {
        /// The tag of the line.
        tag: String,
        /// Number of values found.
        found: usize,
        /// Number of outputs by the `[equal]` line.
        expected: usize,
    },
}

/// What an upstream log says.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamLog {
    /// One record per evaluated sample, in order.
    pub records: Vec<LogRecord>,
    /// Oddities, by line.
    pub quirks: Vec<Quirk>,
}

impl UpstreamLog {
    /// What scores are made of. Each record is a task of its own, since a log does not say which samples share one.
    pub fn outcomes(&self, correct_at: i32) -> Outcomes {
        let graphs = self.records.iter().map(|record| outcome(record, correct_at)).collect();
        Outcomes { graphs, reference_errors: Vec::new() }
    }
}

fn outcome(record: &LogRecord, correct_at: i32) -> GraphOutcome {
    let close = record.tolerance.is_some_and(|smallest| smallest <= correct_at);
    let graph = record.path.rsplit('/').next().unwrap_or(&record.path);
    GraphOutcome {
        id: GraphId { task: record.path.clone(), graph: graph.to_owned() },
        failure: record.failure.or((!close).then_some(Failure::Accuracy)),
        tolerance: record.tolerance,
        eager: record.speedups.get("e2e").copied().and_then(Speedup::point),
        control: None,
        unstable: false,
    }
}

/// Reads an evaluation log.
///
/// # Errors
/// Lines that the public scorer would not survive or that are damaged: the first of them, with its number.
pub fn read_log(text: &str) -> Result<UpstreamLog, LogError> {
    let mut log = UpstreamLog { records: Vec::new(), quirks: Vec::new() };
    let mut first_seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut draft: Option<Draft> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(rest) = line::after_processing(line) {
            if let Some(done) = draft.take() {
                log.records.push(done.finish(&mut log.quirks)?);
            }
            let path = rest.split_whitespace().next_back();
            let path = path.ok_or(LogError { line: number, kind: LogErrorKind::NoPath })?;
            if let Some(&first) = first_seen.get(path) {
                log.quirks.push(Quirk { line: number, kind: QuirkKind::RepeatedPath { first } });
            } else {
                first_seen.insert(path.to_owned(), number);
            }
            draft = Some(Draft::new(number, path, line));
        } else if let Some(draft) = &mut draft {
            draft.add(number, line, &mut log.quirks)?;
        }
    }
    match draft {
        Some(last) => log.records.push(last.finish(&mut log.quirks)?),
        None => return Err(LogError { line: 1, kind: LogErrorKind::NoRecords }),
    }
    log.quirks.sort_by_key(|quirk| quirk.line);
    Ok(log)
}
