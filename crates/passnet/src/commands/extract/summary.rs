//! Summary that `passnet extract` prints at the end: the models, and the failures by kind.

use anyhow::Result;
use passnet_dataset::capture::Summary;

use crate::output::{self, Rows};

/// Models are listed one by one up to this number.
const LISTED: usize = 40;
/// Failures of one kind that are named.
const EXAMPLES: usize = 5;

/// Writes tables for people.
pub(super) fn print(summary: &Summary) -> Result<()> {
    if summary.models.len() <= LISTED {
        print_models(summary)?;
    }
    if summary.failed > 0 {
        print_failures(summary)?;
    }
    let rate = 100.0 * summary.captured as f64 / (summary.models.len().max(1)) as f64;
    let Summary { captured, failed, reused, graphs, ops, cpu_seconds, .. } = summary;
    output::text(&format!(
        "{captured} captured ({rate:.1} %), {failed} failed, {reused} of them known before; {graphs} graphs, {ops} ops, \
             {cpu_seconds:.0} CPU s"
    ))
}

fn print_models(summary: &Summary) -> Result<()> {
    let mut rows = Rows::new(&["model", "result", "graphs", "ops", "CPU s"], 2);
    for model in &summary.models {
        rows.push([
            model.spec.clone(),
            if model.reduced.is_empty() { model.status.clone() } else { format!("{}, reduced", model.status) },
            model.folders.len().to_string(),
            model.ops.iter().sum::<usize>().to_string(),
            format!("{:.1}", model.cpu_seconds),
        ]);
    }
    rows.print()
}

fn print_failures(summary: &Summary) -> Result<()> {
    let mut rows = Rows::new(&["failure", "models", "for example"], 3);
    for (status, count) in &summary.failures {
        let of_kind = summary.models.iter().filter(|model| &model.status == status).take(EXAMPLES);
        let examples: Vec<String> = of_kind.map(|model| format!("{}: {}", model.spec, model.reason)).collect();
        rows.push([status.clone(), count.to_string(), examples.join("\n")]);
    }
    rows.print()
}
