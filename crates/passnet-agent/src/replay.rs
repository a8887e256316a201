//! Replay: carries out a trajectory's tool calls again.

use passnet_eval::EvalError;
use passnet_record::agent::{ToolOutcome, Trajectory, VerdictSummary};
use passnet_run::Suite;
use serde::Serialize;

use crate::{
    evaluator::Evaluator,
    task::{Task, TaskError},
    tools::{ToolContext, Toolbox},
    trajectory::replies,
};

/// One call: recorded and replayed.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Step, from 1.
    pub step: usize,
    /// Name of the tool.
    pub tool: String,
    /// Recorded outcome.
    pub before: String,
    /// Outcome of the replay.
    pub now: String,
    /// True if status and tolerance of every graph are the same. Times are not compared.
    pub same: bool,
    /// Number of graphs whose speed-up intervals do not overlap.
    pub speed_differs: usize,
}

/// Carries out all calls again, from an empty pass directory.
///
/// # Errors
/// Fails if the referee does not work.
pub fn replay(evaluator: &Evaluator, task: &Task, trajectory: &Trajectory) -> Result<Vec<Replayed>, EvalError> {
    let context = ToolContext { evaluator, task };
    let mut toolbox = Toolbox::default();
    let mut replayed = Vec::new();
    for (reply, step) in replies(&trajectory.messages).zip(&trajectory.steps) {
        for (call, run) in reply.tool_calls.iter().zip(&step.tools) {
            // Calls whose results are not compared are made too, because they change the files of the
            // toolbox.
            let now = toolbox.call(context, call)?;
            let pair = run.outcome.evaluation.as_ref().zip(now.outcome.evaluation.as_ref());
            let before = outcome(&run.outcome);
            let after = outcome(&now.outcome);
            replayed.push(Replayed {
                step: step.step as usize,
                tool: call.name.clone(),
                same: before == after,
                before,
                now: after,
                speed_differs: pair.map_or(0, |(before, now)| speed_differs(&before.graphs, &now.graphs)),
            });
        }
    }
    Ok(replayed)
}

/// The calls of one trajectory, recorded and replayed.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayedTrajectory {
    /// Short id of the trajectory.
    pub id: String,
    /// Name of the task.
    pub task: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Calls of the trajectory, in order.
    pub calls: Vec<Replayed>,
}

/// Error of [`replay_trajectory`].
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The suite is not that of the trajectory.
    #[error("the suite has no task `{0}`")]
    NoTask(String),
    /// A graph cannot be read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The referee does not work.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

/// Carries out all calls of a trajectory again, on the same task of the suite.
///
/// # Errors
/// Fails if the suite has no such task, or the referee does not work.
pub fn replay_trajectory(
    evaluator: &Evaluator,
    suite: &Suite,
    trajectory: &Trajectory,
) -> Result<ReplayedTrajectory, ReplayError> {
    let facts = &trajectory.setup.task;
    let record = suite.record.tasks.iter().find(|task| task.id == facts.id);
    // The run may have used only a part of the graphs.
    let mut record = record.ok_or_else(|| ReplayError::NoTask(facts.id.clone()))?.clone();
    record.graphs.retain(|graph| facts.visible.contains(graph));
    Ok(ReplayedTrajectory {
        id: trajectory.id.short().to_owned(),
        task: facts.id.clone(),
        attempt: trajectory.setup.attempt,
        calls: replay(evaluator, &Task::read(suite, &record)?, trajectory)?,
    })
}

/// Describes status and tolerance of each graph.
fn outcome(outcome: &ToolOutcome) -> String {
    let graphs = match (&outcome.evaluation, &outcome.check) {
        (Some(evaluation), _) => &evaluation.graphs,
        (_, Some(check)) => &check.graphs,
        (None, None) => return if outcome.ok { "done" } else { "refused" }.to_owned(),
    };
    let graph = |graph: &VerdictSummary| {
        let tolerance = graph.tolerance.map(|t| format!("@{t}")).unwrap_or_default();
        format!("{} {}{tolerance}", graph.graph, graph.status.name())
    };
    graphs.iter().map(graph).collect::<Vec<_>>().join(", ")
}

fn speed_differs(before: &[VerdictSummary], now: &[VerdictSummary]) -> usize {
    let disjoint = |(a, b): &(&VerdictSummary, &VerdictSummary)| match (a.speedup, b.speedup) {
        (Some(a), Some(b)) => a.low > b.high || b.low > a.high,
        _ => false,
    };
    before.iter().zip(now).filter(disjoint).count()
}
