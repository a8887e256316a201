//! Counts over a table as tables for people.

use std::fmt::Display;

use passnet_record::{TextReport, TextTable, counted};

use super::SampleCounts;

/// Number of ops that are listed.
const TOP_OPS: usize = 20;

impl SampleCounts {
    /// Returns the totals, and one table for each property.
    pub fn text_report(&self) -> TextReport {
        let mut report = TextReport::default();
        report.text(format!("{}, {}", counted(self.samples, "sample"), counted(self.ops, "op")));
        let size = |log: &u32| format!("{}..{}", 1_u64 << log, (1_u64 << log) * 2);
        counts(&mut report, "equal by", self.distinct.iter().map(|(rung, count)| (rung.name(), *count)));
        counts(&mut report, "kind", self.by_kind.iter().map(|(kind, count)| (kind, *count)));
        counts(&mut report, "source", self.by_source.iter().map(|(source, count)| (source, *count)));
        counts(&mut report, "domain", self.by_domain.iter().map(|(domain, count)| (domain, *count)));
        counts(&mut report, "ops in graph", self.by_size.iter().map(|(log, count)| (size(log), *count)));
        counts(&mut report, "input dtype", self.by_dtype.iter().map(|(dtype, count)| (dtype, *count)));
        let mut ops: Vec<(&String, usize)> = self.by_op.iter().map(|(op, count)| (op, *count)).collect();
        ops.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        ops.truncate(TOP_OPS);
        counts(&mut report, "op", ops);
        report
    }
}

fn counts(report: &mut TextReport, title: &str, rows: impl IntoIterator<Item = (impl Display, usize)>) {
    let mut table = TextTable::new(&[title, "count"], 1);
    rows.into_iter().for_each(|(name, count)| table.push([name.to_string(), count.to_string()]));
    report.text("");
    report.table(table);
}
