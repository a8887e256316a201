//! Datasets: from samples to unique graphs, subgraphs, tasks and suites.
//!
//! A [`Dataset`] is a folder of Parquet tables ([`store`]). A stage reads one table and writes another:
//!
//! - [`import`] reads samples and task folders, and exports to them;
//! - [`dedup`] drops duplicates and records their lineage;
//! - [`mine`] cuts subgraphs;
//! - [`curate`] makes tasks and splits;
//! - [`query`] searches a table.
//!
//! [`shard`] runs stages on parts of a table, for a cluster.
//!
//! The stages use pure functions over op names and counts: [`fold`] and [`fusible`] find ranges of ops, [`select`] and [`bucket`]
//! choose the content of an evaluation set. [`capture`] runs the Python process that captures models. [`open_suite`] opens a suite
//! in any form: folder, archive or Parquet.
//!
//! ```
//! use passnet_dataset::select::select_subset;
//!
//! // The second sequence adds no transition between ops that the first does not have.
//! let sequences = [vec!["linear", "gelu", "linear"], vec!["linear", "gelu"], vec!["add", "relu"]];
//! let mut chosen = select_subset(&sequences, 2);
//! chosen.sort();
//! assert_eq!(chosen, [0, 2]);
//! ```
//!
//! A stage never depends on time, on the order of a hash map, or on the number of threads: equal tables give equal results. A
//! stage never stops at damaged data: it skips a damaged row and lists the row as a [`SkippedData`]. The crate never runs PyTorch
//! itself; it asks an [`annotate::Runner`].

pub mod annotate;
pub mod bucket;
pub mod capture;
pub mod coverage;
pub mod curate;
mod cut;
mod dataset;
pub mod dedup;
pub mod definition;
mod failure;
pub mod fold;
pub mod folders;
pub mod fusible;
pub mod hashes;
pub mod hub;
pub mod import;
pub mod kernels;
pub mod mine;
mod open;
mod phase;
pub mod pipeline;
pub mod prune;
pub mod query;
pub mod repair;
pub mod select;
pub mod shard;
mod sorter;
mod stage_text;
pub mod store;
pub mod suite;

pub use dataset::{Dataset, PartWriter, Table};
pub use failure::SkippedData;
pub use open::{OpenError, open_suite};
