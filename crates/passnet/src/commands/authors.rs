//! Authors as commands create them.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use passnet_agent::LlmAuthor;
use passnet_author::{Author, AuthorContext, AuthorError, Fuse, submission};
use passnet_eval::{Candidate, Referee, Submission};
use passnet_flags::{BenchRunArgs, author_kinds};
use passnet_record::AuthorSpec;
use passnet_run::Suite;
use passnet_services::cpp_compiler;

use super::agent;
use crate::failure::unfit;

/// Creates an author without options.
pub(crate) fn create(spec: &AuthorSpec) -> std::result::Result<Box<dyn Author>, AuthorError> {
    passnet_author::create(&author_kinds(), spec)
}

/// Lets an author write its passes for a suite. Its progress goes to stderr.
pub(crate) fn write_submission(
    author: &mut dyn Author,
    suite: &Suite,
    referee: &Referee,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<Submission> {
    let on_cpu = referee.settings().device.is_cpu();
    if on_cpu && matches!(author.spec().kind(), "fuse" | "inductor") {
        require_compiler(&format!("author `{}` writes C++ kernels", author.spec()))?;
    }
    let context = AuthorContext { referee, directory, stop, progress: &|step| eprintln!("{step}") };
    let submission = submission(author, suite, &context).map_err(|error| match error {
        error @ AuthorError::NoCache => unfit(error.to_string()),
        error => anyhow::Error::from(error),
    })?;
    if on_cpu && submission.candidates.values().any(has_cpp_kernels) {
        require_compiler("the passes have C++ kernels")?;
    }
    Ok(submission)
}

/// Refuses to evaluate without a C++ compiler: each graph would count as a failure of the passes.
fn require_compiler(why: &str) -> Result<()> {
    cpp_compiler().map(drop).map_err(|problem| unfit(format!("{why}, and {problem}")))
}

fn has_cpp_kernels(candidate: &Candidate) -> bool {
    let Candidate::Passes(passes) = candidate else { return false };
    let text = b"kernels.cpp(";
    passes.files().iter().any(|(_, bytes)| bytes.windows(text.len()).any(|part| part == text))
}

/// Creates the author of `bench run` with its options, for a suite of so many tasks.
pub(crate) fn create_for_bench(args: &BenchRunArgs, tasks: usize) -> Result<Box<dyn Author>> {
    let spec = args.author.clone();
    match spec.kind() {
        "fuse" => Ok(Box::new(Fuse::new(spec).with_tuning(args.tune_seconds).with_confirmation(!args.no_confirm))),
        "llm" => {
            let model = agent::client(spec.argument().unwrap_or_default(), &args.model)?;
            let options = agent::run_options(&args.attempt, args.agent_jobs, args.measure.seed.unwrap_or(0))?;
            let line = Arc::new(agent::AgentLine::new(tasks * options.attempts as usize));
            Ok(Box::new(LlmAuthor::new(spec, Box::new(model), options, Box::new(move |update| line.show(update)))))
        }
        _ => Ok(create(&spec)?),
    }
}
