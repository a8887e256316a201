//! Collects the candidates of a suite from an author.

use std::collections::BTreeMap;

use passnet_eval::{Candidate, Submission};
use passnet_record::RunMetadata;
use passnet_run::Suite;

use crate::author::{Author, AuthorContext, AuthorError, Runs, TaskGraphs};

/// Lets an author prepare a suite and write the passes of each task.
///
/// # Errors
/// If the author fails for a reason that does not concern one task alone.
pub fn submission(
    author: &mut dyn Author,
    suite: &Suite,
    context: &AuthorContext<'_>,
) -> Result<Submission, AuthorError> {
    author.prepare(suite, context)?;
    let mut candidates = BTreeMap::new();
    for record in &suite.record.tasks {
        candidates.insert(record.id.clone(), candidate(author, &TaskGraphs { suite, record })?);
    }
    let metadata = RunMetadata { writing: author.cost(), ..RunMetadata::default() };
    Ok(Submission { author: author.spec().clone(), candidates, metadata })
}

fn candidate(author: &dyn Author, task: &TaskGraphs<'_>) -> Result<Candidate, AuthorError> {
    Ok(match author.runs() {
        Runs::Graph => Candidate::Eager,
        Runs::Path => Candidate::Noop,
        Runs::Inductor { mode } => Candidate::Inductor { mode },
        Runs::Compiler { name, source } => Candidate::Compiler { name, source },
        Runs::Passes => match author.write(task) {
            Ok(passes) => Candidate::Passes(passes),
            Err(AuthorError::Refused(why)) => Candidate::Refused(why),
            Err(error) => return Err(error),
        },
    })
}
