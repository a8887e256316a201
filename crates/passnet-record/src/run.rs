use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AuthorSpec, CacheMode, ContentId, Device, ExecutionPath, Mode, RunMetadata, Verdict, Weights};

/// Hardware and versions, which can change a timing or a result.
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
    /// Confinement that a worker reaches on this machine, by layer: `enforced`, or why not. Empty without a sandbox.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sandbox: BTreeMap<String, String>,
}

/// Everything that a user can set and that can change a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Rules of the run.
    pub mode: Mode,
    /// Device that is measured.
    pub device: Device,
    /// Seed that all other seeds derive from, which marks the run as reproducible and its contents as predictable. `None`:
    /// each evaluation draws one from the operating system, and its verdict names it ([`crate::Evidence::seed`]).
    #[serde(default)]
    pub seed: Option<u64>,
    /// Untimed calls before the first timed one.
    pub warmup: u32,
    /// Timed calls of each side.
    pub trials: u32,
    /// Rounds the trials are divided into; sides alternate from round to round.
    pub rounds: u32,
    /// Least number of pairs of fresh processes behind a ratio that differs from 1; 1 in logs of before 0.3.
    #[serde(default = "one_pair")]
    pub pairs: u32,
    /// Random input contents that count for the tolerance.
    pub check_rounds: u32,
    /// Adversarial input contents, by name.
    pub adversarial: Vec<String>,
    /// A graph is `correct` when its tolerance is at most this.
    pub correct_at: i32,
    /// Paths to measure; the first is the one that is scored.
    pub paths: Vec<ExecutionPath>,
    /// Place of the weights; in records of earlier versions [`Weights::Inputs`].
    #[serde(default, skip_serializing_if = "Weights::is_default")]
    pub weights: Weights,
    /// Cache state before each trial.
    pub cache: CacheMode,
    /// Largest accepted IQR / median.
    pub max_iqr_ratio: f64,
    /// Maximum number of further measurements of an unstable pair.
    pub max_remeasure: u32,
    /// Intra-op threads of each worker.
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
    /// True if contents and choices follow from a seed that was known before the run: its verdicts can be reproduced, and
    /// a pass could have been made for them.
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
    /// Machine that the verdicts are of.
    pub fingerprint: Fingerprint,
    /// When the run began, RFC 3339, UTC.
    pub started: String,
    /// Description for boards; empty in logs of before 0.3.
    #[serde(default, skip_serializing_if = "RunMetadata::is_empty")]
    pub metadata: RunMetadata,
}

/// A file of a pass directory, for the record.
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
    /// The run began; always the first line. A resumed run writes another one.
    Started(Box<RunHeader>),
    /// The pass directory of a task, before its first verdict.
    Passes {
        /// Task the passes are for.
        task: String,
        /// Content id of the directory.
        id: ContentId,
        /// Files of the directory.
        files: Vec<SourceFile>,
    },
    /// One graph is done.
    Verdict(Box<Verdict>),
    /// The run is complete; always the last line.
    Finished {
        /// When, RFC 3339, UTC.
        at: String,
        /// Wall time since the (last) start.
        wall_ns: u64,
    },
}
