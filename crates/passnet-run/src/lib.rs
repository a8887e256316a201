//! Suites and runs on disk.
//!
//! ```text
//! suite folder, task, sample, .tar.zst ──► Suite ──► GraphSample      graphs to evaluate
//! run directory: run.jsonl + blobs/   ◄──► RunStore, RunLog           their verdicts
//! run directory ──► bundle (.pnb) ──► Bundle                          a run as one verified file
//! ```
//!
//! The crate never starts a process, and it never changes a line of a run log: it only appends. With the feature `pages`, the crate also
//! implements `Archive`, through which the pages of `passnet-web` read data that is not in the log.
//!
//! ```no_run
//! use passnet_run::{RunLog, Selection, Suite};
//!
//! let suite = Suite::load("suites/demo".as_ref(), &Selection::default())?;
//! println!("{}: {} tasks", suite.record.name, suite.record.tasks.len());
//! let log = RunLog::read("runs/demo-eager-cpu".as_ref())?;
//! println!("{} verdicts", log.verdicts().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "pages")]
pub mod archive;
mod blob;
pub mod bundle;
mod cache;
mod clock;
mod input;
mod lock;
mod plain_name;
mod run_log;
mod sample;
mod suite;

pub use self::{
    blob::{blob_path, read_blob},
    cache::cache_directory,
    clock::{now_rfc3339, seconds_of_rfc3339},
    input::{open_input, read_input, read_input_text},
    lock::FileLock,
    plain_name::plain_name,
    run_log::{FLEET_METRICS, RunLog, RunStore, StoreError, remove_run},
    sample::{GraphSample, SampleFolder},
    suite::{Selection, Suite, SuiteError},
};
