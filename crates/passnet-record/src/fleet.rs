//! Messages of a fleet, one JSON object per line.
//!
//! ```text
//! driver ── ClusterRequest ──► bridge ── StationRequest ──► station     (bridge and cluster see lines, not their meaning)
//! driver ◄── ClusterEvent ─── bridge ◄── StationReply ──── station
//! ```
//!
//! A *station* is a referee on one device, in a separate process. The *driver* gives it leases and writes the run log. The
//! *bridge* starts stations on a cluster and carries lines. A line may arrive twice and a station may disappear at any time:
//! every reply names its lease, and a verdict has a content key.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ContentId, Fingerprint, GraphId, PassDirectory, Profile, Reason, RunSettings, TensorMeta, Verdict};

/// Version of these messages. Driver and station have to agree on it.
pub const FLEET_PROTOCOL: u32 = 2;

/// Order in which jobs get devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A training process waits for the result.
    Training,
    /// A run over a suite.
    Batch,
}

impl Priority {
    /// All priorities, the highest first.
    pub const ALL: [Self; 2] = [Self::Training, Self::Batch];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Batch => "batch",
        }
    }
}

/// A program that shares the devices of a fleet with other programs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FleetClient {
    /// Name of the client. Quotas and fair shares apply to all jobs with this name.
    pub name: String,
    /// Priority of its jobs.
    pub priority: Priority,
}

/// Kind of result that a parcel requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    #[default]
    Verdict,
    /// Verdicts without timing.
    Check,
    /// Profiles of one call, and no verdict.
    Profile,
}

/// Request of the driver to a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum StationRequest {
    /// Starts the referee. The first request.
    Open(Box<OpenStation>),
    /// Evaluates all candidates of a task. Answered by verdicts, then [`StationReply::Done`] or [`StationReply::Failed`].
    Evaluate {
        /// Lease that the replies repeat.
        lease: u64,
        parcel: Box<Parcel>,
    },
    /// Measures a graph against itself. Answered by [`StationReply::Checked`] or [`StationReply::Failed`].
    Check {
        /// Lease that the reply repeats.
        lease: u64,
        graph: Box<GraphParcel>,
    },
    /// Requests that the station finishes the graphs in progress, begins no others, and ends.
    Stop,
}

/// Settings of a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenStation {
    /// [`FLEET_PROTOCOL`] of the driver.
    pub protocol: u32,
    /// Settings of every evaluation.
    pub settings: RunSettings,
    /// Number of evaluations at the same time; `None` for the default of the device.
    pub jobs: Option<usize>,
    /// Number of cores that the station reserves for itself; 0 to run on any core.
    pub cores: usize,
    /// Memory of the device that may be in use before the station starts, in bytes.
    pub foreign_memory_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StationReply {
    /// The referee runs, and the station accepts work.
    Ready(Box<StationFacts>),
    /// The station cannot use the device: PyTorch or the device is missing, or other processes use the memory of the device. The station
    /// ends.
    Unfit { reason: String },
    /// A graph was evaluated.
    Verdict {
        lease: u64,
        /// Place of the candidate in the parcel.
        author: usize,
        verdict: Box<Verdict>,
        /// Blobs that the verdict refers to.
        blobs: Vec<FileContent>,
    },
    /// The evaluation was skipped, because the parcel lists a verdict with the same key for this graph.
    Known {
        lease: u64,
        /// Place of the candidate in the parcel.
        author: usize,
        id: GraphId,
    },
    /// A graph was profiled, or the reason why there is no profile.
    Profiled { lease: u64, profile: Result<Profile, Reason> },
    /// The work of a lease is done.
    Done {
        lease: u64,
        /// False if the station was asked to stop before all graphs were done.
        complete: bool,
    },
    /// The lease ended because the machine or the installation failed.
    Failed { lease: u64, message: String },
    /// A graph was measured against itself.
    Checked {
        lease: u64,
        /// The verdict on the author `eager`.
        verdict: Box<Verdict>,
        /// Memory of the device in use before the check, in bytes; `None` on a CPU, and among other evaluations.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_bytes: Option<u64>,
    },
}

/// Description of a station.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationFacts {
    /// Machine, as it goes into the header of a run.
    pub fingerprint: Fingerprint,
    /// Number of leases that the station works on at the same time.
    pub capacity: usize,
    /// Cores that the station has reserved; empty if it runs on any core.
    pub cores: Vec<u32>,
    /// Name of the physical device on its host: `cpu`, or the id of a GPU.
    pub device: String,
}

/// A task with its graphs and candidates, as it is sent to a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// Name of the task.
    pub task: String,
    /// Graphs of the task.
    pub graphs: Vec<GraphParcel>,
    /// The candidate of each author.
    pub candidates: Vec<CandidateParcel>,
    /// Verdicts that the run already has. These evaluations are skipped.
    pub known: Vec<KnownVerdict>,
    /// Kind of result for each graph and candidate.
    #[serde(default)]
    pub wanted: Wanted,
}

/// A graph with the metadata of its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphParcel {
    /// Task and name of the graph in the suite.
    pub id: GraphId,
    pub content: SampleContent,
}

/// A sample, or the reason why it cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleContent {
    Graph {
        /// Graph in wire form (`docs/reference/graph-wire.md`).
        graph: Value,
        /// Metadata of the inputs, one entry per input, in order.
        inputs: Vec<TensorMeta>,
    },
    /// The folder cannot be read. This becomes a verdict.
    Unreadable { message: String },
}

/// Candidate of an author for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CandidateParcel {
    Eager,
    /// The path of passes, without any pass.
    Noop,
    /// TorchInductor in a mode.
    Inductor {
        /// The `mode` argument of `torch.compile`.
        mode: String,
    },
    /// Another compiler.
    Compiler {
        /// Name or path of the file that calls it.
        name: String,
        /// Text of the file; empty for a compiler of PassNet.
        source: String,
    },
    Passes {
        /// Path and content of each file.
        files: Vec<(String, FileContent)>,
    },
    /// An invalid pass directory, with the reason.
    Refused {
        reason: String,
    },
}

impl CandidateParcel {
    /// Returns the parcel of a pass directory.
    pub fn of_passes(passes: &PassDirectory) -> Self {
        let files = passes.files().iter().map(|(path, bytes)| (path.clone(), FileContent::of(bytes)));
        Self::Passes { files: files.collect() }
    }
}

/// A verdict that a run already has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownVerdict {
    /// Place of the candidate in the parcel.
    pub author: usize,
    /// Name of the graph.
    pub graph: String,
    pub key: ContentId,
}

/// Bytes of a file, as text if they are UTF-8, else as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileContent {
    /// Bytes that are valid UTF-8.
    Text(String),
    /// Two hexadecimal digits per byte.
    Hex(String),
}

/// Error of a [`FileContent`] that is not hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the content of a file is not hexadecimal")]
pub struct InvalidContent;

impl FileContent {
    /// Encodes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        // Pass files are nearly always text, which stays readable in a captured line and takes half as many bytes as digits.
        match str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    /// Returns the bytes.
    ///
    /// # Errors
    /// If the digits are not hexadecimal.
    pub fn into_bytes(self) -> Result<Vec<u8>, InvalidContent> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            // The digits are checked first, because slicing between the bytes of a character would panic.
            Self::Hex(digits) if digits.len() % 2 == 0 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| InvalidContent);
                (0..digits.len()).step_by(2).map(pair).collect()
            }
            Self::Hex(_) => Err(InvalidContent),
        }
    }
}

/// Request of the driver to the bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ClusterRequest {
    /// Sends a line to a station.
    Send {
        slot: u64,
        /// A [`StationRequest`] as JSON.
        line: String,
    },
    /// Ends a station. The bridge then starts another station in its place.
    Restart { slot: u64 },
}

/// Event that the bridge reports. The number of a station is never reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ClusterEvent {
    /// A station was started.
    Joined {
        slot: u64,
        /// Name of its host.
        node: String,
    },
    /// A station wrote a line.
    Line {
        slot: u64,
        /// A [`StationReply`] as JSON.
        line: String,
    },
    /// A station was lost, with all its work in progress.
    Lost { slot: u64, reason: String },
    /// A message for people.
    Note { text: String },
}

/// Request of the driver to the bridge that runs stages of the dataset on shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum TaskRequest {
    /// Runs a shard on any node.
    Run {
        /// Number of the shard, which the events repeat.
        number: usize,
        folder: PathBuf,
    },
}

/// Event that the bridge of stages reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TaskEvent {
    /// A shard is done and its result was stored.
    Done { number: usize, node: String },
    /// A shard was lost and runs again.
    Retried { number: usize, reason: String },
    /// A shard failed permanently.
    Failed { number: usize, reason: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive() {
        for bytes in [b"".as_slice(), b"import torch\n", "é".as_bytes(), &[0xff, 0x00, 0x7f]] {
            let json = serde_json::to_string(&FileContent::of(bytes)).unwrap();
            let content: FileContent = serde_json::from_str(&json).unwrap();
            assert_eq!(content.into_bytes().unwrap(), bytes, "{json}");
        }
        for digits in ["0", "0g", "é"] {
            assert_eq!(FileContent::Hex(digits.to_owned()).into_bytes(), Err(InvalidContent));
        }
    }

    #[test]
    fn messages_are_tagged_objects() {
        let text = serde_json::to_string(&ClusterEvent::Lost { slot: 3, reason: "killed".to_owned() }).unwrap();
        assert_eq!(text, r#"{"event":"lost","slot":3,"reason":"killed"}"#);
        let request: StationRequest = serde_json::from_str(r#"{"op":"stop"}"#).unwrap();
        assert_eq!(request, StationRequest::Stop);
        let parcel = serde_json::to_string(&CandidateParcel::of_passes(&PassDirectory::empty())).unwrap();
        assert_eq!(parcel, r#"{"kind":"passes","files":[]}"#);
    }
}
