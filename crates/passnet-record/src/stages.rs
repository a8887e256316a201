//! Stages of a dataset on a cluster: shards of graphs, and questions for PyTorch on a node.
//!
//! Both carry the version of the command. A node with another version refuses them, because it may give other rows or answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stage that works on each graph separately, with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum ShardStage {
    /// Samples to rows.
    Import,
    /// Facts about the values of graphs.
    Annotate {
        /// Bytes of inputs above which a graph is not run, only propagated.
        max_bytes: u64,
        /// Time limit of a graph, in seconds.
        seconds: f64,
        /// Memory limit of a worker, in bytes.
        memory_bytes: Option<u64>,
    },
    /// Canonical folding.
    Fold {
        /// Least number of ops of a subgraph.
        min_ops: u32,
        /// One more than the most ops of a subgraph.
        end_ops: u32,
        /// Distance of cuts outside loops.
        reach: u32,
    },
    /// Every op.
    SingleOps,
}

impl ShardStage {
    /// Returns the name of the stage.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Annotate { .. } => "annotate",
            Self::Fold { .. } | Self::SingleOps => "fold",
        }
    }
}

/// The stage of a shard, and the version that it was split by: another one may give other rows.
#[derive(Serialize, Deserialize)]
pub struct ShardManifest {
    pub version: String,
    #[serde(flatten)]
    pub stage: ShardStage,
}

/// Counts and failures of a shard.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ShardReport {
    /// Samples that could not be used, and why.
    pub failures: Vec<(String, String)>,
    pub graphs: usize,
    pub ops: usize,
    pub covered: usize,
    pub ranges: usize,
    pub open: usize,
}

/// A kind of helper that stages ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageHelper {
    /// Describes the values of graphs.
    Annotate,
    KernelCounts,
    /// Proves that graphs run.
    Prove,
}

/// A question on its way to a node, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct HelperQuestion {
    /// Number that the answer repeats.
    pub id: u64,
    /// Version of the driver: another one may give other answers.
    pub version: String,
    pub helper: StageHelper,
    /// Bytes that the question may take.
    pub memory_bytes: Option<u64>,
    pub question: Value,
}

/// The answer, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct HelperAnswer {
    pub id: u64,
    /// The reply, or the reason why the graph has none.
    pub answer: Result<Value, String>,
}
