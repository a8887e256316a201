//! `passnet dataset build-suites`: from sample folders to suites.

use std::process::ExitCode;

use anyhow::{Context, Result};
use passnet_dataset::{
    Dataset,
    folders::check_folder,
    kernels::CountSettings,
    pipeline::{Recipe, Runners, StageProgress, build_suites, plans, training_prefixes},
    suite::{Difficulties, Leak, SuiteLimits, card},
};
use passnet_services::Helper;

use super::{
    found::report_failures,
    helpers::{PoolRunner, counting_limits, pool},
};
use crate::{
    failure::{BAD, usage},
    output,
};
use passnet_flags::BuildSuitesArgs;

/// Runs all stages. A stage skips work that it finished in an earlier call.
pub(super) fn run(args: &BuildSuitesArgs) -> Result<ExitCode> {
    // Checked before the helpers start, which takes seconds.
    args.samples.iter().try_for_each(|samples| check_folder(samples))?;
    let limits = args.workers.limits();
    let (annotate, prove) = (pool(Helper::Annotate, limits)?, pool(Helper::Prove, limits)?);
    let kernels = pool(Helper::KernelCounts, counting_limits(limits, args.device))?;
    let (annotate, kernels, prove) = (PoolRunner(&annotate), PoolRunner(&kernels), PoolRunner(&prove));
    build_with(args, Runners { annotate: &annotate, kernels: &kernels, prove: &prove })
}

/// Runs all stages with runners of any kind.
pub(crate) fn build_with(args: &BuildSuitesArgs, runners: Runners<'_>) -> Result<ExitCode> {
    let recipe = recipe(args)?;
    let (work, out) = (Dataset::at(&args.work), Dataset::at(&args.out));
    // A closed stdout does not stop the stages. The next write of the command reports it.
    let suites = build_suites(&recipe, &work, &out, runners, &|step| drop(print(step)))?;
    if let Some(path) = &args.card {
        fs_err::write(path, card(&suites.suites, &Difficulties::default())?).context("the card cannot be written")?;
    }
    let code = report_failures(&work, &suites.failures)?;
    // A leak fails the command even if all data could be used: the suites must not be published.
    Ok(if suites.leak == Leak::default() { code } else { ExitCode::from(BAD) })
}

fn recipe(args: &BuildSuitesArgs) -> Result<Recipe> {
    let (device, most, longest) = (args.device.to_owned(), args.counted, args.counted_ops);
    let training = training_prefixes(&args.training).map_err(|error| usage(error.to_string()))?;
    Ok(Recipe {
        samples: args.samples.clone(),
        plans: plans(
            (args.fusible, args.graphs),
            (args.classical, args.other_graphs),
            (args.single_op, args.other_graphs),
            (args.backward, args.other_graphs),
        ),
        counting: CountSettings { device, exhaustive: args.exhaustive, most, longest },
        bounds: SuiteLimits {
            max_bytes: args.max_bytes,
            casts: args.casts,
            training,
            split: args.split.unit,
            training_split: !args.no_training,
            evaluated: args.evaluated,
            shares: args.shares.shares(),
            ..SuiteLimits::default()
        },
    })
}

/// Writes results to stdout, progress and remarks to stderr.
fn print(step: StageProgress<'_>) -> Result<()> {
    match step {
        StageProgress::Progress(..) | StageProgress::Remark(_) => eprintln!("{step}"),
        _ => output::text(&step.to_string())?,
    }
    if let StageProgress::Built(built) = step {
        let mut refused: Vec<_> = built.refused.iter().collect();
        refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        refused.iter().for_each(|(reason, count)| eprintln!("refused {count}: {reason}"));
    }
    Ok(())
}
