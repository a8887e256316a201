//! The summary of a capture as tables for people.

use std::collections::BTreeMap;

use passnet_record::{TextReport, TextTable, counted};

use passnet_record::CapturedModel;

use super::summary::Summary;

/// Largest number of models that are listed one by one.
const LISTED: usize = 40;
/// Number of failures of each kind that are named.
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
        if self.partial > 0 {
            report.table(self.left_out_table());
        }
        let rate = 100.0 * self.captured as f64 / (self.models.len().max(1)) as f64;
        let Self { captured, failed, reused, graphs, ops, cpu_seconds, partial, custom, .. } = self;
        let mut text = format!(
            "{}: {captured} captured ({rate:.1} %), {failed} failed, {reused} reused from the ledger; {}, {}, \
             {cpu_seconds:.0} CPU s",
            counted(self.models.len(), "model"),
            counted(*graphs, "graph"),
            counted(*ops, "op")
        );
        if *partial > 0 {
            text += &format!("; {partial} partial: Dynamo left out parts of them");
        }
        if *custom > 0 {
            text += &format!("; {custom} with operators that PyTorch does not define");
        }
        report.text(text);
        report
    }

    fn model_table(&self) -> TextTable {
        let mut rows = TextTable::new(&["model", "result", "graphs", "ops", "CPU s"], 2);
        for model in &self.models {
            rows.push([
                model.spec.clone(),
                result(model),
                model.folders.len().to_string(),
                model.ops.iter().sum::<usize>().to_string(),
                format!("{:.1}", model.cpu_seconds),
            ]);
        }
        rows
    }

    /// Returns a table of the parts that Dynamo left out, by operator, with their models.
    fn left_out_table(&self) -> TextTable {
        let mut operators: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for model in &self.models {
            for operator in model.left_out.keys() {
                operators.entry(operator).or_default().push(&model.spec);
            }
        }
        let mut rows = TextTable::new(&["outside of the graphs", "models", "for example"], 3);
        for (operator, models) in operators {
            let examples = models.iter().take(EXAMPLES).copied().collect::<Vec<_>>();
            rows.push([operator.to_owned(), models.len().to_string(), examples.join("\n")]);
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

/// Returns the status of a model, and the remarks on its samples.
fn result(model: &CapturedModel) -> String {
    let marks = [
        (!model.reduced.is_empty(), "reduced"),
        (!model.left_out.is_empty(), "partial"),
        (!model.custom_operators.is_empty(), "custom operators"),
    ];
    let marks = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark);
    std::iter::once(model.status.as_str()).chain(marks).collect::<Vec<_>>().join(", ")
}
