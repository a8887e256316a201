//! `passnet traj teach`: the work of the built-in author as trajectories.

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use passnet_agent::{
    Assignment, Evaluator, Limits, RunOptions, RunPlan, Task, Templates, VerdictCache,
    teach::{Approach, Lesson, Teacher, lessons},
};
use passnet_author::TypedGraph;
use passnet_dataset::open_suite;
use passnet_record::SuiteTask;
use passnet_run::Suite;

use crate::{
    args::TeachArgs,
    commands::{agent, referee, stop::stop_flag},
    failure::BAD,
    output,
};

/// Graphs that are taught together, and what there is to teach about them.
struct Unit {
    task: Task,
    /// Index of this part of its task, from 0.
    part: usize,
    lessons: Vec<Lesson>,
    /// About how long its graphs take, in nanoseconds.
    time: u64,
}

/// Has every lesson given, or continues with those that were not. Leaves with 1 where some are left.
pub(super) fn run(args: &TeachArgs) -> Result<ExitCode> {
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let stop = stop_flag()?;
    let evaluations = args.evaluations.unwrap_or(args.jobs);
    let referee = referee::start(&args.measure, Some(evaluations))?.sharing_kernels();
    fs_err::create_dir_all(&args.out)?;
    let evaluator = Evaluator::new(referee, VerdictCache::open(&args.out.join("verdicts.jsonl"))?);
    let mut units = units(&evaluator, &suite, args)?;
    // What is done soon comes first, so that a run that is ended early has the most to show; no task waits for the second
    // graph of another.
    units.sort_by_key(|unit| (unit.part, unit.time));
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut assignments, mut taught) = (Vec::new(), Vec::new());
    for unit in &units {
        let number = numbers.entry(&unit.task.id).or_default();
        for lesson in &unit.lessons {
            assignments.push(Assignment { task: &unit.task, attempt: *number });
            taught.push(((unit.task.id.clone(), *number), lesson.clone()));
            *number += 1;
        }
    }
    if assignments.is_empty() {
        bail!("the built-in author writes no pass for any of the {} tasks", suite.record.tasks.len());
    }
    eprintln!("{} for {} of {} tasks", counted(&taught), numbers.len(), suite.record.tasks.len());
    let limits = Limits {
        steps: 50,
        tokens: None,
        cost_usd: None,
        time: Duration::from_secs(24 * 3600),
        patience: None,
        context: u64::MAX >> 8,
    };
    let options = RunOptions {
        attempts: 1,
        jobs: args.jobs,
        limits,
        seed: 0,
        tokens: None,
        cost_usd: None,
        templates: Templates::default(),
    };
    let plan = RunPlan { suite: &suite, assignments: &assignments };
    let line = agent::AgentLine::new(assignments.len());
    let show = |update: passnet_agent::Update<'_>| line.show(&update);
    let outcome =
        passnet_agent::run_assigned(&evaluator, plan, &Teacher::new(taught), &options, &args.out, &stop, &show);
    line.finish();
    let outcome = outcome.with_context(|| format!("run in {}", args.out.display()))?;
    for suspended in &outcome.suspended {
        eprintln!("{} could not continue: {}", suspended.task, suspended.why);
    }
    let useful = outcome.trajectories.iter().filter(|trajectory| trajectory.score > 1.0).count();
    output::text(&format!("{} trajectories, {useful} of them with a score above 1", outcome.trajectories.len()))?;
    Ok(if outcome.complete { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

/// All lessons of the suite, by the graphs that they are about: those of a task together, or each by itself.
fn units(evaluator: &Evaluator, suite: &Suite, args: &TeachArgs) -> Result<Vec<Unit>> {
    let mut parts: Vec<(usize, SuiteTask)> = Vec::new();
    for task in &suite.record.tasks {
        if args.each_graph {
            let visible = task.graphs.iter().filter(|graph| !task.held_out.contains(graph)).enumerate();
            let alone =
                |graph: &String| SuiteTask { graphs: vec![graph.clone()], held_out: Vec::new(), ..task.clone() };
            parts.extend(visible.map(|(part, graph)| (part, alone(graph))));
        } else {
            parts.push((0, task.clone()));
        }
    }
    let (units, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((part, record)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let unit = unit(evaluator, suite, *part, record);
                    units.lock().unwrap_or_else(PoisonError::into_inner).push((record.id.clone(), unit));
                }
            });
        }
    });
    let mut taught = Vec::new();
    for (task, unit) in units.into_inner().unwrap_or_else(PoisonError::into_inner) {
        match unit {
            Ok(unit) => taught.push(unit),
            // One graph that cannot be read is no reason to teach nothing.
            Err(why) => eprintln!("{task} is left out: {why:#}"),
        }
    }
    taught.retain(|unit| !unit.lessons.is_empty());
    // By name first: which number an attempt gets must not depend on which thread was done when.
    taught.sort_by(|a, b| (&a.task.id, a.part).cmp(&(&b.task.id, b.part)));
    Ok(taught)
}

fn unit(evaluator: &Evaluator, suite: &Suite, part: usize, record: &SuiteTask) -> Result<Unit> {
    let task = Task::read(suite, record)?;
    let typed: &[TypedGraph] = task.typed(evaluator.propagator()).map_err(|why| anyhow!("{why}"))?;
    let (lessons, time) = (lessons(typed, evaluator.propagator().target())?, Task::rough_time(typed));
    Ok(Unit { part, lessons, time, task })
}

/// Returns the number of lessons of each kind, as text.
fn counted(taught: &[((String, u32), Lesson)]) -> String {
    let count = |approach| taught.iter().filter(|(_, lesson)| lesson.approach == approach).count();
    format!(
        "{} lessons ({} begin with an operation each, {} with two halves, {} with one of several passes, {} with everything)",
        taught.len(),
        count(Approach::Operations),
        count(Approach::Halves),
        count(Approach::FirstPass),
        count(Approach::Whole)
    )
}
