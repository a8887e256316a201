//! The authors that the command knows: those of `passnet-author`, and `llm:`.

use std::sync::Arc;

use passnet_agent::LlmAuthor;
use passnet_author::{Argument, Author, AuthorError, Fuse, Kind, builtin_kinds};
use passnet_record::AuthorSpec;

use super::agent;
use crate::args::BenchRunArgs;

/// Returns all kinds. Author `llm:` cannot be created from its name alone.
fn kinds() -> Vec<Kind> {
    let mut kinds = builtin_kinds();
    let create = |spec: AuthorSpec| -> Result<Box<dyn Author>, AuthorError> {
        Err(AuthorError::Refused(format!("author `{spec}` works in `passnet bench run` only")))
    };
    kinds.push(Kind { name: "llm", argument: Argument::Any("MODEL"), create: Box::new(create) });
    kinds
}

/// Parses the name of an author on the command line.
pub(crate) fn parse(text: &str) -> Result<AuthorSpec, AuthorError> {
    passnet_author::parse(&kinds(), text)
}

/// Creates an author without options.
pub(crate) fn create(spec: &AuthorSpec) -> Result<Box<dyn Author>, AuthorError> {
    passnet_author::create(&kinds(), spec)
}

/// Creates the author of `bench run` with its options, for a suite of so many tasks.
pub(crate) fn create_for_bench(args: &BenchRunArgs, tasks: usize) -> anyhow::Result<Box<dyn Author>> {
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
