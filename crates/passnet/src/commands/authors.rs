//! Authors as commands create them.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use passnet_agent::LlmAuthor;
use passnet_author::{Author, AuthorContext, AuthorError, AuthorOptions, needs_model_server, submission};
use passnet_eval::{Candidate, Referee, Submission};
use passnet_flags::{BenchRunArgs, author_kinds};
use passnet_record::{AuthorSpec, Device};
use passnet_run::Suite;
use passnet_services::cpp_compiler;

use super::agent;
use crate::failure::{unfit, usage};

/// Creates an author without options.
pub(crate) fn create(spec: &AuthorSpec) -> Result<Box<dyn Author>> {
    passnet_author::create(&author_kinds(), spec, &AuthorOptions::default()).map_err(failure)
}

/// Fails if this machine lacks something that an author needs, before any work that takes time.
pub(crate) fn check_author(spec: &AuthorSpec, device: Device) -> Result<()> {
    create(spec)?.check(device).map_err(failure)
}

/// Does the same as [`check_author`] for a command that can also create language models.
pub(crate) fn check_author_of_bench(spec: &AuthorSpec, device: Device) -> Result<()> {
    if needs_model_server(&author_kinds(), spec) { Ok(()) } else { check_author(spec, device) }
}

/// Returns the name of an author in names of runs.
pub(crate) fn label(spec: &AuthorSpec) -> String {
    passnet_author::label(&author_kinds(), spec)
}

/// Gives an error of an author the exit code of its cause.
pub(crate) fn failure(error: AuthorError) -> anyhow::Error {
    match error {
        AuthorError::NoCache | AuthorError::NoCompiler { .. } | AuthorError::Unfit { .. } => unfit(error.to_string()),
        AuthorError::NeedsModelServer | AuthorError::NoPasses(_) => usage(error.to_string()),
        error => error.into(),
    }
}

/// Lets an author write its passes for a suite. Its progress goes to stderr.
pub(crate) fn write_submission(
    author: &mut dyn Author,
    suite: &Suite,
    referee: &Referee,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<Submission> {
    let device = referee.settings().device;
    author.check(device).map_err(failure)?;
    let context = AuthorContext { referee, directory, stop, progress: &|step| eprintln!("{step}") };
    let submission = submission(author, suite, &context).map_err(failure)?;
    // Without a C++ compiler, each graph would count as a failure of the passes.
    if device.is_cpu() && submission.candidates.values().any(has_cpp_kernels) {
        cpp_compiler().map_err(|problem| unfit(format!("the passes have C++ kernels, and {problem}")))?;
    }
    Ok(submission)
}

fn has_cpp_kernels(candidate: &Candidate) -> bool {
    let Candidate::Passes(passes) = candidate else { return false };
    let text = b"kernels.cpp(";
    passes.files().iter().any(|(_, bytes)| bytes.windows(text.len()).any(|part| part == text))
}

/// Creates the author of `bench run` with its options, for a suite of so many tasks.
pub(crate) fn create_for_bench(args: &BenchRunArgs, tasks: usize) -> Result<Box<dyn Author>> {
    let (kinds, spec) = (author_kinds(), args.author.clone());
    if needs_model_server(&kinds, &spec) {
        let model = agent::client(spec.argument().unwrap_or_default(), &args.model)?;
        let options = agent::run_options(&args.attempt, args.agent_jobs, args.measure.seed.unwrap_or(0))?;
        let line = Arc::new(agent::AgentLine::new(tasks * options.attempts as usize));
        return Ok(Box::new(LlmAuthor::new(spec, Box::new(model), options, Box::new(move |update| line.show(update)))));
    }
    let options = AuthorOptions { tuning: args.tune_seconds, confirms: !args.no_confirm };
    passnet_author::create(&kinds, &spec, &options).map_err(failure)
}
