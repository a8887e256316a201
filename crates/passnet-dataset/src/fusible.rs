//! Fusible subgraphs: ranges of ops that a compiler runs without starting another kernel.
//!
//! The measurement is the number of kernels that the first k ops of a graph compile to, for each k. [`measure_all`]
//! asks for every prefix by itself; [`Bracketing`] asks for prefixes together, and for fewer where graphs repeat themselves
//! and one another.
//! [`fusible_ranges`] turns the counts into ranges and is a pure function.

mod bracket;
mod ranges;

pub use bracket::{Bracketing, Compiled, PrefixCounts, measure_all};
pub use ranges::fusible_ranges;
