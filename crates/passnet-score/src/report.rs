use std::collections::BTreeMap;

use passnet_record::{SCHEMA_VERSION, Status};
use serde::Serialize;

use crate::{
    Bootstrap, EsSettings, GraphOutcome, Outcomes, ScoreError, SoundScore, ToleranceScore, WeightTable,
    aggregated_score,
    es::geometric_mean,
    sound::{sound_score, task_credit},
    tasks::{TaskOutcomes, by_task},
    tolerance_scores,
};

/// Settings that the scores depend on, in addition to the outcomes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreSettings {
    /// Parameters of S_t and ES_t. The sound score uses the same error base.
    #[serde(flatten)]
    pub es: EsSettings,
    /// Name of the weight table of AS.
    pub weights: String,
    /// Settings of the interval of the sound score.
    pub bootstrap: Bootstrap,
}

impl Default for ScoreSettings {
    fn default() -> Self {
        Self {
            es: EsSettings::default(),
            weights: WeightTable::AS_2026.name.to_owned(),
            bootstrap: Bootstrap::default(),
        }
    }
}

/// Counts and plain means over a set of graphs, in addition to ES_t.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tally {
    /// Graphs that count.
    pub graphs: usize,
    /// Graphs correct at the demanded tolerance.
    pub correct: usize,
    /// Correct graphs with a settled, measured speed-up against eager of at least 1.
    pub fast_1: usize,
    /// Correct graphs that were not timed.
    pub untimed: usize,
    /// Correct graphs whose timing did not settle.
    pub unstable: usize,
    /// Geometric mean of the measured speed-ups against eager of correct graphs; `None` if none was timed.
    pub geomean_speedup: Option<f64>,
    /// Number of graphs for each failure.
    pub failures: BTreeMap<Status, usize>,
}

impl Tally {
    /// Returns the share of correct graphs, in percent.
    pub fn correct_percent(&self) -> f64 {
        percent(self.correct, self.graphs)
    }

    /// Returns the share of graphs that are correct and not slower than eager, in percent.
    pub fn fast_1_percent(&self) -> f64 {
        percent(self.fast_1, self.graphs)
    }
}

/// The scores of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskScore {
    pub task: String,
    /// Counts and means.
    #[serde(flatten)]
    pub tally: Tally,
    /// AS over the task's graphs.
    pub aggregated: f64,
    /// Geometric mean of the graphs' sound credits; `None` where [`ScoreReport::sound`] is `None`.
    pub sound: Option<f64>,
}

/// All scores of one author over one suite. Tables, JSON and pages show them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreReport {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Settings that the scores were computed with.
    pub settings: ScoreSettings,
    /// Counts and means over all graphs.
    #[serde(flatten)]
    pub tally: Tally,
    /// Graphs left out because their reference did not run.
    pub reference_errors: usize,
    /// S_t, ES_t and their parameters, in ascending order of t.
    pub by_tolerance: Vec<ToleranceScore>,
    /// AS.
    pub aggregated: f64,
    /// The sound score; `None` where the measurements have no intervals, as in upstream logs.
    pub sound: Option<SoundScore>,
    /// One row per task, in order of appearance.
    pub tasks: Vec<TaskScore>,
}

impl ScoreReport {
    /// Computes all scores.
    ///
    /// # Errors
    /// If there are no graphs, or a setting is out of range or unknown.
    pub fn new(outcomes: &Outcomes, settings: &ScoreSettings) -> Result<Self, ScoreError> {
        settings.bootstrap.validate()?;
        let table = WeightTable::by_name(&settings.weights)?;
        let by_tolerance = tolerance_scores(&outcomes.graphs, &settings.es)?;
        let tasks = by_task(&outcomes.graphs);
        let sound = sound_score(&tasks, settings.es.error_base, settings.bootstrap);
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            settings: settings.clone(),
            tally: tally(outcomes.graphs.iter()),
            reference_errors: outcomes.reference_errors.len(),
            aggregated: aggregated_score(&by_tolerance, &table)?,
            by_tolerance,
            tasks: tasks
                .iter()
                .map(|task| task_score(task, settings, &table, sound.is_some()))
                .collect::<Result<_, _>>()?,
            sound,
        })
    }
}

fn task_score(
    task: &TaskOutcomes<'_>,
    settings: &ScoreSettings,
    table: &WeightTable,
    sound: bool,
) -> Result<TaskScore, ScoreError> {
    let graphs: Vec<GraphOutcome> = task.graphs.iter().map(|&graph| graph.clone()).collect();
    Ok(TaskScore {
        task: task.name.to_owned(),
        tally: tally(graphs.iter()),
        aggregated: aggregated_score(&tolerance_scores(&graphs, &settings.es)?, table)?,
        sound: sound.then(|| task_credit(task, settings.es.error_base)),
    })
}

fn tally<'a>(graphs: impl Iterator<Item = &'a GraphOutcome> + Clone) -> Tally {
    let correct = || graphs.clone().filter(|graph| graph.failure.is_none());
    let speedups = || correct().filter_map(|graph| graph.eager).map(|eager| eager.ratio);
    let mut failures = BTreeMap::new();
    for failure in graphs.clone().filter_map(|graph| graph.failure) {
        *failures.entry(failure).or_insert(0) += 1;
    }
    Tally {
        graphs: graphs.clone().count(),
        correct: correct().count(),
        fast_1: correct()
            .filter(|graph| !graph.unstable && graph.eager.is_some_and(|eager| eager.ratio >= 1.0))
            .count(),
        untimed: correct().filter(|graph| graph.eager.is_none()).count(),
        unstable: correct().filter(|graph| graph.unstable).count(),
        geomean_speedup: speedups().next().map(|_| geometric_mean(speedups())),
        failures,
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}
