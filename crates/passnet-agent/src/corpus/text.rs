//! Statistics and selections as text for people.

use std::fmt;

use passnet_record::{TextReport, TextTable, counted, duration};

use super::{select::Selector, stats::TrajectoryStats};

impl TrajectoryStats {
    /// Returns the totals, the outcomes of first and last evaluations, and the statuses of graphs.
    pub fn text_report(&self) -> TextReport {
        let cost = self.usage.cost_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
        let mut report = TextReport::default();
        report.text(format!(
            "{} at {}: {}, {}, {}{cost}\n\
             score {:.3} (1 is the score of an empty pass directory), reward {:.3}; {} correct throughout, {} rewarded, {} broke a rule\n\
             model {}, tools {}",
            counted(self.attempts, "attempt"),
            counted(self.tasks, "task"),
            counted(self.steps, "step"),
            counted(self.evaluations, "evaluation"),
            counted(self.usage.tokens() as usize, "token"),
            self.score,
            self.reward,
            self.all_correct,
            self.rewarded,
            self.cheated,
            duration(self.model_ns as f64),
            duration(self.tool_ns as f64),
        ));
        if !self.styles.is_empty() {
            let styles: Vec<String> = self.styles.iter().map(|(style, count)| format!("{count} {style}")).collect();
            report.text(format!("styles: {}", styles.join(", ")));
        }
        let mut flow = TextTable::new(&["first evaluation", "last evaluation", "attempts"], 2);
        for group in &self.flow {
            flow.push([group.first.to_owned(), group.last.to_owned(), group.attempts.to_string()]);
        }
        report.table(flow);
        let mut failures = TextTable::new(&["status of graphs, all evaluations", "graphs"], 1);
        for (status, count) in &self.failures {
            failures.push([status.name().to_owned(), count.to_string()]);
        }
        report.table(failures);
        report
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kept", self.kept)?;
        if self.corrected > 0 {
            write!(f, " ({} with corrected slips)", self.corrected)?;
        }
        let left_out: Vec<String> = self.left_out.iter().map(|(why, count)| format!("{count} for {why}")).collect();
        match left_out.as_slice() {
            [] => write!(f, ", none left out"),
            some => write!(f, ", left out: {}", some.join(", ")),
        }
    }
}
