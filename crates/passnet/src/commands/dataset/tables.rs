//! Stages that read one table and write another: `import`, `export`, `dedup`, `fold`, `curate`, `prune`, `revise`, `withhold`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use fs_err as fs;
use passnet_dataset::{
    Dataset, Table,
    curate::curate,
    dedup::dedup,
    fold::{CanonicalSettings, CompatibleSettings, FoldPolicy, SizeBounds},
    import::{Transfer, export, import_graphs, import_tasks},
    mine::{Method, mine},
    prune::prune,
    suite::{front_page, revise, withhold},
};
use passnet_record::counted;

use super::found::{report_failures, with_table};
use crate::{
    failure::{check_folder, usage},
    output,
};
use passnet_flags::{
    CurateArgs, DedupArgs, ExportArgs, FoldArgs, FoldMode, ImportArgs, PruneArgs, ReviseArgs, WithholdArgs,
};

pub(super) fn import(args: &ImportArgs) -> Result<ExitCode> {
    check_folder(&args.out)?;
    let dataset = Dataset::at(&args.out);
    let transfer = if args.tasks {
        import_tasks(&dataset, args.kind, &args.folder)?
    } else {
        import_graphs(&dataset, &args.folder)?
    };
    print_transfer(&dataset, &transfer)
}

pub(super) fn run_export(args: &ExportArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, args.table)?;
    check_folder(&args.out)?;
    print_transfer(&dataset, &export(&dataset, args.table, &args.out)?)
}

pub(crate) fn print_transfer(dataset: &Dataset, transfer: &Transfer) -> Result<ExitCode> {
    for file in &transfer.repaired {
        tracing::warn!(
            "{}; {} of it were kept, the others are imported again where their folders are; the old file is kept as `damaged-...`",
            file.error,
            counted(file.kept, "row")
        );
    }
    output::text(&transfer.to_string())?;
    report_failures(dataset, &transfer.failures)
}

pub(super) fn run_dedup(args: &DedupArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, args.table)?;
    let out = args.out.as_ref().map_or_else(|| dataset.clone(), Dataset::at);
    let rung = args.level;
    let found = dedup(&dataset, args.table, rung, &out)?;
    output::table(&found.table())?;
    output::text(&format!("\n{} of {} kept: distinct by {}", found.kept, found.rows, rung.name()))?;
    report_failures(&dataset, &found.failures)
}

pub(super) fn fold(args: &FoldArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, Table::Graphs)?;
    if args.mode == FoldMode::Fusible {
        with_table(&args.dataset, Table::Kernels)?;
    }
    let out = args.out.as_ref().map_or_else(|| dataset.clone(), Dataset::at);
    let bounds = SizeBounds::new(args.min_ops, args.max_ops).map_err(|error| usage(error.to_string()))?;
    let method = match args.mode {
        FoldMode::Canonical => Method::Canonical(CanonicalSettings { bounds, reach: args.reach }),
        FoldMode::Compatible => {
            let folds = Some(args.folds);
            Method::Compatible(CompatibleSettings { window: args.window, folds, policy: FoldPolicy::Savings, bounds })
        }
        FoldMode::SingleOps => Method::SingleOps,
        FoldMode::Fusible => Method::Fusible,
    };
    let mined = mine(&dataset, method, &out)?;
    output::text(&mined.to_string())?;
    report_failures(&dataset, &mined.failures)
}

pub(super) fn run_curate(args: &CurateArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, Table::Subgraphs)?;
    let curated = curate(&dataset, args.eval)?;
    output::text(&curated.to_string())?;
    report_failures(&dataset, &curated.failures)
}

pub(super) fn run_prune(args: &PruneArgs) -> Result<ExitCode> {
    let suite = with_table(&args.suite, Table::Tasks)?;
    let out = args.out.as_ref().map_or_else(|| suite.clone(), Dataset::at);
    let pruned = prune(&suite, &out)?;
    for (path, reason) in &pruned.graphs {
        output::text(&format!("{path}\t{reason}"))?;
    }
    fs::write(out.root().join("README.md"), front_page(&out)?)?;
    let (graphs, tasks) = (pruned.graphs.len(), pruned.tasks.len());
    output::text(&format!("{} and {} removed", counted(graphs, "graph"), counted(tasks, "task")))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run_revise(args: &ReviseArgs) -> Result<ExitCode> {
    let suite = with_table(&args.suite, Table::Tasks)?;
    let out = args.out.as_ref().map_or_else(|| suite.clone(), Dataset::at);
    let (pool, without) = (all_existing(&args.from)?, all_existing(&args.without)?);
    let revised = revise(&suite, &pool, &without, args.tasks, args.shares.shares(), &out)?;
    fs::write(out.root().join("README.md"), front_page(&out)?)?;
    output::text(&format!(
        "{} kept; {} trivial and {} of other fields left; {} came from other suites",
        counted(revised.kept, "task"),
        revised.trivial,
        revised.crowded,
        revised.added
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run_withhold(args: &WithholdArgs) -> Result<ExitCode> {
    let train = with_table(&args.train, Table::Tasks)?;
    let out = args.out.as_ref().map_or_else(|| train.clone(), Dataset::at);
    let (tasks, graphs) = withhold(&train, &all_existing(&args.suites)?, args.split.unit, &out)?;
    fs::write(out.root().join("README.md"), front_page(&out)?)?;
    output::text(&format!("{} and {} removed", counted(graphs, "graph"), counted(tasks, "task")))?;
    Ok(ExitCode::SUCCESS)
}

fn all_existing(paths: &[PathBuf]) -> Result<Vec<Dataset>> {
    paths.iter().map(|path| with_table(path, Table::Tasks)).collect()
}
