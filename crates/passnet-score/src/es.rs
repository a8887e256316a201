use std::collections::BTreeMap;

use passnet_record::Status;
use serde::Serialize;

use crate::{GraphOutcome, Interpretation, MIN_TOLERANCE, ScoreError};

/// From this tolerance on, numerics are frozen and error classes are forgiven instead.
pub(crate) const FIRST_CLASS_TOLERANCE: i32 = 1;
/// Largest accepted relative difference between the two forms of a score.
const FORMS_AGREE: f64 = 1e-9;

/// The free parameters of S_t and ES_t.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EsSettings {
    /// p: a correct graph with a speed-up s below 1 counts s^(p+1).
    pub slowdown_penalty: f64,
    /// b: the value that an incorrect graph counts with.
    pub error_base: f64,
    /// Error classes that positive tolerances forgive.
    pub interpretation: Interpretation,
}

impl Default for EsSettings {
    fn default() -> Self {
        Self { slowdown_penalty: 0.0, error_base: 0.1, interpretation: Interpretation::Default }
    }
}

impl EsSettings {
    pub(crate) fn validate(&self) -> Result<(), ScoreError> {
        if !(self.slowdown_penalty >= 0.0 && self.slowdown_penalty.is_finite()) {
            return Err(ScoreError::SlowdownPenalty(self.slowdown_penalty));
        }
        if !(self.error_base > 0.0 && self.error_base <= 1.0) {
            return Err(ScoreError::ErrorBase(self.error_base));
        }
        Ok(())
    }
}

/// The statistics that the aggregate forms of S_t and ES_t are computed from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AggregateStatistics {
    /// Geometric mean speed-up of correct graphs; 1 if there are none.
    pub alpha: f64,
    /// Geometric mean speed-up of correct graphs slower than the baseline; 1 if there are none.
    pub beta: f64,
    /// Share of correct graphs.
    pub lambda: f64,
    /// Share of slower graphs among the correct ones; 0 if there are none.
    pub eta: f64,
    /// Value of an incorrect graph in ES_t, as a geometric mean over the error classes.
    pub gamma: f64,
    /// Share of each error class among the incorrect graphs; empty below t = 1, where error classes do not affect the score.
    pub pi: BTreeMap<String, f64>,
    /// Number of correct graphs.
    pub correct: usize,
    /// Number of correct graphs slower than the baseline.
    pub slower: usize,
    /// Number of graphs.
    pub total: usize,
}

/// S_t and ES_t at one tolerance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToleranceScore {
    /// The tolerance.
    pub t: i32,
    /// S_t: correctness judged numerically at `t`.
    pub s: f64,
    /// ES_t: from t = 1 on, correctness is judged numerically at 1 and error classes are forgiven.
    pub es: f64,
    /// The statistics that ES_t is computed from. For t <= 1, S_t is computed from the same statistics.
    pub parameters: AggregateStatistics,
}

/// Computes S_t and ES_t for every tolerance of the interpretation, once per graph and once from aggregate statistics.
///
/// # Errors
/// If there are no graphs, parameters are out of range, or the two forms differ by more than 1e-9 relative.
pub fn tolerance_scores(graphs: &[GraphOutcome], settings: &EsSettings) -> Result<Vec<ToleranceScore>, ScoreError> {
    settings.validate()?;
    if graphs.is_empty() {
        return Err(ScoreError::NoGraphs);
    }
    (MIN_TOLERANCE..=settings.interpretation.last_tolerance()).map(|t| score_at(graphs, t, settings)).collect()
}

fn score_at(graphs: &[GraphOutcome], t: i32, settings: &EsSettings) -> Result<ToleranceScore, ScoreError> {
    let b = settings.error_base;
    let s = geometric_mean(graphs.iter().map(|graph| rectified(graph, t, settings).unwrap_or(b)));
    let es = geometric_mean(graphs.iter().map(|graph| es_term(graph, t, settings)));

    // From t = 1 on, ES_t judges numbers at t = 1 only, while S_t judges them at `t`. S_t therefore needs separate statistics, which are
    // computed below.
    let parameters = parameters_at(graphs, t, t.min(FIRST_CLASS_TOLERANCE), settings);
    // The two forms are algebraically equal, so a difference is a defect of this code. An error is better than a wrong score.
    check_forms("ES", t, es, aggregate(&parameters, parameters.gamma, settings))?;
    let numeric = parameters_at(graphs, t, t, settings);
    check_forms("S", t, s, aggregate(&numeric, b, settings))?;
    Ok(ToleranceScore { t, s, es, parameters })
}

/// Returns the rectified speed-up of a graph that is correct at `t`.
fn rectified(graph: &GraphOutcome, t: i32, settings: &EsSettings) -> Option<f64> {
    graph.correct_at(t).then(|| match graph.scored_speedup() {
        s if s >= 1.0 => s,
        s => s.powf(settings.slowdown_penalty + 1.0),
    })
}

fn es_term(graph: &GraphOutcome, t: i32, settings: &EsSettings) -> f64 {
    rectified(graph, t.min(FIRST_CLASS_TOLERANCE), settings).unwrap_or_else(|| {
        let class = settings.interpretation.class(failure_of(graph));
        match class.tolerated_from {
            Some(from) if t >= from => 1.0,
            _ => settings.error_base,
        }
    })
}

/// Returns why a graph is not correct at t = 1. A graph that only meets a looser tolerance, as the settings may demand, is wrong here.
fn failure_of(graph: &GraphOutcome) -> Status {
    graph.failure.unwrap_or(Status::Accuracy)
}

/// Computes the statistics with correctness judged at `judged_at` and error classes forgiven at `t`.
fn parameters_at(graphs: &[GraphOutcome], t: i32, judged_at: i32, settings: &EsSettings) -> AggregateStatistics {
    let (correct, wrong): (Vec<_>, Vec<_>) = graphs.iter().partition(|graph| graph.correct_at(judged_at));
    let speedups: Vec<f64> = correct.iter().map(|graph| graph.scored_speedup()).collect();
    let slower: Vec<f64> = speedups.iter().copied().filter(|&s| s < 1.0).collect();

    let mut pi = BTreeMap::new();
    let mut gamma = settings.error_base;
    if t >= FIRST_CLASS_TOLERANCE {
        let mut members: BTreeMap<&str, usize> = BTreeMap::new();
        let mut unforgiven = 0_usize;
        for graph in &wrong {
            let class = settings.interpretation.class(failure_of(graph));
            *members.entry(class.key).or_default() += 1;
            unforgiven += usize::from(class.tolerated_from.is_none_or(|from| t < from));
        }
        // With no wrong graph, all shares are 0 and gamma is b^0 = 1. Its exponent (1 - lambda) is then 0, so gamma has no effect.
        let share = |count: usize| count as f64 / wrong.len().max(1) as f64;
        pi = members.into_iter().map(|(key, count)| (key.to_owned(), share(count))).collect();
        // A forgiven class counts 1, so its share drops out of the geometric mean and only the unforgiven share
        // remains.
        gamma = settings.error_base.powf(share(unforgiven));
    }

    AggregateStatistics {
        alpha: geometric_mean(speedups.iter().copied()),
        beta: geometric_mean(slower.iter().copied()),
        lambda: correct.len() as f64 / graphs.len() as f64,
        eta: if correct.is_empty() { 0.0 } else { slower.len() as f64 / correct.len() as f64 },
        gamma,
        pi,
        correct: correct.len(),
        slower: slower.len(),
        total: graphs.len(),
    }
}

/// Returns alpha^lambda * beta^(lambda eta p) * error^(1 - lambda).
fn aggregate(parameters: &AggregateStatistics, error: f64, settings: &EsSettings) -> f64 {
    let AggregateStatistics { alpha, beta, lambda, eta, .. } = parameters;
    let exponent =
        lambda * alpha.ln() + lambda * eta * settings.slowdown_penalty * beta.ln() + (1.0 - lambda) * error.ln();
    exponent.exp()
}

fn check_forms(score: &'static str, t: i32, per_graph: f64, aggregate: f64) -> Result<(), ScoreError> {
    if (per_graph - aggregate).abs() <= FORMS_AGREE * per_graph.abs().max(aggregate.abs()) {
        Ok(())
    } else {
        Err(ScoreError::FormsDisagree { score, t, per_graph, aggregate })
    }
}

/// Returns exp of the mean logarithm; 1 if there are no values.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value.ln()));
    if count == 0 { 1.0 } else { (sum / count as f64).exp() }
}
