//! `passnet fleet dataset`: stages of the dataset on a cluster, and the task on one shard.

use std::{
    env,
    path::Path,
    process::{self, ExitCode},
    sync::Arc,
};

use anyhow::Result;
use passnet_dataset::{
    Dataset, Table,
    fold::SizeBounds,
    pipeline::Runners,
    shard::{ShardError, ShardResult, merge_annotations, merge_import, merge_mined, run_shard, stage_of},
};
use passnet_flags::{BuildSuitesArgs, FleetDatasetArgs, FleetStage, FoldMode};
use passnet_fleet::{
    BridgeConfig, FleetError, HelperCluster, HelperFleet, StageRun, TaskCluster, TaskProgress, end_with_parent,
};
use passnet_record::{
    counted,
    stages::{ShardStage, StageHelper},
};
use passnet_services::{Helper, Interpreter, PoolLimits};
use serde_json::Value;

use super::super::{
    dataset::{PoolRunner, build_with, count_with, counting_limits, pool, print_transfer, report_failures, with_table},
    stop::stop_flag,
};
use crate::{
    failure::{UNFIT, interrupted, usage},
    output,
    progress::{ProgressLines, bar},
};

/// Runs a stage on a cluster.
pub(super) fn run(args: &FleetDatasetArgs) -> Result<ExitCode> {
    let unused = Path::new("");
    match &args.stage {
        FleetStage::Import(stage) => {
            if stage.tasks {
                return Err(usage(
                    "a cluster imports whole graphs; use `passnet dataset import --tasks` on one machine",
                ));
            }
            let dataset = Dataset::at(&stage.out);
            let merge = |shards: &[ShardResult]| merge_import(&dataset, &stage.folder, shards);
            let transfer = on_cluster(args, &ShardStage::Import, &dataset, &stage.folder, merge)?;
            transfer.map_or_else(interrupted, |transfer| print_transfer(&dataset, &transfer))
        }
        FleetStage::Annotate(stage) => {
            let dataset = with_table(&stage.dataset, Table::Graphs)?;
            let PoolLimits { memory_bytes, .. } = stage.workers.limits();
            let (max_bytes, seconds, variants) = (stage.max_bytes, stage.seconds, stage.variants);
            let order = ShardStage::Annotate { max_bytes, seconds, memory_bytes, variants };
            let merge = |shards: &[ShardResult]| merge_annotations(&dataset, shards);
            let Some(found) = on_cluster(args, &order, &dataset, unused, merge)? else { return interrupted() };
            output::text(&found.to_string())?;
            report_failures(&dataset, &found.failures)
        }
        FleetStage::Fold(stage) => {
            // Checked here, because a mistake would otherwise show only on the nodes.
            SizeBounds::new(stage.min_ops, stage.max_ops).map_err(|error| usage(error.to_string()))?;
            let (min_ops, end_ops, reach) = (stage.min_ops, stage.max_ops, stage.reach);
            let order = match stage.mode {
                FoldMode::Canonical => ShardStage::Fold { min_ops, end_ops, reach },
                FoldMode::SingleOps => ShardStage::SingleOps,
                FoldMode::Compatible | FoldMode::Fusible => {
                    return Err(usage(
                        "this mode needs all graphs together; use `passnet dataset fold` on one machine",
                    ));
                }
            };
            let dataset = with_table(&stage.dataset, Table::Graphs)?;
            let out = stage.out.as_ref().map_or_else(|| dataset.clone(), Dataset::at);
            let merge = |shards: &[ShardResult]| merge_mined(&order, shards, &out);
            let Some(mined) = on_cluster(args, &order, &dataset, unused, merge)? else { return interrupted() };
            output::text(&mined.to_string())?;
            report_failures(&dataset, &mined.failures)
        }
        FleetStage::Kernels(stage) => {
            with_table(&stage.dataset, Table::Subgraphs)?;
            let limits = counting_limits(stage.workers.limits(), stage.device);
            with_helpers(args, stage.device, |helpers| {
                count_with(stage, &helpers.runner(StageHelper::KernelCounts, limits.memory_bytes))
            })
        }
        FleetStage::BuildSuites(stage) => build(args, stage),
    }
}

fn build(args: &FleetDatasetArgs, stage: &BuildSuitesArgs) -> Result<ExitCode> {
    let limits = stage.workers.limits();
    let counting = counting_limits(limits, stage.device);
    with_helpers(args, stage.device, |helpers| {
        let annotate = helpers.runner(StageHelper::Annotate, limits.memory_bytes);
        let prove = helpers.runner(StageHelper::Prove, limits.memory_bytes);
        let kernels = helpers.runner(StageHelper::KernelCounts, counting.memory_bytes);
        build_with(stage, Runners { annotate: &annotate, kernels: &kernels, prove: &prove })
    })
}

/// Runs a stage on this machine with helpers of the cluster.
fn with_helpers(
    args: &FleetDatasetArgs,
    device: &str,
    stage: impl FnOnce(&HelperFleet) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let command = env::current_exe()?;
    let cluster = HelperCluster { address: &args.address, device, cores: args.task_cores, command: &command };
    let bridge = BridgeConfig::of_helpers(Interpreter::find(), &cluster);
    // The stage waits for an answer that will not arrive, and must not treat this error as an answer. Exiting is always safe,
    // because the stage never leaves an incomplete file.
    #[expect(clippy::exit, reason = "threads that wait for an answer cannot be ended otherwise")]
    let give_up = |error: FleetError| {
        eprintln!("error: {error}");
        process::exit(i32::from(UNFIT));
    };
    stage(&HelperFleet::start(bridge, |text| tracing::warn!("{text}"), Arc::new(give_up))?)
}

/// Runs a stage with a bar. Returns `None` after an interrupt.
fn on_cluster<T>(
    args: &FleetDatasetArgs,
    stage: &ShardStage,
    dataset: &Dataset,
    samples: &Path,
    merge: impl FnOnce(&[ShardResult]) -> Result<T, ShardError>,
) -> Result<Option<T>> {
    let command = env::current_exe()?;
    let cluster = TaskCluster { address: &args.address, cores: args.task_cores, command: &command };
    let bridge = BridgeConfig::of_tasks(Interpreter::find(), &cluster);
    let (line, lines) = (bar(0, "{bar:30} {pos}/{len} shards {msg} {eta}"), ProgressLines::new());
    let progress = |event: TaskProgress<'_>| match event {
        TaskProgress::Begun { done, all } => {
            eprintln!("{}, {done} of them done before", counted(all, "shard"));
            line.set_length(all as u64);
            line.set_position(done as u64);
        }
        TaskProgress::Done { node, done, all } => {
            line.set_position(done as u64);
            line.set_message(node.to_owned());
            lines.show(&|| format!("{done} of {}", counted(all, "shard")));
        }
        TaskProgress::Note(text) => tracing::warn!("{text}"),
    };
    let (graphs, stop) = (args.shard_graphs, stop_flag()?);
    let run = StageRun { stage, dataset, samples, graphs, bridge: &bridge, stop: &stop, progress: &progress };
    let outcome = run.run(merge);
    line.finish_and_clear();
    Ok(outcome?)
}

/// Runs the stage of one shard.
pub(super) fn run_task(folder: &Path, processes: usize) -> Result<ExitCode> {
    end_with_parent();
    if let ShardStage::Annotate { memory_bytes, .. } = stage_of(folder)? {
        run_shard(folder, &PoolRunner(&pool(Helper::Annotate, PoolLimits { processes, memory_bytes })?))?;
    } else {
        run_shard(folder, &|_: &Value| Err("this stage asks no helper".to_owned()))?;
    }
    Ok(ExitCode::SUCCESS)
}
