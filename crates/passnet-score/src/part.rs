//! The sound score of a part of a suite, and the lead of one author over another on it.

use std::collections::BTreeMap;

use crate::{
    GraphOutcome, Interval,
    sound::{Bootstrap, resample, sound_credit},
};

/// Resamples of the tasks: fewer than for the score of a run, because a page has hundreds of parts.
const BOOTSTRAP: Bootstrap = Bootstrap { resamples: 1000, confidence: 0.95, seed: 0 };

/// Credits of one author on a part of a suite, e.g. on all graphs of one element type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartScore {
    /// Mean logarithm of the credits of each task's graphs.
    tasks: BTreeMap<String, f64>,
}

impl PartScore {
    /// Computes the credits of the sound score ([`sound_credit`]) of these graphs.
    pub fn of<'a>(graphs: impl IntoIterator<Item = &'a GraphOutcome>, error_base: f64) -> Self {
        let mut sums: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
        for graph in graphs {
            let (sum, count) = sums.entry(&graph.id.task).or_default();
            *sum += sound_credit(graph, error_base).ln();
            *count += 1;
        }
        let mean = |(task, (sum, count)): (&str, (f64, usize))| (task.to_owned(), sum / count as f64);
        Self { tasks: sums.into_iter().map(mean).collect() }
    }

    /// Number of tasks with a graph in the part.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the geometric mean over tasks; `None` for an empty part.
    pub fn score(&self) -> Option<f64> {
        let logs = self.tasks.values();
        (!self.tasks.is_empty()).then(|| (logs.sum::<f64>() / self.tasks.len() as f64).exp())
    }

    /// Returns the 95 % interval of the score over tasks; `None` for fewer than two tasks.
    pub fn interval(&self) -> Option<Interval> {
        resample(&self.tasks.values().copied().collect::<Vec<_>>(), BOOTSTRAP)
    }

    /// Returns the 95 % interval of the ratio of this score to another score of the same tasks, task by task; `None` for fewer than two
    /// common tasks. The interval is narrower than the intervals of the two scores suggest, because an easy task is easy for both
    /// authors.
    pub fn lead_over(&self, other: &Self) -> Option<Interval> {
        let difference = |(task, log): (&String, &f64)| Some(log - other.tasks.get(task)?);
        resample(&self.tasks.iter().filter_map(difference).collect::<Vec<_>>(), BOOTSTRAP)
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::{GraphId, Status};

    use super::*;
    use crate::Speedup;

    /// Returns graphs of tasks with these speed-ups; 0 stands for a wrong graph.
    fn graphs(tasks: &[&[f64]]) -> Vec<GraphOutcome> {
        let graph = |task: usize, at: usize, ratio: f64| GraphOutcome {
            id: GraphId { task: format!("task-{task}"), graph: at.to_string() },
            failure: (ratio == 0.0).then_some(Status::Accuracy),
            tolerance: Some(-6),
            eager: (ratio > 0.0).then_some(Speedup {
                ratio,
                interval: Some(Interval { low: ratio * 0.99, high: ratio * 1.01 }),
                bound: None,
            }),
            control: None,
            unstable: false,
        };
        let of_task = |(task, ratios): (usize, &&[f64])| {
            ratios.iter().enumerate().map(move |(at, &ratio)| graph(task, at, ratio)).collect::<Vec<_>>()
        };
        tasks.iter().enumerate().flat_map(of_task).collect()
    }

    fn part(tasks: &[&[f64]]) -> PartScore {
        PartScore::of(&graphs(tasks), 0.1)
    }

    #[test]
    fn each_task_has_one_vote_and_wrong_graphs_lower_the_score() {
        let near =
            |part: PartScore, expected: f64| assert!((part.score().unwrap() - expected).abs() < 1e-9, "{part:?}");
        near(part(&[&[4.0], &[1.0, 1.0, 1.0]]), 2.0);
        near(part(&[&[0.0]]), 0.1);
        assert_eq!((part(&[]).score(), part(&[&[2.0]]).interval()), (None, None));
    }

    #[test]
    fn a_lead_is_certain_where_scores_differ_more_between_tasks_than_between_authors() {
        let (one, other) = (part(&[&[8.8], &[1.1], &[3.3]]), part(&[&[8.0], &[1.0], &[3.0]]));
        let (own, others) = (one.interval().unwrap(), other.interval().unwrap());
        assert!(own.low < others.high, "the intervals overlap: {own:?} {others:?}");
        assert!(one.lead_over(&other).unwrap().low > 1.05);
        assert!(other.lead_over(&one).unwrap().high < 0.95);
        assert_eq!(one.lead_over(&PartScore::default()), None);
    }
}
