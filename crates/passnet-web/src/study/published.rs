//! Published figures that the study is compared with.

/// Figures of arXiv 2605.29357 for 9,526 subgraphs under TorchInductor, in percent: kernel speed-up below 1.2, slower end
/// to end, strictly worse; and the correlation of the gap with the size of the graph.
pub const PUBLISHED: Published = Published { below_1_2: 34.0, slower: 43.0, worse: 8.3, correlation: 0.013 };

/// Published figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Share with a kernel speed-up below 1.2, in percent.
    pub below_1_2: f64,
    /// Share slower end to end, in percent.
    pub slower: f64,
    /// Share strictly worse, in percent.
    pub worse: f64,
    /// Correlation of the gap with the size of the graph.
    pub correlation: f64,
}
