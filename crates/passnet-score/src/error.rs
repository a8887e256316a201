/// Error of computing a score.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// There is no graph to compute a mean of.
    #[error("no graphs to score: the run has no verdicts yet, or every reference failed")]
    NoGraphs,
    /// The slowdown penalty is out of range.
    #[error("slowdown penalty p = {0}: must be a finite number, 0 or more")]
    SlowdownPenalty(f64),
    /// The error base is out of range.
    #[error("error base b = {0}: must be more than 0 and at most 1")]
    ErrorBase(f64),
    /// The settings of the bootstrap are out of range.
    #[error("bootstrap with {resamples} resamples at confidence {confidence}: needs at least 1 and 0 < confidence < 1")]
    Bootstrap {
        /// Requested number of resamples.
        resamples: u32,
        /// Requested confidence level.
        confidence: f64,
    },
    /// No weight table has that name.
    #[error("unknown weight table `{0}`; known are as-2026 and as-2025")]
    UnknownWeights(String),
    /// No interpretation has that name.
    #[error("unknown interpretation `{0}`; known are default, passnet and mismatch_extended")]
    UnknownInterpretation(String),
    /// AS needs ES_t at a tolerance that was not scored.
    #[error("no ES_t at t = {0}, which the weight table needs")]
    MissingTolerance(i32),
    /// The per-graph and the aggregate form of a score differ: a defect of this crate.
    #[error("{score}_t at t = {t}: per graph {per_graph}, from aggregates {aggregate}; please report this")]
    FormsDisagree {
        /// `S` or `ES`.
        score: &'static str,
        /// The tolerance.
        t: i32,
        /// Geometric mean over graphs.
        per_graph: f64,
        /// From alpha, beta, lambda, eta, gamma.
        aggregate: f64,
    },
}
