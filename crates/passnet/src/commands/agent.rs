//! `passnet agent`: a language model works on tasks.

mod replay;
mod server;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use passnet_agent::{
    Evaluator, Event, Limits, Model, RunOptions, RunOutcome, Templates, Trajectory, Update, Usage, VerdictCache,
};
use passnet_eval::{Referee, suite::Suite};

pub(super) use self::server::client;
use super::{dataset::suite_folder, measure, stop::stop_flag};
use crate::{
    args::{AgentCommand, AgentRunArgs, AttemptArgs},
    failure::{BAD, unfit},
    output::Rows,
};

/// Runs a subcommand.
pub(crate) fn run(command: &AgentCommand) -> Result<ExitCode> {
    match command {
        AgentCommand::Run(args) => attempt_all(args),
        AgentCommand::Replay(args) => replay::run(args),
    }
}

fn attempt_all(args: &AgentRunArgs) -> Result<ExitCode> {
    let suite = Suite::load(&suite_folder(&args.suite)?, &args.selection.selection())?;
    let directory = args.out.clone().unwrap_or_else(|| default_directory(&suite, &args.model));
    let options = run_options(&args.attempt, args.jobs, args.measure.seed.unwrap_or(0))?;
    let model = client(&args.model, &args.server)?;
    let stop = stop_flag()?;
    let referee = measure::referee(&args.measure, args.evaluations)?;
    let outcome = attempt_suite(referee, &suite, &model, &options, &directory, &stop)?.1;
    finish(&outcome, &directory)
}

/// Runs the attempts with a progress line; gives the evaluator back for further use.
pub(super) fn attempt_suite(
    referee: Referee,
    suite: &Suite,
    model: &dyn Model,
    options: &RunOptions,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<(Evaluator, RunOutcome)> {
    fs_err::create_dir_all(directory)?;
    let evaluator = Evaluator::new(referee, VerdictCache::open(&directory.join("verdicts.jsonl"))?).with_cpu_tier()?;
    let line = AgentLine::new(suite.record.tasks.len() * options.attempts as usize);
    let outcome = passnet_agent::run(&evaluator, suite, model, options, directory, stop, &|update| line.show(&update));
    line.finish();
    let outcome = outcome.with_context(|| format!("run in {}", directory.display()))?;
    Ok((evaluator, outcome))
}

/// From flags to options.
pub(super) fn run_options(args: &AttemptArgs, jobs: usize, seed: u64) -> Result<RunOptions> {
    let templates = match &args.prompts {
        Some(directory) => Templates::read(directory).with_context(|| directory.display().to_string())?,
        None => Templates::default(),
    };
    let limits = Limits {
        steps: args.steps,
        tokens: args.attempt_tokens,
        cost_usd: args.attempt_cost,
        time: Duration::try_from_secs_f64(args.attempt_time).unwrap_or(Duration::MAX),
        patience: args.patience,
        context: args.context,
    };
    let (tokens, cost_usd) = (args.run_tokens, args.run_cost);
    Ok(RunOptions { attempts: args.attempts, jobs, limits, seed, tokens, cost_usd, templates })
}

fn default_directory(suite: &Suite, model: &str) -> PathBuf {
    let name = format!("{}-{model}", suite.record.name);
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    Path::new("agent-runs").join(name.chars().map(plain).collect::<String>())
}

/// The table of tasks and what is left to do. Leaves with 1 unless every attempt has ended.
fn finish(outcome: &RunOutcome, directory: &Path) -> Result<ExitCode> {
    print_tasks(&outcome.trajectories)?;
    for suspended in &outcome.suspended {
        eprintln!("{} (attempt {}) could not go on: {}", suspended.task, suspended.attempt, suspended.why);
    }
    if outcome.complete {
        eprintln!("complete in {}: trajectories.jsonl, passes/", directory.display());
        return Ok(ExitCode::SUCCESS);
    }
    match &outcome.halted {
        Some(why) if outcome.trajectories.is_empty() => Err(unfit(why)),
        why => {
            eprintln!("{}; the same command goes on from here", why.as_deref().unwrap_or("not complete"));
            Ok(ExitCode::from(BAD))
        }
    }
}

fn print_tasks(trajectories: &[Trajectory]) -> Result<()> {
    let mut tasks: BTreeMap<&str, Vec<&Trajectory>> = BTreeMap::new();
    for trajectory in trajectories {
        tasks.entry(&trajectory.task.id).or_default().push(trajectory);
    }
    let mut rows =
        Rows::new(&["task", "ended", "attempts", "correct", "score", "reward", "steps", "tokens", "rules broken"], 2);
    for (task, attempts) in tasks {
        let Some(best) = attempts.iter().copied().max_by(|a, b| a.score.total_cmp(&b.score)) else { continue };
        let (correct, graphs) = best.correct();
        let ended = serde_json::to_value(best.exit)?;
        rows.push([
            task.to_owned(),
            ended.as_str().unwrap_or_default().to_owned(),
            attempts.len().to_string(),
            format!("{correct}/{graphs}"),
            format!("{:.3}", best.score),
            format!("{:.3}", best.reward.value),
            best.steps.len().to_string(),
            attempts.iter().map(|attempt| attempt.usage.tokens()).sum::<u64>().to_string(),
            attempts.iter().filter(|attempt| !attempt.findings.is_empty()).count().to_string(),
        ]);
    }
    rows.print()
}

/// Progress on stderr: attempts, steps, tokens, money.
pub(super) struct AgentLine {
    bar: ProgressBar,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    steps: usize,
    evaluations: usize,
    suspended: usize,
    usage: Usage,
}

impl AgentLine {
    pub(super) fn new(attempts: usize) -> Self {
        let bar = ProgressBar::new(attempts as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} attempts  {elapsed}  {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar, counts: Mutex::default() }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub(super) fn show(&self, update: &Update<'_>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            Update::Event { task, event } => log(task, event, &mut counts),
            Update::Ended(trajectory) => {
                tracing::info!("{}: ended ({:?}), score {:.3}", trajectory.task.id, trajectory.exit, trajectory.score);
                self.bar.inc(1);
            }
            Update::Suspended(suspended) => {
                tracing::warn!("{}: {}", suspended.task, suspended.why);
                counts.suspended += 1;
            }
        }
        let cost = counts.usage.cost_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
        let Counts { steps, evaluations, suspended, usage } = &*counts;
        let failed = if *suspended > 0 { format!(", {suspended} suspended") } else { String::new() };
        let tokens = usage.tokens();
        self.bar.set_message(format!("{steps} steps, {evaluations} evaluations, {tokens} tokens{cost}{failed}"));
    }
}

fn log(task: &str, event: &Event, counts: &mut Counts) {
    match event {
        Event::Reply { step, reply, usage, retries, .. } => {
            counts.steps += 1;
            counts.usage += *usage;
            let calls: Vec<&str> = reply.tool_calls.iter().map(|call| call.name.as_str()).collect();
            tracing::info!("{task}: step {step}: {} ({} tokens, {retries} retries)", calls.join(", "), usage.tokens());
        }
        Event::Observed { name, observation, .. } => {
            counts.evaluations += usize::from(observation.evaluation.is_some());
            tracing::debug!("{task}: {name}: {}", observation.content);
        }
        Event::Started(_) | Event::Said { .. } | Event::Ended(_) => {}
    }
}
