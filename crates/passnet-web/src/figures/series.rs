//! Data of one curve.

use std::collections::BTreeMap;

use passnet_score::{EsSettings, GraphOutcome, ScoreError, ToleranceScore, tolerance_scores};

/// One compiler of a figure.
#[derive(Clone, Debug)]
pub struct FigureSeries {
    /// Name in the legend.
    pub name: String,
    /// S_t and ES_t by tolerance.
    pub scores: Vec<ToleranceScore>,
    /// Measured speed-ups of correct graphs, by category.
    pub speedups: BTreeMap<String, Vec<f64>>,
}

/// Returns the usual category of a graph: its task for a graph of a run. For a graph of a log, it is the library of the model, i.e. the
/// parent folder.
pub fn category(outcome: &GraphOutcome) -> String {
    let mut parts = outcome.id.task.rsplit('/');
    match (parts.next(), parts.next()) {
        (Some(_), Some(library)) => library.to_owned(),
        _ => outcome.id.task.clone(),
    }
}

impl FigureSeries {
    /// Computes the scores of outcomes. `category` names the violin that a graph belongs to.
    ///
    /// # Errors
    /// No graphs, or settings out of range.
    pub fn new(
        name: String,
        outcomes: &[GraphOutcome],
        settings: &EsSettings,
        category: impl Fn(&GraphOutcome) -> String,
    ) -> Result<Self, ScoreError> {
        let mut speedups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for outcome in outcomes.iter().filter(|outcome| outcome.failure.is_none()) {
            if let Some(eager) = outcome.eager {
                speedups.entry(category(outcome)).or_default().push(eager.ratio);
            }
        }
        Ok(Self { name, scores: tolerance_scores(outcomes, settings)?, speedups })
    }
}
