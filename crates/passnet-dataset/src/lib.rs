//! Samples to unique graphs, subgraphs and tasks.
//!
//! A [`Dataset`] is a folder of Parquet tables ([`store`]). Stages read one table and write another: [`import`] fills it
//! from sample and task folders (and exports to them), [`dedup`] drops duplicates and keeps their lineage, [`mine`] cuts
//! subgraphs, [`curate`] makes tasks and splits, [`query`] looks into it. Every stage is a function of its tables: nothing
//! depends on the order of hash maps, on time, or on how work was split over threads. A stage skips
//! damaged data and lists it as [`Failure`]s.
//!
//! Below the stages are pure functions over op names and counts: [`fold`] and [`fusible`] find ranges of ops, [`select`]
//! and [`bucket`] choose what an evaluation set holds. [`capture`] records what a Python process captured of models.

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
mod sorter;
mod stage_text;
pub mod store;
pub mod suite;

pub use dataset::{Dataset, PartWriter, Table};
pub use failure::Failure;
pub use open::{OpenError, open_suite};
