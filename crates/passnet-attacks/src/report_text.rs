//! Outcomes of an attack suite as tables for people.

use passnet_record::{TextReport, TextTable, counted};

use crate::{outcome::EntryOutcome, report::AttackReport};

impl AttackReport {
    /// Returns one line per entry, the details of unexpected outcomes, and the counts.
    pub fn text_report(&self) -> TextReport {
        let mut report = TextReport::default();
        report.table(self.table());
        for entry in
            self.entries.iter().filter(|entry| !entry.detail.is_empty() && entry.outcome != EntryOutcome::Skipped)
        {
            report.text(format!("\n{}: {:?}: {}", entry.name, entry.outcome, entry.detail));
        }
        report.text(self.totals());
        report
    }

    fn table(&self) -> TextTable {
        let mut rows = TextTable::new(&["entry", "outcome", "verdict", "stopped alone by", "what it does"], 5);
        for entry in &self.entries {
            let verdict = entry.verdict.as_ref();
            let verdict = verdict.map(|verdict| format!("{} {}", verdict.status.name(), verdict.reason));
            let layers = if entry.by_construction { "by construction".to_owned() } else { entry.layers.join(" ") };
            let outcome = format!("{:?}", entry.outcome).to_lowercase();
            rows.push([entry.name.clone(), outcome, verdict.unwrap_or_default(), layers, entry.title.clone()]);
        }
        rows
    }

    fn totals(&self) -> String {
        let count = |outcome| self.count(outcome);
        let attacks = [EntryOutcome::Caught, EntryOutcome::Escaped, EntryOutcome::Misjudged, EntryOutcome::Dead];
        format!(
            "\n{}: {} caught, {} escaped, {} misjudged, {} dead; {} honest: {} passed, {}; {} not run on {}",
            counted(attacks.into_iter().map(count).sum(), "attack"),
            count(EntryOutcome::Caught),
            count(EntryOutcome::Escaped),
            count(EntryOutcome::Misjudged),
            count(EntryOutcome::Dead),
            count(EntryOutcome::Passed) + count(EntryOutcome::FalseRejection),
            count(EntryOutcome::Passed),
            counted(count(EntryOutcome::FalseRejection), "false rejection"),
            count(EntryOutcome::Skipped),
            self.device,
        )
    }
}
