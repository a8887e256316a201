//! Outcomes for tests.

use passnet_record::{GraphId, Status};
use passnet_score::{GraphOutcome, Interval, Outcomes, Speedup};

/// Returns a speed-up with an interval of one per cent on each side.
pub(crate) fn measured(ratio: f64) -> Speedup {
    Speedup { ratio, interval: Some(Interval { low: ratio * 0.99, high: ratio * 1.01 }), bound: None }
}

/// A graph of task `task`, correct from `tolerance` on, where -5 is demanded.
pub(crate) fn graph(task: &str, tolerance: i32, speedup: f64) -> GraphOutcome {
    GraphOutcome {
        id: GraphId { task: task.to_owned(), graph: "000".to_owned() },
        failure: (tolerance > -5).then_some(Status::Accuracy),
        tolerance: Some(tolerance),
        eager: Some(measured(speedup)),
        control: None,
        unstable: false,
    }
}

/// A graph of task `task` that failed.
pub(crate) fn failed(task: &str, failure: Status) -> GraphOutcome {
    GraphOutcome { failure: Some(failure), tolerance: None, eager: None, ..graph(task, -5, 1.0) }
}

/// Outcomes without reference errors.
pub(crate) fn outcomes(graphs: Vec<GraphOutcome>) -> Outcomes {
    Outcomes { graphs, reference_errors: Vec::new() }
}
