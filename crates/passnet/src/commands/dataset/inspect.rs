//! Contents of a dataset: `stats`, `show`, `query`, `card`, `leaks`.

use std::process::ExitCode;

use anyhow::Result;
use passnet_dataset::{
    Dataset, SkippedData, Table,
    query::{Filter, FindError, describe, find, query, stats},
    suite::{Difficulties, SuiteLeaks, card, leak_report},
};

use passnet_record::counted;

use super::found::{report_failures, with_table};
use crate::{
    failure::{exit_code, usage},
    output,
};
use passnet_flags::{CardArgs, LeaksArgs, OutputFormat, QueryArgs, ShowArgs, StatsArgs};

pub(super) fn run_stats(args: &StatsArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, args.table)?;
    let stats = stats(&dataset, args.table)?;
    match args.format {
        OutputFormat::Json => output::json(&stats.printed())?,
        OutputFormat::Table => output::report(&stats.text_report())?,
    }
    report_failures(&dataset, &stats.failures)
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
                output::text(&format!("{}\t{}", row.path, counted(row.ops.len(), "op")))?;
            }
            Err(error) => failures.push(SkippedData::of_store(&error)),
        }
    }
    report_failures(&dataset, &failures)
}

pub(super) fn run_card(args: &CardArgs) -> Result<ExitCode> {
    let suites: Vec<Dataset> = args.suites.iter().map(|path| with_table(path, Table::Tasks)).collect::<Result<_>>()?;
    let difficulties = args.difficulty.as_deref().map(Difficulties::read).transpose()?.unwrap_or_default();
    output::text(card(&suites, &difficulties)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Exits with 1 if there is a hard leak; soft ones are reported only.
pub(super) fn run_leaks(args: &LeaksArgs) -> Result<ExitCode> {
    let train = with_table(&args.train, Table::Tasks)?;
    let suites: Vec<Dataset> = args.suites.iter().map(|path| with_table(path, Table::Tasks)).collect::<Result<_>>()?;
    let report = leak_report(&suites, &train, args.min_ops)?;
    match args.format {
        OutputFormat::Json => output::json(&report)?,
        OutputFormat::Table => output::report(&report.text_report())?,
    }
    exit_code(!report.suites.iter().any(SuiteLeaks::is_hard))
}
