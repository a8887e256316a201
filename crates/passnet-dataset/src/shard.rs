//! Stages on shards of a table, for a cluster: split, run anywhere, merge.
//!
//! [`split`] writes shards. Each shard is a folder with all data that the stage needs for a few graphs. [`run_shard`] runs the
//! stage on one shard, on any machine. [`merge_import`], [`merge_annotations`] and [`merge_mined`] write the same files, byte for
//! byte, as the stage on one machine: they run the code of that stage, but read the results of the shards instead of doing the
//! work. The name of a shard contains the hash of its content, so that a result is never used for other graphs.

mod merge;
mod work;

pub use self::{
    merge::{merge_annotations, merge_import, merge_mined},
    work::{ShardError, ShardResult, run_shard, split, stage_of},
};

#[cfg(test)]
mod tests;
