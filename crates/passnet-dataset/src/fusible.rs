//! Fusible subgraphs: ranges of ops that a compiler runs without starting another kernel.
//!
//! The stage measures, for each k, the number of kernels that the first k ops of a graph compile to. [`measure_all`] compiles
//! every prefix separately. [`Bracketing`] compiles several prefixes at once, and fewer where graphs repeat themselves or each
//! other. [`fusible_ranges`] is a pure function that turns the counts into ranges.

mod bracket;
mod ranges;

pub use bracket::{Bracketing, Compiled, PrefixCounts, measure_all};
pub use ranges::fusible_ranges;
