//! `passnet traj teach`: the work of the built-in author as trajectories.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use passnet_agent::{Evaluator, VerdictCache, course::Course};
use passnet_dataset::open_suite;
use passnet_flags::TeachArgs;
use passnet_record::{agent::Style, counted};

use crate::{
    commands::{agent, referee, stop::stop_flag},
    failure::{check_folder, exit_code, usage},
    output,
};

/// Writes all trajectories, or continues with the missing ones. Returns exit code 1 if some are still missing.
pub(super) fn run(args: &TeachArgs) -> Result<ExitCode> {
    check_folder(&args.out)?;
    let mut suite = open_suite(&args.suite, &args.selection.selection())?;
    if let Some(shard) = args.shard {
        let tasks = suite.record.tasks.len();
        shard.keep(&mut suite.record.tasks);
        if suite.record.tasks.is_empty() {
            let (number, of) = (shard.number, shard.of);
            return Err(usage(format!("--shard {number}/{of}: there are only {}", counted(tasks, "task"))));
        }
    }
    let stop = stop_flag()?;
    let evaluations = args.evaluations.unwrap_or(args.jobs);
    let referee = referee::start(&args.measure, Some(evaluations))?.sharing_kernels();
    fs_err::create_dir_all(&args.out)?;
    let evaluator = Evaluator::new(referee, VerdictCache::open(&args.out.join("verdicts.jsonl"))?);
    let styles = if args.style.is_empty() { Style::ALL.into() } else { args.style.iter().copied().collect() };
    let mut course = Course::prepare(&evaluator, &suite, args.each_graph, &styles);
    for (task, why) in course.left_out.drain(..) {
        eprintln!("{task} is skipped: {:#}", anyhow!(why));
    }
    if course.is_empty() {
        bail!("the built-in author writes no pass for any of {}", counted(suite.record.tasks.len(), "task"));
    }
    let count = format!("{course} for {} of {}", course.tasks(), counted(suite.record.tasks.len(), "task"));
    if args.count {
        output::text(&count)?;
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{count}");
    let line = agent::AgentLine::new(course.len());
    let outcome = course.give(&evaluator, &suite, args.jobs, &args.out, &stop, &|update| line.show(&update));
    line.finish();
    let outcome = outcome.with_context(|| format!("run in {}", args.out.display()))?;
    for suspended in &outcome.suspended {
        eprintln!("{} could not continue: {}", suspended.task, suspended.why);
    }
    let useful = outcome.trajectories.iter().filter(|trajectory| trajectory.score > 1.0).count();
    let left_out = match outcome.dropped {
        0 => String::new(),
        count => format!("; {count} are left out, because their mistake was not noticed or not corrected"),
    };
    let kept = outcome.trajectories.len();
    output::text(&format!("{}, {useful} of them with a score above 1{left_out}", counted(kept, "trajectory")))?;
    exit_code(outcome.complete)
}
