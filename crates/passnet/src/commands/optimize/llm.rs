//! `passnet optimize --author llm:MODEL`: a language model works on the parts of the model where the built-in author leaves the most time.
//!
//! ```text
//! OUT-agent/
//!   tasks.json, suite/       the parts of the model, as tasks
//!   fuse.json                speed-ups of the built-in author on them
//!   run.json, attempts/ ...  the run, as `passnet agent run` writes it
//!   authored.json            what came of it
//! ```

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use passnet_agent::{
    AgentRunOutcome, Evaluator, LanguageModel, RunOptions, VerdictCache, authored, builtin_scores, nothing_authored,
    worthwhile,
};
use passnet_dataset::open_suite;
use passnet_eval::{Referee, settings};
use passnet_flags::OptimizeArgs;
use passnet_record::{
    AuthorSpec, AuthoredModel, BuiltinScores, Device, ExecutionPath, ModelTask, ModelTasks, RunSettings, counted,
};
use passnet_run::{Selection, Suite};
use passnet_services::Interpreter;

use super::process::{failed, finished, options, passes};
use crate::{
    commands::{agent, authors, referee},
    failure::{check_folder, unfit, usage},
};

/// Outcome of [`write`].
pub(super) enum Work {
    /// The file that describes the passes.
    Done(PathBuf),
    /// The model cannot be captured; the error has been printed.
    Failed(ExitCode),
}

/// Lets a language model write passes, or continues where an earlier call ended.
pub(super) fn write(args: &OptimizeArgs, name: &str, stop: &AtomicBool) -> Result<Work> {
    let directory = directory_of(&args.out);
    check_folder(&directory)?;
    let device: Device = args.device.parse().map_err(|error| usage(format!("--device: {error}")))?;
    // Before any process starts: it takes the key out of the environment.
    let model = agent::client(name, &args.server)?;
    // Only at first: the attempts of an earlier call may have ended, and then no server is needed.
    if !directory.join("tasks.json").exists() {
        agent::check_server(name, &args.server)?;
    }
    fs::create_dir_all(&directory)?;
    let found = match tasks(args, &directory)? {
        Ok(found) => found,
        Err(code) => return Ok(Work::Failed(code)),
    };
    let author = AuthorSpec::new("llm", Some(name.to_owned()));
    let mut described = if found.tasks.is_empty() {
        say(&format!("no part of the model is worth a pass of {author}"));
        nothing_authored(&author, &directory)
    } else {
        work(args, &author, &model, device, &found, &directory, stop)?
    };
    described.left_out.extend(found.left_out);
    let path = directory.join("authored.json");
    fs::write(&path, serde_json::to_vec_pretty(&described)?)?;
    Ok(Work::Done(path))
}

/// Returns the directory of the attempts: the name of the library with `-agent`.
fn directory_of(out: &Path) -> PathBuf {
    // Not within the library, which is a pass directory, and which is written last.
    let mut name: OsString = out.components().as_path().as_os_str().to_owned();
    name.push("-agent");
    PathBuf::from(name)
}

/// Captures the model and writes its parts as tasks. The inner error is the exit code of the process.
fn tasks(args: &OptimizeArgs, directory: &Path) -> Result<Result<ModelTasks, ExitCode>> {
    let (interpreter, passes) = (Interpreter::find(), passes(args));
    let output = finished(&interpreter, interpreter.model_tasks(&options(args, &passes), directory))?;
    if let Some(code) = failed(&output)? {
        return Ok(Err(code));
    }
    Ok(Ok(serde_json::from_slice(&output.stdout).context("the tasks of the model cannot be read")?))
}

/// Chooses tasks and runs the attempts.
fn work(
    args: &OptimizeArgs,
    author: &AuthorSpec,
    model: &dyn LanguageModel,
    device: Device,
    found: &ModelTasks,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<AuthoredModel> {
    let mut suite = open_suite(&directory.join("suite"), &Selection::default())?;
    let referee = start_referee(args, device, found.threads)?;
    let cache = VerdictCache::open(&directory.join("verdicts.jsonl"))?;
    let evaluator = Evaluator::new(referee, cache).with_cpu_precheck()?;
    let builtin = builtin_scores(&evaluator, &suite, directory, stop, &say).map_err(authors::failure)?;
    let chosen = worthwhile(found, &builtin, args.parts.parts);
    if chosen.is_empty() {
        say(&format!("the built-in author leaves no part of the model on which {author} could save time"));
        return Ok(AuthoredModel { left_out: builtin.left_out, ..nothing_authored(author, directory) });
    }
    say_chosen(&chosen, &builtin);
    suite.record.tasks.retain(|task| chosen.iter().any(|part| part.id == task.id));
    let outcome = attempt(args, &evaluator, &suite, model, &builtin, directory, stop)?;
    check_outcome(&outcome, author, stop)?;
    Ok(authored(author, &chosen, &builtin, &outcome, directory))
}

/// Starts the referee with the threads that the compiled model uses. Only direct calls are measured, as `passnet.compile` makes them.
fn start_referee(args: &OptimizeArgs, device: Device, threads: u32) -> Result<Referee> {
    let defaults = settings::sound(device);
    let settings = RunSettings {
        warmup: args.parts.warmup.unwrap_or(defaults.warmup),
        trials: args.parts.trials.unwrap_or(defaults.trials),
        paths: vec![ExecutionPath::Direct],
        threads,
        ..defaults
    };
    referee::start_with(settings, None)
}

/// Prints the parts that the language model works on.
fn say_chosen(chosen: &[&ModelTask], builtin: &BuiltinScores) {
    for task in chosen {
        let fuse = builtin.scores.get(&task.id).copied().unwrap_or(1.0);
        let (places, share) = (counted(task.places as usize, "place"), 100.0 * task.share);
        say(&format!("{}: {places}, {share:.1} % of the time; speed-up of the built-in author: {fuse:.2}", task.id));
    }
}

/// Prints a step to stderr, unless `--quiet` is given.
fn say(step: &str) {
    if tracing::enabled!(tracing::Level::WARN) {
        eprintln!("{step}");
    }
}

/// Runs the attempts with a progress line.
fn attempt(
    args: &OptimizeArgs,
    evaluator: &Evaluator,
    suite: &Suite,
    model: &dyn LanguageModel,
    builtin: &BuiltinScores,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<AgentRunOutcome> {
    let options =
        RunOptions { to_beat: builtin.scores.clone(), ..agent::run_options(&args.attempt, args.parts.agent_jobs, 0)? };
    agent::attempt_suite(evaluator, suite, model, &options, directory, stop)
}

/// Fails if the attempts were interrupted, or if every further one would fail: no server, wrong key, unknown model. A budget that is used
/// up, and failures of single attempts, are no errors: the passes that exist are used.
fn check_outcome(outcome: &AgentRunOutcome, author: &AuthorSpec, stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        bail!("the attempts were interrupted");
    }
    let is_fatal = |why: &String| outcome.trajectories.is_empty() || outcome.halted.as_ref() == Some(why);
    match outcome.suspended.iter().map(|suspended| &suspended.why).find(|why| is_fatal(why)) {
        None => Ok(()),
        Some(why) => Err(unfit(format!(
            "{author}: {why}; check --base-url, the key and the name of the model, then run the same command again to continue, or use \
             --author fuse"
        ))),
    }
}
