//! Work on the parts of one model, for `passnet optimize`: chooses the tasks that are worth attempts, and reports what came out.
//!
//! The referee first measures the built-in author on each task. A language model works on the tasks where most time is left after that, and
//! its passes are accepted if they are faster than those of the built-in author.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use fs_err as fs;
use passnet_author::{AuthorContext, AuthorError, AuthorOptions, builtin_kinds, create, submission};
use passnet_eval::Candidate;
use passnet_record::{
    AuthorSpec, AuthoredModel, AuthoredTask, BuiltinScores, ModelTask, ModelTasks, PassDirectory, SCHEMA_VERSION,
    Status, SuiteTask,
    agent::{TaskEvaluation, Trajectory},
};
use passnet_run::Suite;

use crate::{
    evaluator::{EvaluationScope, Evaluator},
    run::AgentRunOutcome,
    task::Task,
};

/// A part with less time left, as a share of the time of the model, is not worth an attempt.
const LEAST_SHARE: f64 = 0.01;
/// File of the speed-ups of the built-in author.
const SCORES: &str = "fuse.json";

/// Measures the built-in author on each task of a suite, or reads its speed-ups from the directory of an earlier call.
///
/// # Errors
/// Fails if the referee or the author does not work, or if `stop` becomes true.
pub fn builtin_scores(
    evaluator: &Evaluator,
    suite: &Suite,
    directory: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<BuiltinScores, AuthorError> {
    let path = directory.join(SCORES);
    // Measured once: other scores would select other tasks, and their attempts would not be continued.
    if let Ok(text) = fs::read(&path) {
        return Ok(serde_json::from_slice(&text).map_err(io::Error::from)?);
    }
    let mut author =
        create(&builtin_kinds(), &AuthorSpec::new("fuse", None), &AuthorOptions { tuning: None, confirms: true })?;
    let context = AuthorContext { referee: evaluator.referee(), directory, stop, progress };
    let written = submission(author.as_mut(), suite, &context)?;
    let mut known = BuiltinScores { schema_version: SCHEMA_VERSION, ..BuiltinScores::default() };
    for record in &suite.record.tasks {
        if stop.load(Ordering::Relaxed) {
            return Err(AuthorError::Interrupted("the built-in author was not measured on all parts".to_owned()));
        }
        progress(&format!("author: measuring the built-in author on {}", record.id));
        match measured(evaluator, suite, record, written.candidates.get(&record.id))? {
            Ok(score) => known.scores.insert(record.id.clone(), score).map(drop),
            Err(why) => known.left_out.insert(record.id.clone(), why).map(drop),
        };
    }
    let partial = path.with_extension("json.partial");
    fs::write(&partial, serde_json::to_vec_pretty(&known).map_err(io::Error::from)?)?;
    fs::rename(partial, path)?;
    Ok(known)
}

/// Returns the speed-up of passes on a task, 1 if they are wrong. The inner error is the reason why the task cannot be judged.
fn measured(
    evaluator: &Evaluator,
    suite: &Suite,
    record: &SuiteTask,
    candidate: Option<&Candidate>,
) -> Result<Result<f64, String>, AuthorError> {
    let task = match Task::read(suite, record) {
        Ok(task) => task,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let empty = PassDirectory::empty();
    let passes = if let Some(Candidate::Passes(passes)) = candidate { passes } else { &empty };
    let found = evaluator.evaluate(&task, passes, EvaluationScope::All)?;
    if found.outcome.graphs.iter().any(|graph| graph.status == Status::ReferenceError) {
        return Ok(Err("PyTorch cannot run it on its own".to_owned()));
    }
    Ok(Ok(correct_score(&found.outcome).unwrap_or(1.0)))
}

/// Returns the tasks that leave the most time, at most so many, given the speed-ups of the built-in author.
pub fn worthwhile<'m>(model: &'m ModelTasks, builtin: &BuiltinScores, most: usize) -> Vec<&'m ModelTask> {
    // Nothing is left of a task that cannot be judged.
    let left = |task: &ModelTask| builtin.scores.get(&task.id).map_or(0.0, |&speedup| task.left_ns(speedup));
    let least = LEAST_SHARE * model.total_ns;
    let mut tasks: Vec<&ModelTask> = model.tasks.iter().filter(|task| left(task) >= least).collect();
    tasks.sort_by(|a, b| left(b).total_cmp(&left(a)));
    tasks.truncate(most);
    tasks
}

/// Describes the work of a model on tasks. Passes that are accepted are in `passes/TASK` in the directory of the run.
pub fn authored(
    author: &AuthorSpec,
    tasks: &[&ModelTask],
    builtin: &BuiltinScores,
    outcome: &AgentRunOutcome,
    directory: &Path,
) -> AuthoredModel {
    let mut model = nothing_authored(author, directory);
    model.stopped.clone_from(&outcome.halted);
    model.left_out.clone_from(&builtin.left_out);
    model.attempts = outcome.trajectories.len() as u32;
    let spent = outcome.spent;
    (model.input_tokens, model.output_tokens, model.cost_usd) = (spent.input, spent.output, spent.cost_usd);
    model.tasks = tasks
        .iter()
        .map(|task| {
            let attempts: Vec<&Trajectory> =
                outcome.trajectories.iter().filter(|trajectory| trajectory.setup.task.id == task.id).collect();
            let suspended = outcome.suspended.iter().find(|suspended| suspended.task == task.id);
            let why = suspended.map(|suspended| suspended.why.as_str());
            let fuse = builtin.scores.get(&task.id).copied().unwrap_or(1.0);
            authored_task(task, fuse, &attempts, why, directory)
        })
        .collect();
    model
}

/// Describes the work of a model that had no task.
pub fn nothing_authored(author: &AuthorSpec, directory: &Path) -> AuthoredModel {
    AuthoredModel {
        schema_version: SCHEMA_VERSION,
        author: author.to_string(),
        directory: directory.to_owned(),
        attempts: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd: None,
        stopped: None,
        tasks: Vec::new(),
        left_out: BTreeMap::new(),
    }
}

fn authored_task(
    task: &ModelTask,
    fuse: f64,
    attempts: &[&Trajectory],
    suspended: Option<&str>,
    directory: &Path,
) -> AuthoredTask {
    let solved = attempts.iter().filter(|attempt| !attempt.passes.is_empty());
    let solved = solved.filter_map(|attempt| attempt.evaluation.as_ref());
    let best = solved
        .filter_map(|evaluation| Some((correct_score(evaluation)?, is_settled(evaluation))))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    // The whole model is timed with and without the passes, so passes whose time is not known here do no harm.
    let is_accepted = best.is_some_and(|(score, settled)| !settled || score > fuse.max(1.0));
    let outcome = match best {
        Some((_, false)) => "correct; its time did not settle, because the machine is busy".to_owned(),
        Some((score, _)) if is_accepted => format!("{score:.2} times as fast as eager mode on its own"),
        Some(_) if fuse > 1.0 => "correct, but not faster than the built-in author".to_owned(),
        Some(_) => "correct, but not faster than eager mode".to_owned(),
        None => failure(attempts, suspended),
    };
    AuthoredTask {
        id: task.id.clone(),
        places: task.places,
        eager_ns: task.eager_ns,
        share: task.share,
        fuse,
        score: best.filter(|(_, settled)| *settled).map(|(score, _)| score),
        attempts: attempts.len() as u32,
        tokens: attempts.iter().map(|attempt| attempt.usage.tokens()).sum(),
        passes: is_accepted.then(|| directory.join("passes").join(&task.id)),
        outcome,
        found: 0,
        kept: 0,
        gain_ns: 0.0,
    }
}

/// Returns the reason why a task has no correct passes.
fn failure(attempts: &[&Trajectory], suspended: Option<&str>) -> String {
    let Some(last) = attempts.last() else {
        return suspended
            .map_or_else(|| "no attempt has ended".to_owned(), |why| format!("no attempt has ended: {why}"));
    };
    let judged = last.evaluations().filter_map(|(_, evaluation)| evaluation.graphs.first()).last();
    match judged {
        Some(graph) => format!("no correct passes; the last ones are {}", graph.status),
        None => format!("no passes; the attempt ended with `{}`", last.exit.name()),
    }
}

/// Returns whether the times of all graphs are known.
fn is_settled(evaluation: &TaskEvaluation) -> bool {
    evaluation.graphs.iter().all(|graph| graph.status != Status::Unstable)
}

/// Returns the score of passes that are correct on all graphs and match on one of them.
fn correct_score(evaluation: &TaskEvaluation) -> Option<f64> {
    (!evaluation.graphs.is_empty() && evaluation.correct() == evaluation.graphs.len()).then_some(evaluation.score)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, eager_ns: f64, own_ns: f64) -> ModelTask {
        ModelTask { id: id.to_owned(), places: 1, eager_ns, own_ns, share: eager_ns / 1000.0 }
    }

    #[test]
    fn tasks_are_those_that_leave_the_most_time() {
        let tasks =
            vec![task("a", 500.0, 500.0), task("b", 300.0, 300.0), task("c", 100.0, 5.0), task("d", 100.0, 90.0)];
        let model = ModelTasks { schema_version: 1, threads: 1, total_ns: 1000.0, tasks, left_out: BTreeMap::new() };
        let check = |scores: &[(&str, f64)], most: usize, expected: &[&str]| {
            let scores = scores.iter().map(|(id, score)| ((*id).to_owned(), *score)).collect();
            let builtin = BuiltinScores { scores, ..BuiltinScores::default() };
            let found: Vec<&str> = worthwhile(&model, &builtin, most).iter().map(|task| task.id.as_str()).collect();
            assert_eq!(found, expected);
        };
        let all = |a, b| [("a", a), ("b", b), ("c", 1.0), ("d", 1.0)];
        check(&all(1.0, 1.0), 9, &["a", "b", "d"]);
        check(&all(1.0, 1.0), 1, &["a"]);
        check(&all(10.0, 1.0), 9, &["b", "d", "a"]);
        check(&all(100.0, 0.5), 9, &["b", "d"]);
        check(&[("a", 1.0)], 9, &["a"]);
    }
}
