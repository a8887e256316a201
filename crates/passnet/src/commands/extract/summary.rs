//! Summary that `passnet extract` prints at the end: the models, and the failures by kind.

use std::collections::BTreeMap;

use anyhow::Result;
use passnet_dataset::capture::{Model, Summary};

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
    if summary.partial > 0 {
        print_left_out(summary)?;
    }
    let rate = 100.0 * summary.captured as f64 / (summary.models.len().max(1)) as f64;
    let Summary { captured, failed, reused, graphs, ops, cpu_seconds, partial, custom, .. } = summary;
    let mut text = format!(
        "{captured} captured ({rate:.1} %), {failed} failed, {reused} of them known before; {graphs} graphs, {ops} ops, \
             {cpu_seconds:.0} CPU s"
    );
    if *partial > 0 {
        text += &format!("; {partial} partial: Dynamo passed over parts of them");
    }
    if *custom > 0 {
        text += &format!("; {custom} with operators that PyTorch does not define");
    }
    output::text(&text)
}

fn print_models(summary: &Summary) -> Result<()> {
    let mut rows = Rows::new(&["model", "result", "graphs", "ops", "CPU s"], 2);
    for model in &summary.models {
        rows.push([
            model.spec.clone(),
            result(model),
            model.folders.len().to_string(),
            model.ops.iter().sum::<usize>().to_string(),
            format!("{:.1}", model.cpu_seconds),
        ]);
    }
    rows.print()
}

/// The status of a model, and what its samples say of themselves.
fn result(model: &Model) -> String {
    let marks = [
        (!model.reduced.is_empty(), "reduced"),
        (!model.left_out.is_empty(), "partial"),
        (!model.custom_operators.is_empty(), "custom operators"),
    ];
    let marks = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark);
    std::iter::once(model.status.as_str()).chain(marks).collect::<Vec<_>>().join(", ")
}

/// The parts that Dynamo passed over, by operator, with the models that have them.
fn print_left_out(summary: &Summary) -> Result<()> {
    let mut operators: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for model in &summary.models {
        for operator in model.left_out.keys() {
            operators.entry(operator).or_default().push(&model.spec);
        }
    }
    let mut rows = Rows::new(&["outside of the graphs", "models", "for example"], 3);
    for (operator, models) in operators {
        let examples = models.iter().take(EXAMPLES).copied().collect::<Vec<_>>();
        rows.push([operator.to_owned(), models.len().to_string(), examples.join("\n")]);
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
