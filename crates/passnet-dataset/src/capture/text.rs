//! The summary of a capture as tables for people.

use passnet_record::{TextReport, TextTable};

use super::summary::Summary;

/// Models are listed one by one up to this number.
const LISTED: usize = 40;
/// Failures of one kind that are named.
const EXAMPLES: usize = 5;

impl Summary {
    /// Returns the models, the failures by kind, and the totals.
    pub fn text_report(&self) -> TextReport {
        let mut report = TextReport::default();
        if self.models.len() <= LISTED {
            report.table(self.model_table());
        }
        if self.failed > 0 {
            report.table(self.failure_table());
        }
        let rate = 100.0 * self.captured as f64 / (self.models.len().max(1)) as f64;
        let Self { captured, failed, reused, graphs, ops, cpu_seconds, .. } = self;
        report.text(format!(
            "{captured} captured ({rate:.1} %), {failed} failed, {reused} of them known before; {graphs} graphs, {ops} ops, \
             {cpu_seconds:.0} CPU s"
        ));
        report
    }

    fn model_table(&self) -> TextTable {
        let mut rows = TextTable::new(&["model", "result", "graphs", "ops", "CPU s"], 2);
        for model in &self.models {
            rows.push([
                model.spec.clone(),
                if model.reduced.is_empty() { model.status.clone() } else { format!("{}, reduced", model.status) },
                model.folders.len().to_string(),
                model.ops.iter().sum::<usize>().to_string(),
                format!("{:.1}", model.cpu_seconds),
            ]);
        }
        rows
    }

    fn failure_table(&self) -> TextTable {
        let mut rows = TextTable::new(&["failure", "models", "for example"], 3);
        for (status, count) in &self.failures {
            let of_kind = self.models.iter().filter(|model| &model.status == status).take(EXAMPLES);
            let examples: Vec<String> = of_kind.map(|model| format!("{}: {}", model.spec, model.reason)).collect();
            rows.push([status.clone(), count.to_string(), examples.join("\n")]);
        }
        rows
    }
}
