//! A coverage report as tables for people.

use passnet_record::{TextReport, TextTable, counted};

use super::report::{CoverageReport, MatchOutcome};

/// Number of rows of the table of conflicts.
const SHOWN_CONFLICTS: usize = 20;
/// Number of characters of a reason that are shown.
const SHOWN_REASON: usize = 160;

impl CoverageReport {
    /// Returns the passes, their conflicts, the types that they were applied to, and the times of the search.
    pub fn text_report(&self) -> TextReport {
        let mut report = TextReport::default();
        report.table(self.pass_table());
        if !self.conflicts.is_empty() {
            report.text("\nconflicts: the first pass takes nodes that the second one wants");
            report.table(self.conflict_table());
            if let Some(more) = self.conflicts.len().checked_sub(SHOWN_CONFLICTS).filter(|&more| more > 0) {
                report.text(format!("and {more} more; --json lists all"));
            }
        }
        if self.passes.iter().any(|pass| !pass.types.is_empty()) {
            report.text("\ntypes: matches by what they are applied to, and what an evaluation said");
            report.table(self.type_table());
        }
        let seconds = self.seconds;
        report.text(format!(
            "\n{} of {}: read in {:.1} s, converted to the common form in {:.1} s, searched for {} in {:.2} s",
            counted(self.graphs, "graph"),
            counted(self.models, "model"),
            seconds.read,
            seconds.canonical,
            counted(self.passes.len(), "pass"),
            seconds.search,
        ));
        report
    }

    fn pass_table(&self) -> TextTable {
        let mut rows = TextTable::new(&["pass", "remark", "calls", "graphs", "models", "matches"], 2);
        for (number, pass) in self.passes.iter().enumerate() {
            let remark = match (&pass.error, pass.same_as) {
                (Some(error), _) => error.clone(),
                (None, Some(first)) => format!("pattern of {}", self.short_name(first)),
                (None, None) => String::new(),
            };
            let counts = [pass.nodes, pass.graphs, pass.models, pass.matches].map(|count| count.to_string());
            rows.push([self.short_name(number), remark].into_iter().chain(counts));
        }
        rows
    }

    fn conflict_table(&self) -> TextTable {
        let mut rows = TextTable::new(&["first", "second", "graphs", "overlaps", "lost"], 2);
        for conflict in self.conflicts.iter().take(SHOWN_CONFLICTS) {
            let counts = [conflict.graphs, conflict.overlaps, conflict.lost].map(|count| count.to_string());
            let names = [conflict.first, conflict.second].map(|number| self.short_name(number));
            rows.push(names.into_iter().chain(counts));
        }
        rows
    }

    fn type_table(&self) -> TextTable {
        let mut rows = TextTable::new(&["pass", "types", "outcome", "reason", "matches"], 4);
        for pass in &self.passes {
            for class in &pass.types {
                let outcome = match class.outcome {
                    MatchOutcome::Unchecked => "-",
                    MatchOutcome::Sound => "sound",
                    MatchOutcome::Failed => "no verdict",
                    MatchOutcome::Refused => "refused",
                    MatchOutcome::Unsound => "UNSOUND",
                };
                let reason = class.message.clone().unwrap_or_default();
                rows.push([
                    pass.name.clone(),
                    class.types.clone(),
                    outcome.to_owned(),
                    reason.lines().next().unwrap_or_default().chars().take(SHOWN_REASON).collect(),
                    class.matches.to_string(),
                ]);
            }
        }
        rows
    }

    /// Returns `DIRECTORY/PASS` with the last part of the directory's path.
    fn short_name(&self, number: usize) -> String {
        let pass = &self.passes[number];
        let directory = pass.directory.trim_end_matches('/');
        format!("{}/{}", directory.rsplit('/').next().unwrap_or(directory), pass.name)
    }
}
