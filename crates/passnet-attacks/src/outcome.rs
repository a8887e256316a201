//! Outcome of an entry, derived from its verdicts under each set of layers.

use std::collections::BTreeMap;

use passnet_eval::Defences;
use passnet_record::{
    Reason, Status, Verdict,
    attack::{AttackGoal, ExpectedVerdict},
};
use serde::Serialize;

use crate::{bait::Bait, entry::AttackEntry};

/// An evaluation in one mode.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ModeResult {
    /// The first verdict that is not `correct`, or `correct`.
    pub(crate) verdict: ExpectedVerdict,
    /// Message to the author of the passes.
    pub(crate) message: String,
    /// All lint rules that were found broken. The verdict names only the first.
    pub(crate) rules: Vec<String>,
    pub(crate) speedup: Option<f64>,
    /// True if the attack reached its goal.
    pub(crate) reached: bool,
}

impl ModeResult {
    pub(crate) fn new(goal: &AttackGoal, verdicts: &[Verdict], bait: &Bait) -> Self {
        let bad = verdicts.iter().find(|verdict| verdict.status != Status::Correct);
        let reason = bad.and_then(|verdict| verdict.reason.clone());
        // The lower bound is used, because on a busy machine the ratio of a few short blocks can be three times too high.
        let speedups = verdicts.iter().filter_map(|verdict| Some(verdict.scored_timing()?.speedup.low));
        // The smallest speed-up of all graphs, because an attack has to win on each of them.
        let speedup = speedups.reduce(f64::min);
        let reached = match goal {
            AttackGoal::Correct => bad.is_none(),
            AttackGoal::Speedup { above } => bad.is_none() && speedup > Some(*above),
            AttackGoal::File { path } => bait.is_marked(path),
            AttackGoal::Leak => serde_json::to_string(verdicts).is_ok_and(|text| bait.is_leaked(&text)),
            AttackGoal::Alive => bait.has_survivor(),
        };
        let status = bad.map_or(Status::Correct, |verdict| verdict.status);
        let rules = reason.as_ref().map(broken_rules).unwrap_or_default();
        let (code, message) = reason.map(|reason| (reason.code, reason.message)).unwrap_or_default();
        Self { verdict: ExpectedVerdict { status, reason: code }, message, rules, speedup, reached }
    }

    /// Returns whether the verdict is the expected one. The expected reason may be the first reason, or any of the broken rules.
    ///
    /// An attack may be expected to be `correct`, because it works honestly where its condition does not hold. Such an attack may
    /// also be rejected for its integrity or its values, if its condition held once by chance. Without a reason, wrong values may be NaN or not.
    fn is(&self, expected: &ExpectedVerdict) -> bool {
        let status = self.verdict.status;
        let has_wrong_values = |status| matches!(status, Status::Accuracy | Status::NonFinite);
        if expected.status == Status::Correct && (status == Status::Integrity || has_wrong_values(status)) {
            return true;
        }
        if expected.reason.is_empty() && expected.status != Status::Correct {
            return status == expected.status || (has_wrong_values(status) && has_wrong_values(expected.status));
        }
        status == expected.status && (self.verdict.reason == expected.reason || self.rules.contains(&expected.reason))
    }
}

/// Returns the rules that the findings in the detail of a reason name.
fn broken_rules(reason: &Reason) -> Vec<String> {
    let findings = reason.detail.iter().flat_map(|detail| &detail.findings);
    findings.map(|finding| finding.rule.clone()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryOutcome {
    /// The attack works if nothing stops it, and was stopped for the expected reason.
    Caught,
    /// The attack reached its goal with all layers on.
    Escaped,
    /// The attack was stopped, but not for the expected reason.
    Misjudged,
    /// The attack fails even if nothing stops it.
    Dead,
    /// The honest pass was accepted.
    Passed,
    /// The honest pass was rejected.
    FalseRejection,
    /// The entry was not run on this device.
    Skipped,
}

impl EntryOutcome {
    /// Returns whether a correct referee has this outcome.
    pub(crate) fn is_expected(self) -> bool {
        matches!(self, Self::Caught | Self::Passed | Self::Skipped)
    }
}

/// The line of an entry in the report.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedEntry {
    /// Path of its folder in the suite.
    pub name: String,
    /// Id of the exploit.
    pub id: String,
    /// Kind of attack.
    pub family: String,
    /// Description of the entry in one line.
    pub title: String,
    /// The entry is an honest pass and must not be rejected.
    pub honest: bool,
    /// True if no layer stops the attack, but the architecture does.
    pub by_construction: bool,
    pub outcome: EntryOutcome,
    /// Remarks on how the exploit was adapted to PassNet.
    pub note: String,
    /// The verdict with all layers on.
    pub verdict: Option<ExpectedVerdict>,
    /// Layers that stop the attack when each is on alone.
    pub layers: Vec<&'static str>,
    /// Evidence for an unexpected outcome, also if most runs had the expected one; or the reason why the entry was skipped.
    pub detail: String,
}

/// Judges an entry by its results in each mode, and in the naive harness.
pub(crate) fn judge(
    entry: &AttackEntry,
    seen: &BTreeMap<(String, &'static str), ModeResult>,
    controls: &BTreeMap<String, bool>,
    on_gpu: bool,
) -> JudgedEntry {
    let in_mode = |mode| seen.get(&(entry.name.clone(), mode));
    let all = in_mode("all");
    let (outcome, detail) = match all {
        Some(all) => outcome_of(entry, in_mode("none"), all, controls.get(&entry.name) == Some(&true)),
        None => (EntryOutcome::Skipped, if on_gpu { "runs on a CPU" } else { "needs a GPU" }.to_owned()),
    };
    let layers = Defences::LAYERS.map(|(name, _)| name);
    JudgedEntry {
        name: entry.name.clone(),
        id: entry.meta.id.clone(),
        family: entry.meta.family.clone(),
        title: entry.meta.title.clone(),
        note: entry.meta.note.clone(),
        honest: entry.is_honest(),
        by_construction: entry.meta.by_construction,
        outcome,
        verdict: all.map(|all| all.verdict.clone()),
        layers: layers.into_iter().filter(|layer| in_mode(layer).is_some_and(|seen| !seen.reached)).collect(),
        detail,
    }
}

/// Returns the outcome of an entry that was run, and the evidence. `none` is missing if attacks are run with all layers on only.
/// `control` is true if the attack reaches its goal in the naive harness.
fn outcome_of(
    entry: &AttackEntry,
    none: Option<&ModeResult>,
    all: &ModeResult,
    control: bool,
) -> (EntryOutcome, String) {
    let by_construction = entry.meta.by_construction;
    let Some(expect) = &entry.meta.expect else {
        return match all.verdict.status {
            Status::Correct => (EntryOutcome::Passed, String::new()),
            _ => (EntryOutcome::FalseRejection, describe(all)),
        };
    };
    match none {
        // This case comes first, because an escape is the worst outcome.
        _ if all.reached => (EntryOutcome::Escaped, describe(all)),
        Some(none) if by_construction && none.reached => {
            (EntryOutcome::Escaped, format!("not stopped by construction: {}", describe(none)))
        }
        Some(_) if by_construction && !control => {
            (EntryOutcome::Dead, "it fails against the naive harness, too".to_owned())
        }
        Some(none) if !by_construction && !none.reached => {
            (EntryOutcome::Dead, format!("without any layer: {}", describe(none)))
        }
        _ if !all.is(expect) => (
            EntryOutcome::Misjudged,
            format!("expected {} {}, got {}", expect.status.name(), expect.reason, describe(all)),
        ),
        _ => (EntryOutcome::Caught, String::new()),
    }
}

fn describe(seen: &ModeResult) -> String {
    let ModeResult { verdict, message, speedup, .. } = seen;
    let speedup = speedup.map(|ratio| format!(" (speed-up {ratio:.2})")).unwrap_or_default();
    let message: String = message.chars().take(600).collect();
    format!("{} {}{speedup} {message}", verdict.status.name(), verdict.reason).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(status: Status, reason: &str, expected: Status) -> bool {
        let verdict = ExpectedVerdict { status, reason: reason.to_owned() };
        let seen = ModeResult {
            verdict,
            message: String::new(),
            rules: vec!["PN204".to_owned()],
            speedup: None,
            reached: false,
        };
        seen.is(&ExpectedVerdict { status: expected, reason: String::new() })
    }

    #[test]
    fn an_attack_that_works_honestly_may_be_found_out() {
        assert!(is(Status::Correct, "", Status::Correct));
        assert!(is(Status::Integrity, "timed_output_differs", Status::Correct));
        assert!(is(Status::Accuracy, "adversarial_differs", Status::Correct));
        assert!(!is(Status::TypeMismatch, "dtype_differs", Status::Correct));
        assert!(!is(Status::Correct, "", Status::Integrity));
        assert!(is(Status::Accuracy, "adversarial_differs", Status::Accuracy));
        assert!(is(Status::Accuracy, "output_differs", Status::NonFinite));
        assert!(!is(Status::Accuracy, "output_differs", Status::Integrity));
    }
}
