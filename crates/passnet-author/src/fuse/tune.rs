//! Finds configurations of the built-in author's kernels by measurement, within a time budget, and stores them in a database.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use passnet_eval::{Candidate, EvalError, Referee};
use passnet_fuse::{TunableKernel, default_config, tunable_kernels, write_passes};
use passnet_graph::TypedGraph;
use passnet_record::{
    Baseline, ExecutionPath, KernelConfig, KernelKey, MeasuredConfig, RatioInterval, RunSettings, Verdict, counted,
};
use passnet_run::GraphSample;

use super::{database::Database, typed_suite::TypedSuite};
use crate::author::AuthorError;

/// Result of a call of [`Tuner::tune`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuned {
    /// Number of kernels whose configurations were measured.
    pub measured: usize,
    /// Number of kernels whose configurations were in the database.
    pub known: usize,
    /// Number of kernels that kept the default configuration, because the time was over.
    pub left: usize,
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measured, known, left } = self;
        let measured = counted(*measured, "kernel");
        write!(f, "tuning: {measured} measured, {known} known, {left} kept at the default configuration")
    }
}

/// Measures configurations on this machine, with the referee that judges passes but with fewer trials.
#[derive(Debug)]
pub struct Tuner {
    referee: Referee,
    database: Database,
}

impl Tuner {
    /// Returns a tuner that stores its results below a cache folder.
    ///
    /// # Errors
    /// As [`Referee::new`].
    pub fn new(referee: &Referee, cache: &Path) -> Result<Self, EvalError> {
        let settings = RunSettings {
            warmup: 10,
            trials: 50,
            rounds: 10,
            pairs: 1,
            check_rounds: 1,
            adversarial: Vec::new(),
            paths: vec![ExecutionPath::Direct],
            max_remeasure: 1,
            ..referee.settings().clone()
        };
        let database = Database::new(cache, referee.fingerprint());
        Ok(Self { referee: referee.sibling(settings, referee.defences())?, database })
    }

    /// Measures the kernels that the database does not have, until the time is over or `stop` becomes true. The first graphs of
    /// all tasks come first. `progress` is called with the task before each kernel.
    ///
    /// # Errors
    /// If the kernels cannot be measured, or the database cannot be written.
    pub fn tune(
        &self,
        suite: &TypedSuite,
        budget: Duration,
        stop: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> Result<Tuned, AuthorError> {
        let begin = Instant::now();
        let mut tuned = Tuned::default();
        let mut seen: BTreeSet<KernelKey> = BTreeSet::new();
        let mut work: Vec<(TunableKernel, &str, &TypedGraph, &GraphSample)> = Vec::new();
        for (task, graphs) in suite.tasks() {
            for place in tunable_kernels(graphs, suite.target()) {
                // Tasks share many kernels. Kernels with equal keys have equal code.
                if !place.candidates.is_empty() && seen.insert(place.key.clone()) {
                    let graph = place.graph;
                    work.push((place, task, &graphs[graph], &suite.samples(task)[graph]));
                }
            }
        }
        // The first graph of every task comes before the second of any task, so that each task was measured when the time is
        // over.
        work.sort_by_key(|(place, ..)| place.graph);
        for (place, task, graph, sample) in work {
            if self.database.best(&place.key).is_some() {
                tuned.known += 1;
            } else if begin.elapsed() >= budget || stop.load(Ordering::Relaxed) {
                tuned.left += 1;
            } else {
                progress(task);
                let (best, measured) = self.measure(&place, graph, sample, suite)?;
                self.database.remember(&place.key, best, measured)?;
                tuned.measured += 1;
            }
        }
        Ok(tuned)
    }

    /// Returns the best configuration of one kernel. It differs from the configuration of the cost model only if the difference
    /// is beyond doubt.
    fn measure(
        &self,
        place: &TunableKernel,
        graph: &TypedGraph,
        sample: &GraphSample,
        suite: &TypedSuite,
    ) -> Result<(KernelConfig, Vec<MeasuredConfig>), AuthorError> {
        let model = default_config(suite.target());
        let mut measured = Vec::new();
        let mut best: Option<(KernelConfig, RatioInterval)> = None;
        let mut tolerance = None;
        for config in std::iter::once(model).chain(place.candidates.iter().copied()) {
            let choices = BTreeMap::from([(place.key.clone(), config)]);
            let passes = write_passes(std::slice::from_ref(graph), suite.target(), &choices);
            let candidate = Candidate::Passes(passes);
            let verdict = self.referee.evaluate(sample, &candidate)?.verdict;
            let Some(speedup) = speedup(&verdict) else { continue };
            measured.push(MeasuredConfig { config, speedup: speedup.ratio });
            // Many configurations are compared, so the best of them is partly luck. Neither interval may contain the other ratio.
            let is_surely_better = |known: &RatioInterval| speedup.low > known.ratio && speedup.ratio > known.high;
            if config == model {
                (best, tolerance) = (Some((config, speedup)), verdict.tolerance);
            } else if verdict.tolerance <= tolerance && best.as_ref().is_some_and(|(_, known)| is_surely_better(known))
            {
                best = Some((config, speedup));
            }
        }
        Ok((best.map_or(model, |(config, _)| config), measured))
    }
}

/// Returns the speed-up over eager mode, if the verdict has one.
fn speedup(verdict: &Verdict) -> Option<RatioInterval> {
    let timing = verdict.timings.iter().find(|timing| timing.baseline == Baseline::Eager)?;
    Some(timing.speedup)
}
