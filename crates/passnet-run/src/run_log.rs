//! Runs on disk.
//!
//! ```text
//! runs/<name>/
//!   run.jsonl        one event per line, only ever appended to
//!   run.jsonl.zst    the same, once the run is finished
//!   blobs/ab/cd...   files named by their content: passes, trial times, failed outputs
//!   lock             held by the one process that writes
//!   fleet.prom       state of the fleet that writes, for the live page; not part of the run
//! ```
//!
//! Scores and pages are computed from the log alone. Each event is one `write`. A verdict is on disk before its thread begins the next
//! evaluation. A killed writer leaves at most one incomplete line at the end, which the next writer removes.

/// Name of the file in a run directory with the state of the fleet that evaluates the run, as Prometheus text.
pub const FLEET_METRICS: &str = "fleet.prom";

mod error;
mod header;
mod reader;
mod store;

pub use self::{
    error::StoreError,
    reader::RunLog,
    store::{RunStore, remove_run},
};

#[cfg(test)]
mod tests;
