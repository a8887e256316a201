//! Repeated runs of entries with an unexpected outcome.
//!
//! On a busy machine, an honest pass can exceed its time limit, and a few attacks depend on chance. One run shows neither that the
//! referee is wrong nor that it is right, so three runs decide.

use std::collections::BTreeSet;

use crate::{AttackError, outcome::JudgedEntry};

/// Number of runs of an entry whose first outcome was not the expected one.
const RUNS: usize = 3;

/// Runs entries with an unexpected outcome again, and returns all entries with the outcome of most of their runs.
///
/// `judge` runs the entries with the given names, in the order of the suite. An entry that has the expected outcome in two of three runs
/// keeps the evidence of the other run in its detail.
pub(crate) fn repeat_unexpected(
    mut judged: Vec<JudgedEntry>,
    judge: impl Fn(&BTreeSet<String>) -> Result<Vec<JudgedEntry>, AttackError>,
) -> Result<Vec<JudgedEntry>, AttackError> {
    let unexpected = |entries: &[JudgedEntry]| -> BTreeSet<String> {
        entries.iter().filter(|entry| !entry.outcome.is_expected()).map(|entry| entry.name.clone()).collect()
    };
    let mut doubtful = unexpected(&judged);
    let mut last = Vec::new();
    for _ in 1..RUNS {
        if doubtful.is_empty() {
            break;
        }
        last = judge(&doubtful)?;
        // A second unexpected outcome decides.
        let decided = unexpected(&last);
        doubtful.retain(|name| !decided.contains(name));
    }
    for mut entry in last.into_iter().filter(|entry| doubtful.contains(&entry.name)) {
        if let Some(first) = judged.iter_mut().find(|first| first.name == entry.name) {
            entry.detail = format!("{:?} in 1 of {RUNS} runs: {}", first.outcome, first.detail);
            *first = entry;
        }
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::outcome::EntryOutcome::{self, Caught, Escaped, FalseRejection, Misjudged, Passed};

    fn entry(name: &str, outcome: EntryOutcome) -> JudgedEntry {
        let detail = if outcome.is_expected() { String::new() } else { format!("evidence of {outcome:?}") };
        JudgedEntry {
            name: name.to_owned(),
            id: String::new(),
            family: String::new(),
            title: String::new(),
            honest: false,
            by_construction: false,
            outcome,
            note: String::new(),
            verdict: None,
            layers: Vec::new(),
            detail,
        }
    }

    /// Returns the entries after repetition, and the names that were run again, run by run.
    fn repeated(runs: &[&[(&str, EntryOutcome)]]) -> (Vec<(EntryOutcome, String)>, Vec<Vec<String>>) {
        let asked = RefCell::new(Vec::new());
        let run = |number: usize, names: Option<&BTreeSet<String>>| -> Vec<JudgedEntry> {
            let chosen = runs[number].iter().filter(|(name, _)| names.is_none_or(|names| names.contains(*name)));
            chosen.map(|(name, outcome)| entry(name, *outcome)).collect()
        };
        let judged = repeat_unexpected(run(0, None), |names| {
            asked.borrow_mut().push(names.iter().cloned().collect());
            let number = asked.borrow().len();
            Ok(run(number, Some(names)))
        });
        let judged = judged.unwrap().into_iter().map(|entry| (entry.outcome, entry.detail)).collect();
        (judged, asked.into_inner())
    }

    #[test]
    fn what_is_expected_is_not_run_again() {
        let (judged, asked) = repeated(&[&[("a", Caught), ("b", Passed)]]);
        assert_eq!(judged, [(Caught, String::new()), (Passed, String::new())]);
        assert!(asked.is_empty());
    }

    #[test]
    fn two_of_three_runs_decide() {
        let (judged, asked) = repeated(&[
            &[("a", Escaped), ("b", FalseRejection), ("c", Misjudged), ("d", Caught)],
            &[("a", Caught), ("b", Passed), ("c", Escaped), ("d", Caught)],
            &[("a", Caught), ("b", FalseRejection), ("c", Caught), ("d", Caught)],
        ]);
        assert_eq!(judged[0], (Caught, "Escaped in 1 of 3 runs: evidence of Escaped".to_owned()));
        assert_eq!(judged[1], (FalseRejection, "evidence of FalseRejection".to_owned()));
        assert_eq!(judged[2], (Misjudged, "evidence of Misjudged".to_owned()));
        assert_eq!(judged[3], (Caught, String::new()));
        assert_eq!(asked, [vec!["a", "b", "c"], vec!["a", "b"]]);
    }
}
