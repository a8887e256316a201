//! Runs on disk.
//!
//! ```text
//! runs/<name>/
//!   run.jsonl        one event per line, only ever appended to
//!   run.jsonl.zst    the same, once the run is finished
//!   blobs/ab/cd...   files named by their content: passes, trial times, failed outputs
//!   lock             held by the one process that writes
//! ```
//!
//! The log is the truth. An event is one `write`; a verdict is on the disk before the next is begun. A writer that is killed leaves at most one torn line at the end, which the next writer cuts off.

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
