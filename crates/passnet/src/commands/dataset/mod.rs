//! `passnet dataset`: stages over a dataset on disk.

mod measure;
mod runner;
mod unpack;

use std::{fmt::Display, path::PathBuf, process::ExitCode};

use anyhow::Result;
use passnet_dataset::{
    Dataset, Failure, Table,
    curate::curate,
    dedup::dedup,
    fold::{CanonicalSettings, CompatibleSettings, Policy, SizeBounds},
    hashes::Rung,
    import::{Transfer, export, import_graphs, import_tasks},
    mine::{Method, mine},
    query::{Filter, Stats, query, stats},
    store::SampleRow,
};
use serde_json::json;

use crate::{
    args::{
        CurateArgs, DatasetCommand, DedupArgs, ExportArgs, FoldArgs, FoldMode, Format, ImportArgs, QueryArgs, ShowArgs,
        StatsArgs,
    },
    failure::{BAD, usage},
    output::{self, Rows},
};

pub(crate) use unpack::suite_folder;

/// Ops that `stats` lists.
const TOP_OPS: usize = 20;

/// Runs one stage. Leaves with 1 where something could not be used.
pub(crate) fn run(command: &DatasetCommand) -> Result<ExitCode> {
    match command {
        DatasetCommand::Import(args) => import(args),
        DatasetCommand::Dedup(args) => run_dedup(args),
        DatasetCommand::Fold(args) => fold(args),
        DatasetCommand::Curate(args) => run_curate(args),
        DatasetCommand::Stats(args) => run_stats(args),
        DatasetCommand::Show(args) => show(args),
        DatasetCommand::Query(args) => run_query(args),
        DatasetCommand::Export(args) => run_export(args),
        DatasetCommand::Annotate(args) => measure::run_annotate(args),
        DatasetCommand::Kernels(args) => measure::run_kernels(args),
        DatasetCommand::Card(args) => measure::run_card(args),
        DatasetCommand::BuildSuites(args) => measure::run_build_suites(args),
    }
}

/// A dataset that has to be there.
fn existing(path: &PathBuf) -> Result<Dataset> {
    if path.is_dir() {
        return Ok(Dataset::at(path));
    }
    Err(usage(format!("{}: there is no dataset; `passnet dataset import FOLDER --out DIR` makes one", path.display())))
}

fn import(args: &ImportArgs) -> Result<ExitCode> {
    let dataset = Dataset::at(&args.out);
    let transfer = if args.tasks {
        import_tasks(&dataset, args.kind, &args.folder)?
    } else {
        import_graphs(&dataset, &args.folder)?
    };
    print_transfer(&transfer)
}

fn run_export(args: &ExportArgs) -> Result<ExitCode> {
    print_transfer(&export(&existing(&args.dataset)?, args.table.into(), &args.out)?)
}

fn print_transfer(transfer: &Transfer) -> Result<ExitCode> {
    let Transfer { samples, tasks, present, failures } = transfer;
    output::text(&format!("{samples} samples and {tasks} tasks written, {present} were there"))?;
    leave(failures)
}

fn run_dedup(args: &DedupArgs) -> Result<ExitCode> {
    let dataset = existing(&args.dataset)?;
    let out = args.out.as_ref().map_or_else(|| dataset.clone(), Dataset::at);
    let rung = Rung::from(args.level);
    let found = dedup(&dataset, args.table.into(), rung, &out)?;
    let mut table = Rows::new(&["equal by", "distinct"], 1);
    for (rung, distinct) in &found.distinct {
        table.push([rung.name().to_owned(), distinct.to_string()]);
    }
    table.print()?;
    output::text(&format!("\n{} of {} kept: distinct by {}", found.kept, found.rows, rung.name()))?;
    leave(&found.failures)
}

fn fold(args: &FoldArgs) -> Result<ExitCode> {
    let dataset = existing(&args.dataset)?;
    let out = args.out.as_ref().map_or_else(|| dataset.clone(), Dataset::at);
    let bounds = SizeBounds::new(args.min_ops, args.max_ops).map_err(|error| usage(error.to_string()))?;
    let method = match args.mode {
        FoldMode::Canonical => Method::Canonical(CanonicalSettings { bounds, reach: args.reach }),
        FoldMode::Compatible => {
            let folds = Some(args.folds);
            Method::Compatible(CompatibleSettings { window: args.window, folds, policy: Policy::Savings, bounds })
        }
        FoldMode::SingleOps => Method::SingleOps,
        FoldMode::Fusible => Method::Fusible,
    };
    let mined = mine(&dataset, method, &out)?;
    let percent = 100.0 * mined.covered as f64 / mined.ops.max(1) as f64;
    output::text(&format!(
        "{} distinct subgraphs in {} ranges of {} graphs; {percent:.1}% of {} ops covered",
        mined.subgraphs, mined.ranges, mined.graphs, mined.ops
    ))?;
    leave(&mined.failures)
}

fn run_curate(args: &CurateArgs) -> Result<ExitCode> {
    let curated = curate(&existing(&args.dataset)?, args.eval)?;
    output::text(&format!(
        "{} tasks for evaluation, {} for training; {} graphs withheld from training, their structure is evaluated",
        curated.eval, curated.train, curated.withheld
    ))?;
    leave(&curated.failures)
}

fn run_stats(args: &StatsArgs) -> Result<ExitCode> {
    let stats = stats(&existing(&args.dataset)?, args.table.into())?;
    match args.format {
        Format::Json => output::json(&stats_json(&stats))?,
        Format::Table => print_stats(&stats)?,
    }
    leave(&stats.failures)
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
    output::text(&format!("{} samples, {} ops", stats.samples, stats.ops))?;
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

fn show(args: &ShowArgs) -> Result<ExitCode> {
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

/// The sample with this path, or the only one whose path ends so. What is damaged is passed over, and told if there is none.
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

fn run_query(args: &QueryArgs) -> Result<ExitCode> {
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
    leave(&failures)
}

/// Lists what could not be used on stderr, and says with which code to leave.
fn leave(failures: &[Failure]) -> Result<ExitCode> {
    for failure in failures {
        // What the store says begins with the file.
        if failure.message.starts_with(&failure.what) {
            tracing::error!("{}", failure.message);
        } else {
            tracing::error!("{}: {}", failure.what, failure.message);
        }
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}
