//! Reader of the evaluation logs of the public harness. It turns the text of a log into records.
//!
//! The log is a merged stdout and stderr; a tag may stand anywhere in a line. The reader follows the public scorer, including its
//! oddities. It lists each place where an oddity made a difference as a [`Quirk`]. Grammar and quirks are described in
//! `docs/reference/scoring.md`.

mod error;
mod line;
mod quirk;
mod record;

use std::collections::BTreeMap;

use passnet_record::{GraphId, Status};

use self::record::OpenRecord;
pub use self::{
    error::{LogError, LogErrorKind},
    quirk::{Quirk, QuirkKind},
    record::LogRecord,
};
use crate::{GraphOutcome, Outcomes, Speedup};

/// Content of an upstream log.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamLog {
    /// One record per evaluated sample, in order.
    pub records: Vec<LogRecord>,
    /// Oddities, by line.
    pub quirks: Vec<Quirk>,
}

impl UpstreamLog {
    /// Returns the outcomes that scores are computed from. `correct_at` is the tolerance that a correct sample has to meet. Each record
    /// is a separate task, since a log does not say which samples share one.
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
        failure: record.failure.or((!close).then_some(Status::Accuracy)),
        tolerance: record.tolerance,
        eager: record.speedups.get("e2e").copied().and_then(Speedup::point),
        control: None,
        unstable: false,
    }
}

/// Reads an evaluation log.
///
/// # Errors
/// The first line that is damaged, or on which the public scorer would crash, with its number.
pub fn read_log(text: &str) -> Result<UpstreamLog, LogError> {
    let mut log = UpstreamLog { records: Vec::new(), quirks: Vec::new() };
    let mut first_seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut draft: Option<OpenRecord> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(rest) = line::after_processing(line) {
            if let Some(done) = draft.take() {
                log.records.push(done.finish(&mut log.quirks)?);
            }
            // The harness puts words such as a counter before the path.
            let path = rest.split_whitespace().next_back();
            let path = path.ok_or(LogError { line: number, kind: LogErrorKind::NoPath })?;
            if let Some(&first) = first_seen.get(path) {
                log.quirks.push(Quirk { line: number, kind: QuirkKind::RepeatedPath { first } });
            } else {
                first_seen.insert(path.to_owned(), number);
            }
            draft = Some(OpenRecord::new(number, path, line));
        } else if let Some(draft) = &mut draft {
            draft.add(number, line, &mut log.quirks)?;
        }
    }
    match draft {
        Some(last) => log.records.push(last.finish(&mut log.quirks)?),
        None => return Err(LogError { line: 1, kind: LogErrorKind::NoRecords }),
    }
    // Some oddities of a record are noted only when the record ends, after oddities of later lines.
    log.quirks.sort_by_key(|quirk| quirk.line);
    Ok(log)
}
