//! Plan: the parts of a graph that are rewritten, and their loops.

pub(crate) mod config;
pub(crate) mod contraction;
pub(crate) mod cost;
pub(crate) mod dry_run;
pub(crate) mod flow;
pub(crate) mod lanes;
pub(crate) mod pattern;
mod pattern_printer;
pub(crate) mod precision;
pub(crate) mod rates;
pub(crate) mod region;
mod rewritten;
pub(crate) mod running;
pub(crate) mod schedule;
pub(crate) mod select;
pub(crate) mod site;
pub(crate) mod stage;
pub(crate) mod survey;
pub(crate) mod tile;
pub(crate) mod views;
mod window;
