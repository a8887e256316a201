//! `passnet agent`: a language model works on tasks.

mod client;
mod replay;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use passnet_agent::{
    AgentRunOutcome, AttemptLimits, Evaluator, LanguageModel, RunOptions, Templates, Totals, Update, VerdictCache,
    task_table,
};
use passnet_dataset::open_suite;
use passnet_run::{Suite, plain_name};

pub(crate) use self::client::{check_server, client};
use super::{referee, stop::stop_flag};
use crate::{
    failure::{BAD, check_folder, unfit},
    output,
    progress::{ProgressLines, bar},
};
use passnet_flags::{AgentCommand, AgentRunArgs, AttemptArgs};

/// Runs a subcommand.
pub(crate) fn run(command: &AgentCommand) -> Result<ExitCode> {
    match command {
        AgentCommand::Run(args) => attempt_all(args),
        AgentCommand::Replay(args) => replay::run(args),
    }
}

fn attempt_all(args: &AgentRunArgs) -> Result<ExitCode> {
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let directory = args.out.clone().unwrap_or_else(|| default_directory(&suite, &args.model));
    check_folder(&directory)?;
    let options = run_options(&args.attempt, args.jobs, args.measure.seed.unwrap_or(0))?;
    let model = client(&args.model, &args.server)?;
    let stop = stop_flag()?;
    let referee = referee::start(&args.measure, args.evaluations)?;
    fs_err::create_dir_all(&directory)?;
    let cache = VerdictCache::open(&directory.join("verdicts.jsonl"))?;
    let evaluator = Evaluator::new(referee, cache).with_cpu_precheck()?.with_profile_tools(args.tools.profile_tools);
    let outcome = attempt_suite(&evaluator, &suite, &model, &options, &directory, &stop)?;
    finish(&outcome, &directory)
}

/// Runs the attempts with a progress line.
pub(crate) fn attempt_suite(
    evaluator: &Evaluator,
    suite: &Suite,
    model: &dyn LanguageModel,
    options: &RunOptions,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<AgentRunOutcome> {
    let line = AgentLine::new(suite.record.tasks.len() * options.attempts as usize);
    let outcome = passnet_agent::run(evaluator, suite, model, options, directory, stop, &|update| line.show(&update));
    line.finish();
    let outcome = outcome.with_context(|| format!("run in {}", directory.display()))?;
    Ok(outcome)
}

/// From flags to options.
pub(crate) fn run_options(args: &AttemptArgs, jobs: usize, seed: u64) -> Result<RunOptions> {
    let templates = match &args.prompts {
        Some(directory) => Templates::read(directory).with_context(|| format!("--prompts {}", directory.display()))?,
        None => Templates::default(),
    };
    let limits = AttemptLimits {
        steps: args.steps,
        tokens: args.attempt_tokens,
        cost_usd: args.attempt_cost,
        // `inf` is a valid number on the command line and no valid duration.
        time: Duration::try_from_secs_f64(args.attempt_time).unwrap_or(Duration::MAX),
        patience: args.patience,
        context: args.context,
        fixed_plan: false,
    };
    let (tokens, cost_usd) = (args.run_tokens, args.run_cost);
    Ok(RunOptions {
        attempts: args.attempts,
        jobs,
        limits,
        seed,
        tokens,
        cost_usd,
        templates,
        to_beat: BTreeMap::new(),
    })
}

fn default_directory(suite: &Suite, model: &str) -> PathBuf {
    Path::new("agent-runs").join(plain_name(&format!("{}-{model}", suite.record.name)))
}

/// Returns the table of tasks and what is left to do. Exits with 1 unless every attempt has ended.
fn finish(outcome: &AgentRunOutcome, directory: &Path) -> Result<ExitCode> {
    if let Some(why) = &outcome.halted
        && outcome.trajectories.is_empty()
    {
        // No attempt has ended, so there is no table, and all attempts stopped for this reason.
        return Err(unfit(why));
    }
    output::table(&task_table(&outcome.trajectories))?;
    for suspended in &outcome.suspended {
        eprintln!("{} (attempt {}) could not continue: {}", suspended.task, suspended.attempt, suspended.why);
    }
    if outcome.complete {
        eprintln!("complete in {}: trajectories.jsonl, passes/", directory.display());
        return Ok(ExitCode::SUCCESS);
    }
    let why = outcome.halted.as_deref().unwrap_or("not complete");
    eprintln!("{why}; run the same command again to continue");
    Ok(ExitCode::from(BAD))
}

/// Progress on stderr: attempts, steps, tokens, money.
pub(crate) struct AgentLine {
    bar: ProgressBar,
    lines: ProgressLines,
    totals: Mutex<Totals>,
}

impl AgentLine {
    pub(crate) fn new(attempts: usize) -> Self {
        let bar = bar(attempts, "{bar:16} {pos}/{len} attempts  {elapsed}, ETA {eta}  {wide_msg}");
        Self { bar, lines: ProgressLines::new(), totals: Mutex::default() }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub(crate) fn show(&self, update: &Update<'_>) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.add(update);
        update.log();
        if matches!(update, Update::Ended(_)) {
            self.bar.inc(1);
        }
        let text = totals.to_string();
        self.lines.show(&|| text.clone());
        self.bar.set_message(text);
    }
}

impl Drop for AgentLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
