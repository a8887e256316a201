//! Contents of a dataset: `stats`, `show`, `query`, `card`.

use std::{fmt::Display, process::ExitCode};

use anyhow::Result;
use passnet_dataset::{
    Dataset, Failure, Table,
    query::{Filter, FindError, Stats, describe, find, query, stats},
    suite::card,
};
use passnet_record::counted;

use super::found::{report_failures, with_table};
use crate::{
    args::{CardArgs, Format, QueryArgs, ShowArgs, StatsArgs},
    failure::usage,
    output::{self, Rows},
};

/// Ops that `stats` lists.
const TOP_OPS: usize = 20;

pub(super) fn run_stats(args: &StatsArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, args.table)?;
    let stats = stats(&dataset, args.table)?;
    match args.format {
        Format::Json => output::json(&stats.to_json())?,
        Format::Table => print_stats(&stats)?,
    }
    report_failures(&dataset, &stats.failures)
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
    let dataset = with_table(&args.dataset, args.table)?;
    let row = find(&dataset, args.table, &args.sample).map_err(|error| match error {
        FindError::Store(error) => error.into(),
        error => usage(error.to_string()),
    })?;
    if let Some(name) = &args.file {
        let Some((_, content)) = row.files.iter().find(|(file, _)| file == name) else {
            let names: Vec<&str> = row.files.iter().map(|(file, _)| file).collect();
            return Err(usage(format!("{} has no {name}; it has {}", row.path, names.join(", "))));
        };
        return output::text(&String::from_utf8_lossy(content)).map(|()| ExitCode::SUCCESS);
    }
    output::text(&describe(&row))?;
    Ok(ExitCode::SUCCESS)
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
    let dataset = with_table(&args.dataset, args.table)?;
    for row in query(&dataset, args.table, filter)? {
        match row {
            Ok(_) if left == 0 => break,
            Ok(row) => {
                left -= 1;
                output::text(&format!("{}\t{} ops", row.path, row.ops.len()))?;
            }
            Err(error) => failures.push(Failure::of_store(&error)),
        }
    }
    report_failures(&dataset, &failures)
}

pub(super) fn run_card(args: &CardArgs) -> Result<ExitCode> {
    let suites: Vec<Dataset> = args.suites.iter().map(|path| with_table(path, Table::Tasks)).collect::<Result<_>>()?;
    output::text(card(&suites)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
