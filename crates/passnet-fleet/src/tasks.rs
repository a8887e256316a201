//! Tasks of a stage of the dataset on a cluster. The input of a task is a folder with a shard; its output is a folder with the result.
//!
//! The cluster runs `passnet fleet shard` on a copy of each folder. The result of the shard `NAME` is the folder `NAME.out` next to it,
//! which is written atomically. A lost task is started again. A result that arrives twice is the same both times.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use passnet_record::fleet::{TaskEvent, TaskRequest};
use passnet_services::Interpreter;

use crate::{
    bridge::{Bridge, BridgeConfig, BridgeNews},
    error::FleetError,
};

/// Connections that may fail without a result in between.
const CONNECTIONS: u32 = 5;
/// Longest wait for news before the stop flag is read.
const STEP: Duration = Duration::from_millis(100);

/// A cluster that runs tasks.
#[derive(Clone, Copy, Debug)]
pub struct TaskCluster<'a> {
    /// Address of the cluster.
    pub address: &'a str,
    /// CPU cores of a task.
    pub cores: usize,
    /// Program that a task runs, where the node has no other.
    pub command: &'a Path,
}

impl BridgeConfig {
    /// Returns the bridge to the tasks of a Ray cluster.
    pub fn of_tasks(interpreter: Interpreter, cluster: &TaskCluster<'_>) -> Self {
        let flags: [(&str, OsString); 3] = [
            ("--address", cluster.address.into()),
            ("--cores", cluster.cores.to_string().into()),
            ("--command", cluster.command.into()),
        ];
        let arguments = flags.into_iter().flat_map(|(name, value)| [name.into(), value]).collect();
        Self { interpreter, module: "passnet._fleet.tasks", arguments }
    }
}

#[derive(Debug)]
pub enum TaskProgress<'a> {
    /// The tasks begin.
    Begun {
        /// Results that are there.
        done: usize,
        /// Number of shards.
        all: usize,
    },
    /// A result is there.
    Done {
        /// Name of the host.
        node: &'a str,
        /// Results that are there.
        done: usize,
        /// Number of shards.
        all: usize,
    },
    /// Text for people: a task was lost and is tried again.
    Note(String),
}

/// Returns the path of the folder with the result of a shard.
pub(crate) fn result_of(shard: &Path) -> PathBuf {
    let mut name = shard.file_name().unwrap_or_default().to_owned();
    name.push(".out");
    shard.with_file_name(name)
}

/// Runs all shards without a result. Returns false if it was stopped before all results existed. `stop` ends it immediately: existing
/// results are kept, and the next call continues.
///
/// # Errors
/// If the cluster is out of reach, or a shard was given up; all other shards have results then.
pub(crate) fn run_tasks(
    config: &BridgeConfig,
    shards: &[PathBuf],
    stop: &AtomicBool,
    progress: &dyn Fn(TaskProgress<'_>),
) -> Result<bool, FleetError> {
    let mut state = ShardState { open: Vec::new(), all: shards.len(), failures: 0, given_up: Vec::new() };
    state.open = (0..shards.len()).filter(|&number| !result_of(&shards[number]).exists()).collect();
    while !state.open.is_empty() {
        let mut bridge = Bridge::<TaskEvent>::start(config)?;
        for &number in &state.open {
            bridge.send(&TaskRequest::Run { number, folder: shards[number].clone() });
        }
        if !state.serve(&bridge, stop, progress)? {
            return Ok(false);
        }
    }
    match state.given_up.first() {
        None => Ok(true),
        Some((number, reason)) => Err(FleetError::ShardsGivenUp {
            shards: state.given_up.len(),
            first: shards[*number].clone(),
            reason: reason.clone(),
        }),
    }
}

struct ShardState {
    /// Shards without a result.
    open: Vec<usize>,
    all: usize,
    /// Connections that failed since the last result.
    failures: u32,
    given_up: Vec<(usize, String)>,
}

impl ShardState {
    /// Reads events until no shard is open or the bridge has ended. Returns false if it was stopped.
    fn serve(
        &mut self,
        bridge: &Bridge<TaskEvent>,
        stop: &AtomicBool,
        progress: &dyn Fn(TaskProgress<'_>),
    ) -> Result<bool, FleetError> {
        while !self.open.is_empty() {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            match bridge.next(STEP) {
                None => {}
                Some(BridgeNews::Garbage(error)) => return Err(error),
                Some(BridgeNews::Event(TaskEvent::Done { number, node })) => {
                    self.open.retain(|&open| open != number);
                    self.failures = 0;
                    let done = self.all - self.open.len() - self.given_up.len();
                    progress(TaskProgress::Done { node: &node, done, all: self.all });
                }
                Some(BridgeNews::Event(TaskEvent::Retried { number, reason })) => {
                    progress(TaskProgress::Note(format!("shard {number} is tried again: {reason}")));
                }
                Some(BridgeNews::Event(TaskEvent::Failed { number, reason })) => {
                    self.open.retain(|&open| open != number);
                    self.given_up.push((number, reason));
                }
                Some(BridgeNews::Ended(message)) => {
                    self.failures += 1;
                    // The first connection never worked, or it fails repeatedly.
                    if self.failures >= CONNECTIONS || (self.failures == 1 && self.open.len() == self.all) {
                        return Err(FleetError::Unreachable { times: self.failures, message });
                    }
                    progress(TaskProgress::Note("the connection to the cluster was lost; connecting again".to_owned()));
                    return Ok(true);
                }
            }
        }
        Ok(true)
    }
}
