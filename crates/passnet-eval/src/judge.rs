//! Comparison of the candidate's values with the reference's.

mod contents;
mod layout;
mod pairs;
mod tally;
mod timed;

pub(crate) use contents::judge_loosely;
pub(crate) use layout::remarks;
pub(crate) use pairs::{Guard, Pair, PairError, pair, same_bytes};
pub(crate) use tally::{Agreement, Tally};
pub(crate) use timed::wrong_values;

#[cfg(test)]
mod tests;
