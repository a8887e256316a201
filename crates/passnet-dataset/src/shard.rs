//! Stages on shards of a table, for a cluster: split, run anywhere, merge.
//!
//! [`split`] writes shards, each a folder with all that the stage needs of a few graphs. [`run_shard`] runs the stage on one, on any
//! machine. [`merge_import`], [`merge_annotations`] and [`merge_mined`] write the same files, byte for byte, as the stage on one machine:
//! they are the code of that stage, with the results of the shards in place of the work. The name of a shard has the hash of its content, so that a
//! result is never taken for that of other graphs.

mod merge;
mod work;

pub use self::{
    merge::{merge_annotations, merge_import, merge_mined},
    work::{ShardError, ShardResult, run_shard, split, stage_of},
};

#[cfg(test)]
mod tests;
