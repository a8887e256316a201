//! `passnet traj teach`: the work of the built-in author as trajectories.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use passnet_agent::{Evaluator, VerdictCache, course::Course};
use passnet_dataset::open_suite;

use crate::{
    commands::{agent, referee, stop::stop_flag},
    failure::checked,
    output,
};
use passnet_flags::TeachArgs;

/// Writes all trajectories, or continues with the missing ones. Returns exit code 1 if some are still missing.
pub(super) fn run(args: &TeachArgs) -> Result<ExitCode> {
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let stop = stop_flag()?;
    let evaluations = args.evaluations.unwrap_or(args.jobs);
    let referee = referee::start(&args.measure, Some(evaluations))?.sharing_kernels();
    fs_err::create_dir_all(&args.out)?;
    let evaluator = Evaluator::new(referee, VerdictCache::open(&args.out.join("verdicts.jsonl"))?);
    let mut course = Course::prepare(&evaluator, &suite, args.each_graph);
    for (task, why) in course.left_out.drain(..) {
        eprintln!("{task} is skipped: {:#}", anyhow!(why));
    }
    if course.is_empty() {
        bail!("the built-in author writes no pass for any of the {} tasks", suite.record.tasks.len());
    }
    eprintln!("{course} for {} of {} tasks", course.tasks(), suite.record.tasks.len());
    let line = agent::AgentLine::new(course.len());
    let outcome = course.give(&evaluator, &suite, args.jobs, &args.out, &stop, &|update| line.show(&update));
    line.finish();
    let outcome = outcome.with_context(|| format!("run in {}", args.out.display()))?;
    for suspended in &outcome.suspended {
        eprintln!("{} could not continue: {}", suspended.task, suspended.why);
    }
    let useful = outcome.trajectories.iter().filter(|trajectory| trajectory.score > 1.0).count();
    output::text(&format!("{} trajectories, {useful} of them with a score above 1", outcome.trajectories.len()))?;
    checked(outcome.complete)
}
