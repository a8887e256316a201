//! Stages that read one table and write another: `import`, `export`, `dedup`, `fold`, `curate`, `prune`.

use std::process::ExitCode;

use anyhow::Result;
use fs_err as fs;
use passnet_dataset::{
    Dataset,
    curate::curate,
    dedup::dedup,
    fold::{CanonicalSettings, CompatibleSettings, Policy, SizeBounds},
    import::{Transfer, export, import_graphs, import_tasks},
    mine::{Method, mine},
    prune::prune,
    suite::front_page,
};
use passnet_record::counted;

use super::found::{existing, report_failures};
use crate::{
    args::{CurateArgs, DedupArgs, ExportArgs, FoldArgs, FoldMode, ImportArgs, PruneArgs},
    failure::usage,
    output,
};

pub(super) fn import(args: &ImportArgs) -> Result<ExitCode> {
    let dataset = Dataset::at(&args.out);
    let transfer = if args.tasks {
        import_tasks(&dataset, args.kind, &args.folder)?
    } else {
        import_graphs(&dataset, &args.folder)?
    };
    print_transfer(&transfer)
}

pub(super) fn run_export(args: &ExportArgs) -> Result<ExitCode> {
    print_transfer(&export(&existing(&args.dataset)?, args.table, &args.out)?)
}

fn print_transfer(transfer: &Transfer) -> Result<ExitCode> {
    output::text(&transfer.to_string())?;
    report_failures(&transfer.failures)
}

pub(super) fn run_dedup(args: &DedupArgs) -> Result<ExitCode> {
    let dataset = existing(&args.dataset)?;
    let out = args.out.as_ref().map_or_else(|| dataset.clone(), Dataset::at);
    let rung = args.level;
    let found = dedup(&dataset, args.table, rung, &out)?;
    output::table(&found.table())?;
    output::text(&format!("\n{} of {} kept: distinct by {}", found.kept, found.rows, rung.name()))?;
    report_failures(&found.failures)
}

pub(super) fn fold(args: &FoldArgs) -> Result<ExitCode> {
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
    output::text(&mined.to_string())?;
    report_failures(&mined.failures)
}

pub(super) fn run_curate(args: &CurateArgs) -> Result<ExitCode> {
    let curated = curate(&existing(&args.dataset)?, args.eval)?;
    output::text(&curated.to_string())?;
    report_failures(&curated.failures)
}

pub(super) fn run_prune(args: &PruneArgs) -> Result<ExitCode> {
    let suite = existing(&args.suite)?;
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
