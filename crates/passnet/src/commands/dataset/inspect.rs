//! Contents of a dataset: `stats`, `show`, `query`, `card`.

use std::{fmt::Display, process::ExitCode};

use anyhow::Result;
use passnet_dataset::{
    Dataset, Failure, Table,
    hashes::Rung,
    query::{Filter, Stats, query, stats},
    store::SampleRow,
    suite::card,
};
use passnet_record::counted;
use serde_json::json;

use super::found::{existing, report_failures};
use crate::{
    args::{CardArgs, Format, QueryArgs, ShowArgs, StatsArgs},
    failure::usage,
    output::{self, Rows},
};

/// Ops that `stats` lists.
const TOP_OPS: usize = 20;

pub(super) fn run_stats(args: &StatsArgs) -> Result<ExitCode> {
    let stats = stats(&existing(&args.dataset)?, args.table.into())?;
    match args.format {
        Format::Json => output::json(&stats_json(&stats))?,
        Format::Table => print_stats(&stats)?,
    }
    report_failures(&stats.failures)
}

fn stats_json(stats: &Stats) -> serde_json::Value {
    let named = |counts: &mut dyn Iterator<Item = (String, usize)>| {
        serde_json::Value::Object(counts.map(|(name, count)| (name, json!(count))).collect())
    };
    json!({
        "schema_version": passnet_record::SCHEMA_VERSION,
        "samples": stats.samples,
        "ops": stats.ops,
        "by_size": named(&mut stats.by_size.iter().map(|(log, count)| (1_u64 << log, count)).map(|(n, c)| (n.to_string(), *c))),
        "by_source": stats.by_source,
        "by_domain": stats.by_domain,
        "by_kind": named(&mut stats.by_kind.iter().map(|(kind, count)| (kind.to_string(), *count))),
        "by_dtype": named(&mut stats.by_dtype.iter().map(|(dtype, count)| (dtype.to_string(), *count))),
        "by_op": stats.by_op,
        "distinct": named(&mut stats.distinct.iter().map(|(rung, count)| (rung.name().to_owned(), *count))),
    })
}

fn print_stats(stats: &Stats) -> Result<()> {
    output::text(&format!("{}, {}", counted(stats.samples, "sample"), counted(stats.ops, "op")))?;
    counts("equal by", stats.distinct.iter().map(|(rung, count)| (rung.name(), *count)))?;
    counts("kind", stats.by_kind.iter().map(|(kind, count)| (kind, *count)))?;
    counts("source", stats.by_source.iter().map(|(source, count)| (source, *count)))?;
    counts("domain", stats.by_domain.iter().map(|(domain, count)| (domain, *count)))?;
    let size = |log: &u32| format!("{}..{}", 1_u64 << log, (1_u64 << log) * 2);
    counts("ops in graph", stats.by_size.iter().map(|(log, count)| (size(log), *count)))?;
    counts("input dtype", stats.by_dtype.iter().map(|(dtype, count)| (dtype, *count)))?;
    let mut ops: Vec<(&String, usize)> = stats.by_op.iter().map(|(op, count)| (op, *count)).collect();
    ops.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ops.truncate(TOP_OPS);
    counts("op", ops)
}

fn counts(title: &str, rows: impl IntoIterator<Item = (impl Display, usize)>) -> Result<()> {
    let mut table = Rows::new(&[title, "count"], 1);
    rows.into_iter().for_each(|(name, count)| table.push([name.to_string(), count.to_string()]));
    output::text("")?;
    table.print()
}

pub(super) fn show(args: &ShowArgs) -> Result<ExitCode> {
    let dataset = existing(&args.dataset)?;
    let table = Table::from(args.table);
    let row = find(&dataset, table, &args.sample)?;
    if let Some(name) = &args.file {
        let Some((_, content)) = row.files.iter().find(|(file, _)| file == name) else {
            let names: Vec<&str> = row.files.iter().map(|(file, _)| file).collect();
            return Err(usage(format!("{} has no {name}; it has {}", row.path, names.join(", "))));
        };
        return output::text(&String::from_utf8_lossy(content)).map(|()| ExitCode::SUCCESS);
    }
    let optional = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut lines = vec![
        row.path.clone(),
        format!("kind      {}", row.kind),
        format!("source    {}", optional(&row.source)),
        format!("domain    {}", optional(&row.domain)),
        format!("ops       {}", row.ops.len()),
        format!("inputs    {}", row.inputs.len()),
    ];
    for rung in Rung::ALL {
        lines.push(format!("{:<9} {}", rung.name(), rung.of(&row.hashes).unwrap_or("-")));
    }
    let origins =
        row.origins.iter().map(|origin| format!("{} [{}, {})", origin.path, origin.range.start, origin.range.end));
    lines.extend(origins.map(|origin| format!("from      {origin}")));
    lines.extend(row.duplicates.iter().map(|path| format!("equals    {path}")));
    lines.extend(row.files.iter().map(|(name, content)| format!("file      {name} ({} bytes)", content.len())));
    output::text(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The sample with this path, or the only one whose path ends so. Damaged rows are skipped, and reported if there is no such sample.
fn find(dataset: &Dataset, table: Table, name: &str) -> Result<SampleRow> {
    let mut found: Option<SampleRow> = None;
    let mut damage = None;
    for row in dataset.read::<SampleRow>(table)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                damage.get_or_insert(error);
                continue;
            }
        };
        if row.path == name {
            return Ok(row);
        }
        if row.path.ends_with(name) {
            if let Some(other) = found {
                return Err(usage(format!(
                    "both {} and {} end in `{name}`; give more of the path",
                    other.path, row.path
                )));
            }
            found = Some(row);
        }
    }
    match (found, damage) {
        (Some(row), _) => Ok(row),
        (None, Some(error)) => Err(error.into()),
        (None, None) => {
            Err(usage(format!("no sample of {table} ends in `{name}`; `passnet dataset query` lists them")))
        }
    }
}

pub(super) fn run_query(args: &QueryArgs) -> Result<ExitCode> {
    let filter = Filter {
        ops: args.op.clone(),
        dtype: args.dtype,
        min_input_bytes: args.min_input_bytes,
        source: args.source.clone(),
        kind: args.kind,
        min_ops: args.min_ops,
        max_ops: args.max_ops,
    };
    let mut failures = Vec::new();
    let mut left = args.limit.unwrap_or(usize::MAX);
    for row in query(&existing(&args.dataset)?, args.table.into(), filter)? {
        match row {
            Ok(_) if left == 0 => break,
            Ok(row) => {
                left -= 1;
                output::text(&format!("{}\t{} ops", row.path, row.ops.len()))?;
            }
            Err(error) => {
                failures.push(Failure { what: error.path().display().to_string(), message: error.to_string() })
            }
        }
    }
    report_failures(&failures)
}

pub(super) fn run_card(args: &CardArgs) -> Result<ExitCode> {
    let suites: Vec<Dataset> = args.suites.iter().map(|path| existing(path)).collect::<Result<_>>()?;
    output::text(card(&suites)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
