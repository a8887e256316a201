//! A trajectory's tool calls, carried out again.

use passnet_eval::EvalError;
use serde::Serialize;

use crate::{
    evaluator::Evaluator,
    judgement::{Check, GraphResult, Judgement},
    task::Task,
    tools::{Bench, Toolbox},
    trajectory::{Trajectory, replies},
};

/// One call, then and now.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Step, from 1.
    pub step: usize,
    /// Name of the tool.
    pub tool: String,
    /// What came of it then.
    pub before: String,
    /// What comes of it now.
    pub now: String,
    /// Whether status and tolerance of every graph are the same. Times are not compared: they are of another moment.
    pub same: bool,
    /// Graphs whose intervals of the speed-up do not overlap.
    pub speed_differs: usize,
}

/// Carries all calls out again, from an empty pass directory.
///
/// # Errors
/// Where the referee does not work.
pub fn replay(evaluator: &Evaluator, task: &Task, trajectory: &Trajectory) -> Result<Vec<Replayed>, EvalError> {
    let bench = Bench { evaluator, task };
    let mut toolbox = Toolbox::default();
    let mut replayed = Vec::new();
    for (reply, step) in replies(&trajectory.messages).zip(&trajectory.steps) {
        for (call, run) in reply.tool_calls.iter().zip(&step.tools) {
            let now = toolbox.call(bench, call)?;
            let pair = run.evaluation.as_ref().zip(now.evaluation.as_ref());
            let before = outcome(run.ok, run.evaluation.as_ref(), run.check.as_ref());
            let after = outcome(now.ok, now.evaluation.as_ref(), now.check.as_ref());
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

/// Status and tolerance of each graph, where there are any.
fn outcome(ok: bool, evaluation: Option<&Judgement>, check: Option<&Check>) -> String {
    let graphs = match (evaluation, check) {
        (Some(evaluation), _) => &evaluation.graphs,
        (_, Some(check)) => &check.graphs,
        (None, None) => return if ok { "done" } else { "refused" }.to_owned(),
    };
    let graph = |graph: &GraphResult| {
        let tolerance = graph.tolerance.map(|t| format!("@{t}")).unwrap_or_default();
        format!("{} {}{tolerance}", graph.graph, graph.status.name())
    };
    graphs.iter().map(graph).collect::<Vec<_>>().join(", ")
}

fn speed_differs(before: &[GraphResult], now: &[GraphResult]) -> usize {
    let apart = |(a, b): &(&GraphResult, &GraphResult)| match (a.speedup, b.speedup) {
        (Some(a), Some(b)) => a.low > b.high || b.low > a.high,
        _ => false,
    };
    before.iter().zip(now).filter(apart).count()
}
