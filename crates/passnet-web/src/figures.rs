//! The figures that GraphNet publishes, each as one SVG file: S(t), ES(t), and the distributions of speed-ups.
//!
//! One [`FigureSeries`] is one compiler: a run, or an upstream log. Every drawn value stands in the file in full precision, in the
//! attribute `data-values` of its curve. `docs/reference/figures.md` describes the figures.

mod curves;
mod frame;
mod violins;

use std::collections::BTreeMap;

use passnet_score::{EsSettings, GraphOutcome, ScoreError, ToleranceScore, tolerance_scores};

pub(crate) use self::{
    curves::{es_figure, s_figure},
    violins::violin_figure,
};

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

/// The figures of some compilers, by file name. Empty without series.
pub fn figures(series: &[FigureSeries], settings: &EsSettings) -> Vec<(&'static str, String)> {
    if series.is_empty() {
        return Vec::new();
    }
    let drawn = [
        ("St.svg", s_figure(series, settings)),
        ("ESt.svg", es_figure(series, settings)),
        ("violin.svg", violin_figure(series)),
    ];
    let whole =
        |markup: maud::Markup| format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", markup.into_string());
    drawn.into_iter().map(|(name, markup)| (name, whole(markup))).collect()
}
