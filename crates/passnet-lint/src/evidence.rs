//! Findings of the data flow. A value that became unknown because of a finding carries a proof of that finding.
//!
//! A value that follows from a finding is unknown, and later uses of the value are not reported again. This would hide attacks if
//! the finding could get lost: the data flow repeats until nothing changes, and a variable that became unknown in one round never
//! shows the reason in a later round. So `Value::Reported` holds a [`RecordedFinding`], which only [`Findings::record`] makes,
//! and a finding is kept as long as a value holds its evidence. A directory without findings therefore has no value that is
//! unknown because something was reported.

use std::collections::{BTreeMap, BTreeSet};

use ruff_text_size::TextRange;

use super::{finding::Finding, ids::ModuleId, rule::Violation, source::ParsedFile};

/// Largest number of findings that are listed.
const MAX_FINDINGS: usize = 200;

/// Proof that a finding was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordedFinding(usize);

/// A finding by byte offsets. Lines and columns are computed only for findings that are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FindingKey {
    module: ModuleId,
    start: u32,
    end: u32,
    rule: &'static str,
    message: String,
}

/// All findings that the data flow made in any round, and those among them that are confirmed.
#[derive(Default)]
pub(super) struct Findings {
    numbers: BTreeMap<FindingKey, RecordedFinding>,
    help: BTreeMap<&'static str, (&'static str, &'static str)>,
    confirmed: BTreeSet<RecordedFinding>,
}

impl Findings {
    /// Records a finding. If `confirmed` is true, the finding is listed even if no value depends on it.
    pub(super) fn record<V: Violation>(
        &mut self,
        module: ModuleId,
        range: TextRange,
        violation: &V,
        confirmed: bool,
    ) -> RecordedFinding {
        let (start, end) = (range.start().to_u32(), range.end().to_u32());
        let key = FindingKey { module, start, end, rule: V::ID, message: violation.message() };
        self.help.insert(V::ID, (V::NAME, V::HELP));
        let next = RecordedFinding(self.numbers.len());
        let evidence = *self.numbers.entry(key).or_insert(next);
        if confirmed {
            self.confirmed.insert(evidence);
        }
        evidence
    }

    /// Confirms the finding that made a value unknown.
    pub(super) fn confirm(&mut self, evidence: RecordedFinding) {
        self.confirmed.insert(evidence);
    }

    /// Returns the confirmed findings, up to a limit.
    pub(super) fn list(self, sources: &[ParsedFile<'_>]) -> BTreeSet<Finding> {
        let Self { numbers, help, confirmed } = self;
        let confirmed = numbers.into_iter().filter(|(_, evidence)| confirmed.contains(evidence)).take(MAX_FINDINGS);
        confirmed
            .map(|(key, _)| {
                let (name, help) = help.get(key.rule).copied().unwrap_or_default();
                let range = TextRange::new(key.start.into(), key.end.into());
                let (start, end) = sources[key.module.0].positions(range);
                let file = sources[key.module.0].file.to_owned();
                Finding { file, start, end, rule: key.rule, name, message: key.message, help }
            })
            .collect()
    }
}
