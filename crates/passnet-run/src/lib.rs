//! Suites and runs on disk.
//!
//! ```text
//! suite folder, task, sample, .tar.zst ──► Suite ──► GraphSample      what there is to evaluate
//! run directory: run.jsonl + blobs/   ◄──► RunStore, RunLog           what was found
//! run directory ──► bundle (.pnb) ──► Bundle                          a run as one verified file
//! ```
//!
//! The crate reads and writes files and starts no process. With the feature `pages` it also implements the
//! `Archive` that the pages of `passnet-web` read from.
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
mod lock;
mod plain_name;
mod run_log;
mod sample;
mod suite;

pub use self::{
    blob::{blob_path, read_blob},
    cache::cache_directory,
    clock::now_rfc3339,
    lock::FileLock,
    plain_name::plain_name,
    run_log::{RunLog, RunStore, StoreError, remove_run},
    sample::{GraphSample, SampleFolder},
    suite::{Selection, Suite, SuiteError},
};
