//! Author `llm:MODEL`: a language model that works on each task with tools.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use passnet_author::{Author, AuthorContext, AuthorError, Runs, TaskGraphs, read_pass_directory};
use passnet_record::{AuthorSpec, PassDirectory, WritingCost, agent::TokenUsage};
use passnet_run::Suite;

use crate::{
    cache::VerdictCache,
    evaluator::Evaluator,
    model::LanguageModel,
    run::{RunOptions, Update, run},
};

/// Receiver of the updates of a run.
pub type Listener = Box<dyn Fn(&Update<'_>) + Send + Sync>;

/// Language model as an author. Its attempts are in `agent/` in the directory of the run.
pub struct LlmAuthor {
    spec: AuthorSpec,
    model: Box<dyn LanguageModel + Send>,
    options: RunOptions,
    listener: Listener,
    passes: Option<PathBuf>,
    usage: TokenUsage,
}

impl LlmAuthor {
    /// Creates the author of a model. `listener` is called with each update.
    pub fn new(
        spec: AuthorSpec,
        model: Box<dyn LanguageModel + Send>,
        options: RunOptions,
        listener: Listener,
    ) -> Self {
        Self { spec, model, options, listener, passes: None, usage: TokenUsage::default() }
    }
}

impl Author for LlmAuthor {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn runs(&self) -> Runs {
        Runs::Passes
    }

    // Servers sample differently even with the same seed.
    fn is_deterministic(&self) -> bool {
        false
    }

    fn cost(&self) -> Option<WritingCost> {
        let TokenUsage { input, output, estimated, cost_usd, .. } = self.usage;
        Some(WritingCost { input_tokens: input, output_tokens: output, estimated, usd: cost_usd })
    }

    fn prepare(&mut self, suite: &Suite, context: &AuthorContext<'_>) -> Result<(), AuthorError> {
        let directory = context.directory.join("agent");
        fs_err::create_dir_all(&directory)?;
        let referee = context.referee.sibling(context.referee.settings().clone(), context.referee.defences())?;
        let cache = VerdictCache::open(&directory.join("verdicts.jsonl"))?;
        let evaluator = Evaluator::new(referee, cache).with_cpu_precheck()?;
        let stop: &AtomicBool = context.stop;
        let outcome = run(&evaluator, suite, self.model.as_ref(), &self.options, &directory, stop, &|update| {
            (self.listener)(&update);
        })
        .map_err(|error| AuthorError::Other(error.into()))?;
        if !outcome.complete {
            let why = outcome.suspended.first().map(|suspended| format!("{}: {}", suspended.task, suspended.why));
            let why = outcome.halted.or(why).unwrap_or_else(|| "interrupted".to_owned());
            return Err(AuthorError::Interrupted(format!("the model has not finished all tasks ({why})")));
        }
        self.passes = Some(directory.join("passes"));
        // All attempts, those of an earlier start of the run as well.
        outcome.trajectories.iter().for_each(|trajectory| self.usage += trajectory.usage);
        Ok(())
    }

    fn write(&self, task: &TaskGraphs<'_>) -> Result<PassDirectory, AuthorError> {
        match self.passes.as_ref().map(|passes| passes.join(&task.record.id)).filter(|passes| passes.is_dir()) {
            Some(passes) => Ok(read_pass_directory(&passes)?),
            // No attempt at the task was ever correct. The referee then reports that no pass matched.
            None => Ok(PassDirectory::empty()),
        }
    }
}
