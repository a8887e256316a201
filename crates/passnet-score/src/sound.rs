use passnet_record::Status;
use serde::Serialize;

use crate::{GraphOutcome, Interval, ScoreError, Speedup, es::geometric_mean, random::SplitMix64, tasks::TaskOutcomes};

/// Settings of the confidence interval of the sound score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bootstrap {
    /// Number of resamples of the tasks.
    pub resamples: u32,
    /// Confidence level.
    pub confidence: f64,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 2000, confidence: 0.95, seed: 0 }
    }
}

impl Bootstrap {
    pub(crate) fn validate(&self) -> Result<(), ScoreError> {
        if self.resamples > 0 && self.confidence > 0.0 && self.confidence < 1.0 {
            Ok(())
        } else {
            Err(ScoreError::Bootstrap { resamples: self.resamples, confidence: self.confidence })
        }
    }
}

/// The sound score: how much better the author's passes are than no passes. Each task has the same weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoundScore {
    /// Geometric mean over tasks of the geometric mean credit of a task's graphs; 1 is the score of an author without passes.
    pub score: f64,
    /// Percentile bootstrap interval over tasks; `None` for a single task, which shows no variation between tasks.
    pub interval: Option<Interval>,
    /// Settings of the interval.
    pub bootstrap: Bootstrap,
    /// Correct graphs whose speed-up could not be distinguished from 1.
    pub inconclusive: usize,
    /// Correct graphs whose measured speed-up was beyond what the device permits.
    pub capped: usize,
    /// Correct, timed graphs that were compared with eager only.
    pub without_control: usize,
}

/// Returns the credit of one graph in the sound score, between `error_base` and the graph's speed-up.
///
/// The credit is 1 if no pass matches, because nothing was changed, and `error_base` for any other failure. For a correct graph it is the
/// smaller of the speed-ups against eager and control. Each speed-up is capped by its bound, and counts as 1 where its interval includes
/// 1. A correct graph never earns less than a wrong graph, even if it is very slow.
pub fn sound_credit(graph: &GraphOutcome, error_base: f64) -> f64 {
    match graph.failure {
        Some(Status::NoMatch) => 1.0,
        Some(_) => error_base,
        None => {
            // Both baselines count: a pass earns nothing where the compiled path alone is faster than eager.
            let slowest = measured(graph).map(|speedup| capped(speedup).unwrap_or_else(|| settled(speedup)));
            let credit = slowest.fold(f64::INFINITY, f64::min);
            // A missing measurement, or one that did not settle, shows no speed-up.
            let most = if graph.eager.is_none() || graph.unstable { 1.0 } else { f64::INFINITY };
            credit.min(most).max(error_base)
        }
    }
}

/// Returns the sound score of tasks; `None` if a measurement has no interval, so that noise cannot be distinguished from speed.
pub(crate) fn sound_score(tasks: &[TaskOutcomes<'_>], error_base: f64, bootstrap: Bootstrap) -> Option<SoundScore> {
    let graphs = || tasks.iter().flat_map(|task| task.graphs.iter().copied());
    if graphs().flat_map(measured).any(|speedup| speedup.interval.is_none()) {
        return None;
    }
    let correct = || graphs().filter(|graph| graph.failure.is_none() && graph.eager.is_some());
    let logs: Vec<f64> = tasks.iter().map(|task| task_credit(task, error_base).ln()).collect();
    Some(SoundScore {
        score: (logs.iter().sum::<f64>() / logs.len() as f64).exp(),
        interval: resample(&logs, bootstrap),
        bootstrap,
        inconclusive: correct().filter(|graph| measured(graph).any(includes_one)).count(),
        capped: correct().filter(|graph| measured(graph).any(|speedup| capped(speedup).is_some())).count(),
        without_control: correct().filter(|graph| graph.control.is_none()).count(),
    })
}

/// Returns the geometric mean of the credits of a task's graphs.
pub(crate) fn task_credit(task: &TaskOutcomes<'_>, error_base: f64) -> f64 {
    geometric_mean(task.graphs.iter().map(|graph| sound_credit(graph, error_base)))
}

fn measured(graph: &GraphOutcome) -> impl Iterator<Item = Speedup> {
    [graph.eager, graph.control].into_iter().flatten()
}

fn includes_one(speedup: Speedup) -> bool {
    speedup.interval.is_some_and(|Interval { low, high }| low <= 1.0 && 1.0 <= high)
}

/// Returns the ratio, or 1 if it cannot be distinguished from 1.
fn settled(speedup: Speedup) -> f64 {
    if includes_one(speedup) { 1.0 } else { speedup.ratio }
}

/// Returns the bound, if the measured ratio is above it. A bound below 1 counts as 1: it would mean that the baseline is faster than the
/// device permits.
fn capped(speedup: Speedup) -> Option<f64> {
    speedup.bound.map(|bound| bound.max(1.0)).filter(|&bound| settled(speedup) > bound)
}

/// Returns exp of the percentile interval of the mean of `logs`.
pub(crate) fn resample(logs: &[f64], bootstrap: Bootstrap) -> Option<Interval> {
    if logs.len() < 2 {
        return None;
    }
    let mut random = SplitMix64::new(bootstrap.seed);
    let mut means: Vec<f64> = (0..bootstrap.resamples)
        .map(|_| logs.iter().map(|_| logs[random.below(logs.len())]).sum::<f64>() / logs.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let last = means.len() - 1;
    let tail = (1.0 - bootstrap.confidence) / 2.0;
    // The means are of logarithms; exp is monotone, so it may be applied after the quantile.
    let at = |quantile: f64| means[((quantile * last as f64).round() as usize).min(last)].exp();
    Some(Interval { low: at(tail), high: at(1.0 - tail) })
}
