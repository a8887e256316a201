use std::collections::BTreeMap;

use passnet_record::{DType, Status};

use super::{
    error::{LogError, LogErrorKind},
    line::{TagMatch, Tagged, allclose_key, number, tagged},
    quirk::{Quirk, QuirkKind},
};
use crate::{MAX_TOLERANCE, MIN_TOLERANCE, tolerance};

/// One evaluated sample of an upstream log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// Line of its `[Processing]` tag.
    pub line: usize,
    /// The sample's path as logged.
    pub path: String,
    /// `[Config]` entries.
    pub config: BTreeMap<String, String>,
    /// Failure by upstream's status rule, which does not look at the numbers; `None` where the status is `correct`.
    pub failure: Option<Status>,
    /// Smallest tolerance from which on all outputs are close; `None` if at none or if the status is a failure.
    pub tolerance: Option<i32>,
    /// Ratios by kind (`e2e`, `gpu`, `kernel`), as printed.
    pub speedups: BTreeMap<String, f64>,
}

/// A value, and the number of the line that gave it last.
struct At<T> {
    line: usize,
    value: T,
}

/// A record whose end has not been seen.
pub(super) struct OpenRecord {
    line: usize,
    path: String,
    prompt: String,
    config: BTreeMap<String, String>,
    dtypes: BTreeMap<String, At<Vec<String>>>,
    correctness: BTreeMap<String, At<Vec<f64>>>,
    speedups: BTreeMap<String, At<f64>>,
    has_all_close: bool,
    shapes_match: bool,
    dtypes_match: Option<bool>,
    error_text: Option<usize>,
    compiled_failure: Option<usize>,
    fluctuation: Option<usize>,
    pass_manager: Option<usize>,
}

impl OpenRecord {
    pub(super) fn new(line: usize, path: &str, text: &str) -> Self {
        Self {
            line,
            path: path.to_owned(),
            prompt: text.split_once("[Processing]").map_or("", |(prompt, _)| prompt).to_owned(),
            config: BTreeMap::new(),
            dtypes: BTreeMap::new(),
            correctness: BTreeMap::new(),
            speedups: BTreeMap::new(),
            has_all_close: false,
            shapes_match: false,
            dtypes_match: None,
            error_text: None,
            compiled_failure: None,
            fluctuation: None,
            pass_manager: None,
        }
    }

    pub(super) fn add(&mut self, line: usize, text: &str, quirks: &mut Vec<Quirk>) -> Result<(), LogError> {
        self.note_words(line, text);
        let Some(TagMatch { prompt, tag, content }) = tagged(text) else { return Ok(()) };
        if prompt != self.prompt {
            quirks.push(Quirk { line, kind: QuirkKind::ForeignPrompt { prompt: prompt.trim_end().to_owned() } });
        }
        let repeated = match content {
            Tagged::Config { key, value } => {
                self.config.insert(key.to_owned(), value.to_owned());
                None
            }
            Tagged::Datatype { side, dtypes } => {
                let value = dtypes.split_whitespace().map(str::to_owned).collect();
                replace(&mut self.dtypes, side, At { line, value })
            }
            Tagged::Correctness { key, values } => {
                let value = values.split_whitespace().map(|text| number(line, tag, text)).collect::<Result<_, _>>()?;
                replace(&mut self.correctness, key, At { line, value })
            }
            Tagged::Speedup { kind, value } => {
                replace(&mut self.speedups, kind, At { line, value: number(line, tag, value)? })
            }
        };
        quirks.extend(repeated.map(|first| Quirk { line, kind: QuirkKind::Repeated { tag: tag.to_owned(), first } }));
        Ok(())
    }

    fn note_words(&mut self, line: usize, text: &str) {
        let first = |seen: &mut Option<usize>, here: bool| {
            if here {
                seen.get_or_insert(line);
            }
        };
        first(&mut self.error_text, text.contains("Error:") || text.contains("Exception:"));
        first(&mut self.compiled_failure, text.contains("[Fail due to compiled model execution error.]"));
        first(&mut self.fluctuation, text.contains("Environment fluctuation detected"));
        first(&mut self.pass_manager, text.contains("[PassMgrBackend]"));
        self.has_all_close |= text.contains("all_close");
        self.shapes_match |= after(text, "[Shape]").is_some_and(|rest| rest.contains("match:True"));
        if let Some(rest) = after(text, "[DataType]") {
            let matches = rest.contains("match:True");
            // One matching line is enough, as in the public scorer.
            self.dtypes_match = Some(matches || self.dtypes_match == Some(true));
        }
    }

    /// Closes the record.
    pub(super) fn finish(self, quirks: &mut Vec<Quirk>) -> Result<LogRecord, LogError> {
        let failure = self.failure();
        let tolerance = match failure {
            None => self.tolerance(quirks)?,
            Some(_) => None,
        };
        self.note_quirks(failure, quirks);
        Ok(LogRecord {
            line: self.line,
            path: self.path,
            config: self.config,
            failure,
            tolerance,
            speedups: self.speedups.into_iter().map(|(kind, at)| (kind, at.value)).collect(),
        })
    }

    /// Returns the failure by upstream's status rule: the first case that holds.
    fn failure(&self) -> Option<Status> {
        if !self.dtypes.contains_key("eager") && !self.has_all_close {
            Some(Status::EagerFail)
        } else if !self.dtypes.contains_key("compiled") && !self.has_all_close {
            Some(Status::CompileError)
        } else if !self.has_all_close && !self.shapes_match {
            Some(Status::ShapeMismatch)
        } else if self.dtypes_match != Some(true) {
            Some(Status::TypeMismatch)
        } else {
            self.error_text.map(|_| Status::RuntimeError)
        }
    }

    fn note_quirks(&self, failure: Option<Status>, quirks: &mut Vec<Quirk>) {
        let mut note = |line: Option<usize>, kind| quirks.extend(line.map(|line| Quirk { line, kind }));
        match failure {
            None => {
                let e2e = self.speedups.get("e2e").map(|at| at.value);
                let usable = e2e.is_some_and(|ratio| ratio.is_finite() && ratio > 0.0);
                note((!usable).then_some(self.line), QuirkKind::Untimed);
            }
            Some(Status::RuntimeError) => note(self.error_text, QuirkKind::ErrorText),
            Some(Status::EagerFail) => {
                note(self.compiled_failure, QuirkKind::CompiledFailureAsEagerFail);
                note(self.pass_manager, QuirkKind::PassMiss);
            }
            Some(Status::ShapeMismatch) if self.dtypes_match == Some(false) => {
                note(Some(self.line), QuirkKind::DtypeMismatchAsShapeMismatch);
            }
            Some(_) => {}
        }
        if failure.is_some() {
            note(self.fluctuation, QuirkKind::Fluctuation);
        }
    }

    /// Returns the smallest tolerance that is met together with every looser tolerance.
    fn tolerance(&self, quirks: &mut Vec<Quirk>) -> Result<Option<i32>, LogError> {
        let missing = |tag| LogError { line: self.line, kind: LogErrorKind::Missing { tag } };
        let equal = self.correctness.get("equal").ok_or_else(|| missing("[Correctness][equal]"))?;
        let outputs = equal.value.len();
        let dtypes = self.dtypes.get("eager").ok_or_else(|| missing("[Datatype][eager]"))?;
        check_count("[Datatype][eager]", dtypes, outputs)?;

        let mut results = Vec::new();
        for t in MIN_TOLERANCE..=MAX_TOLERANCE {
            results.push((t, self.met(t, &dtypes.value, equal)?));
        }
        // Logs differ in the loosest tolerance that they print, so a missing line at that end means nothing.
        while results.last().is_some_and(|(_, met)| met.is_none()) {
            results.pop();
        }
        let absent = results.iter().filter(|(_, met)| met.is_none());
        quirks.extend(absent.map(|&(t, _)| Quirk { line: self.line, kind: QuirkKind::MissingTolerance { t } }));

        let met: Vec<(i32, bool)> = results.iter().map(|&(t, met)| (t, met.unwrap_or(false))).collect();
        let unmet = met.iter().rev().find(|(_, met)| !met).map(|&(t, _)| t);
        if let Some(t) = unmet
            && met.iter().any(|&(tighter, met)| tighter < t && met)
        {
            quirks.push(Quirk { line: self.line, kind: QuirkKind::NotMonotone { t } });
        }
        let loosest = met.last().map(|&(t, _)| t);
        Ok(match unmet {
            // Nothing is unmet, so the strictest tolerance is met. Without any results there is none.
            None => loosest.map(|_| MIN_TOLERANCE),
            // `t` is the loosest tolerance that is not met. All looser tolerances are met, if there are any.
            Some(t) => (Some(t) != loosest).then_some(t + 1),
        })
    }

    /// Returns whether every output is close at `t`, each by the tolerance of its own dtype; `None` if the log lacks results.
    fn met(&self, t: i32, dtypes: &[String], equal: &At<Vec<f64>>) -> Result<Option<bool>, LogError> {
        let mut all = true;
        for (index, dtype) in dtypes.iter().enumerate() {
            // A dtype that this project does not know has no tolerance upstream either: its outputs have to be equal.
            let pair = dtype.parse::<DType>().ok().and_then(|dtype| tolerance(dtype, t));
            let results = match pair.map(allclose_key) {
                None => equal,
                Some(key) => {
                    let Some(results) = self.correctness.get(&key) else { return Ok(None) };
                    check_count(&format!("[Correctness][{key}]"), results, dtypes.len())?;
                    results
                }
            };
            all &= results.value.get(index).is_some_and(|&result| result == 1.0);
        }
        Ok(Some(all))
    }
}

fn check_count<T>(tag: &str, list: &At<Vec<T>>, expected: usize) -> Result<(), LogError> {
    let found = list.value.len();
    let kind = || LogErrorKind::Count { tag: tag.to_owned(), found, expected };
    if found == expected { Ok(()) } else { Err(LogError { line: list.line, kind: kind() }) }
}

/// Stores a value. Returns the line of the replaced value, if that value was different.
fn replace<T: PartialEq>(map: &mut BTreeMap<String, At<T>>, key: &str, at: At<T>) -> Option<usize> {
    let differs = map.get(key).filter(|old| old.value != at.value).map(|old| old.line);
    map.insert(key.to_owned(), at);
    differs
}

fn after<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    text.split_once(tag).map(|(_, rest)| rest)
}
