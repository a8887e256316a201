//! Comparison of the candidate's values with the reference's.

mod contents;
mod layout;
mod nan_free;
mod pairs;
mod tally;
mod timed;
mod vanishing;

pub(crate) use contents::{LooseRound, Witnesses, judge_loosely};
pub(crate) use layout::LayoutRule;
pub(crate) use layout::remarks;
pub(crate) use nan_free::OutputSet;
pub(crate) use pairs::{CallProperties, Pair, PairError, SeenInputs, pair, same_bytes};
pub(crate) use tally::{Agreement, RoundTally};
pub(crate) use timed::{is_suspicious, wrong_values};

#[cfg(test)]
mod tests;
