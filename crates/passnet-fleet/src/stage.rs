//! A stage of the dataset on a cluster: split, tasks, merge.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use fs_err as fs;
use passnet_dataset::{
    Dataset,
    shard::{ShardError, ShardResult, split},
};
use passnet_record::stages::ShardStage;

use crate::{
    bridge::BridgeConfig,
    error::FleetError,
    tasks::{TaskProgress, result_of, run_tasks},
};

/// Folder in the dataset with the shards of stages that are not finished.
const SHARDS: &str = ".shards";

/// A stage of the dataset on a cluster.
pub struct StageRun<'a> {
    /// The stage and its settings.
    pub stage: &'a ShardStage,
    /// The dataset, which also keeps shards and their results until the stage is finished.
    pub dataset: &'a Dataset,
    /// Folder of samples to import; unused by other stages.
    pub samples: &'a Path,
    /// Largest number of graphs of a shard.
    pub graphs: usize,
    /// Bridge to the cluster.
    pub bridge: &'a BridgeConfig,
    /// Ends the tasks when it becomes true. Existing results are kept. The run sets it after the last result: the merge that follows can
    /// be repeated, so an interrupt may end the merge immediately.
    pub stop: &'a AtomicBool,
    /// Called for each step.
    pub progress: &'a dyn Fn(TaskProgress<'_>),
}

impl StageRun<'_> {
    /// Runs the stage and merges the results. Returns `None` if it was stopped; the next call continues.
    ///
    /// # Errors
    /// If another process runs the stage, a table cannot be read or written, the cluster is out of reach, or a shard was given up.
    pub fn run<T>(&self, merge: impl FnOnce(&[ShardResult]) -> Result<T, ShardError>) -> Result<Option<T>, FleetError> {
        let root = self.dataset.root();
        let scratch = root.join(SHARDS).join(self.stage.name());
        let is_new = !root.exists();
        fs::create_dir_all(&scratch)?;
        let lock = File::create(scratch.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FleetError::StageRuns(root.to_owned())),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let shards = match split(self.stage, self.dataset, self.samples, &scratch, self.graphs) {
            Ok(shards) => shards,
            Err(error) => {
                // A folder without samples leaves no dataset.
                fs::remove_dir_all(if is_new { root } else { scratch.as_path() })?;
                return Err(error.into());
            }
        };
        let results: Vec<ShardResult> =
            shards.iter().map(|shard| ShardResult { result: result_of(shard), shard: shard.clone() }).collect();
        if !self.run_all(&shards, &results)? {
            return Ok(None);
        }
        self.stop.store(true, Ordering::Relaxed);
        let merged = merge(&results)?;
        fs::remove_dir_all(&scratch)?;
        // Shards of other stages may be there.
        let _ = fs::remove_dir(root.join(SHARDS));
        Ok(Some(merged))
    }

    /// Runs the shards that have no whole result. Returns false if it was stopped.
    fn run_all(&self, shards: &[PathBuf], results: &[ShardResult]) -> Result<bool, FleetError> {
        let mut done = 0;
        for result in results {
            if result.result.exists() && !result.is_whole()? {
                fs::remove_dir_all(&result.result)?;
            }
            done += usize::from(result.result.exists());
        }
        if done == shards.len() {
            return Ok(true);
        }
        (self.progress)(TaskProgress::Begun { done, all: shards.len() });
        run_tasks(self.bridge, shards, self.stop, self.progress)
    }
}
