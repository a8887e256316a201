use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AuthorSpec, CacheMode, ContentId, Device, ExecutionPath, Mode, RunMetadata, Verdict, Weights};

/// Description of a machine: hardware and versions that can change a timing or a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// CPU model and number of logical cores, e.g. `AMD EPYC x 2`.
    pub cpu: String,
    /// Accelerator name; empty on a CPU run.
    #[serde(default)]
    pub device: String,
    /// Accelerator driver version; empty on a CPU run.
    #[serde(default)]
    pub driver: String,
    /// Kernel release of the operating system.
    pub os: String,
    /// Versions by name: `passnet`, `python`, `torch`, `triton`, `cuda`, `cxx`.
    pub versions: BTreeMap<String, String>,
    /// Confinement that a worker reaches on this machine: for each layer `enforced`, or the reason why not. Empty without a sandbox.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sandbox: BTreeMap<String, String>,
}

/// Settings that can change a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Rules of the run.
    pub mode: Mode,
    /// Device that is measured.
    pub device: Device,
    /// Seed that all other seeds derive from. A run with a seed is reproducible, and its contents are predictable. If `None`, each
    /// evaluation draws a seed from the operating system and records it in its verdict ([`crate::Evidence::seed`]).
    #[serde(default)]
    pub seed: Option<u64>,
    /// Number of untimed calls before the first timed call.
    pub warmup: u32,
    /// Number of timed trials of each side.
    pub trials: u32,
    /// Number of rounds that the trials are divided into. The order of sides alternates from round to round.
    pub rounds: u32,
    /// Smallest number of pairs of fresh processes for a ratio that differs from 1. It is 1 in logs from before 0.3.
    #[serde(default = "one_pair")]
    pub pairs: u32,
    /// Number of random input contents, which count for the tolerance.
    pub check_rounds: u32,
    /// Adversarial input contents, by name.
    pub adversarial: Vec<String>,
    /// Largest tolerance at which a graph counts as `correct`.
    pub correct_at: i32,
    /// Paths to measure. The first path is scored.
    pub paths: Vec<ExecutionPath>,
    /// Place of the weights. It is [`Weights::Inputs`] in records of earlier versions.
    #[serde(default, skip_serializing_if = "Weights::is_default")]
    pub weights: Weights,
    /// Cache state before each trial.
    pub cache: CacheMode,
    /// Largest accepted fluctuation of a measurement: the relative uncertainty of the speed-up in sound mode, IQR / median of the times in
    /// paper mode. The record keeps the name of earlier versions, which had one definition for both modes.
    #[serde(rename = "max_iqr_ratio")]
    pub max_fluctuation: f64,
    /// Largest number of further measurements of an unstable pair.
    pub max_remeasure: u32,
    /// Number of intra-op threads of each worker.
    pub threads: u32,
    /// Wall-clock limit of one graph, in seconds.
    pub timeout_s: f64,
    /// Limit on host memory of one worker, in bytes.
    pub memory_bytes: u64,
}

const fn one_pair() -> u32 {
    1
}

impl RunSettings {
    /// Returns whether contents and choices derive from a seed that was known before the run. Such verdicts can be reproduced, but a pass
    /// could have been written for these contents.
    pub const fn is_seeded(&self) -> bool {
        self.seed.is_some()
    }
}

/// First line of a run log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Directory name of the run.
    pub run: String,
    /// Name of the suite.
    pub suite: String,
    pub suite_version: String,
    /// Number of graphs that the run will have verdicts for.
    pub graphs: usize,
    /// Author of the passes.
    pub author: AuthorSpec,
    pub settings: RunSettings,
    /// Machine on which the verdicts were reached.
    pub fingerprint: Fingerprint,
    /// Time at which the run began, RFC 3339, UTC.
    pub started: String,
    /// Description for boards; empty in logs from before 0.3.
    #[serde(default, skip_serializing_if = "RunMetadata::is_empty")]
    pub metadata: RunMetadata,
}

/// A file of a pass directory in a run log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Path inside the pass directory.
    pub path: String,
    /// Blob with its content.
    pub blob: ContentId,
}

/// One line of a run log (JSONL).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run began. This is always the first line. A resumed run writes this event again.
    Started(Box<RunHeader>),
    /// The pass directory of a task. This comes before the first verdict of the task.
    Passes {
        /// Task that the passes are for.
        task: String,
        /// Content id of the directory.
        id: ContentId,
        /// Files of the directory.
        files: Vec<SourceFile>,
    },
    /// A graph has a verdict.
    Verdict(Box<Verdict>),
    /// The run is complete. This is always the last line.
    Finished {
        /// Time of the end, RFC 3339, UTC.
        at: String,
        /// Wall time since the last start.
        wall_ns: u64,
    },
}
