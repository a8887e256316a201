//! Stages of a dataset on a cluster: shards of graphs, and questions for PyTorch on a node.
//!
//! Both contain the version of the command. A node with another version refuses them, because its rows or answers may differ.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stage that works on each graph separately, with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum ShardStage {
    /// Converts samples to rows.
    Import,
    /// Adds facts about the values of graphs.
    Annotate {
        /// Bytes of inputs above which a graph is not run, only propagated.
        max_bytes: u64,
        /// Time limit of a graph, in seconds.
        seconds: f64,
        /// Memory limit of a worker, in bytes.
        memory_bytes: Option<u64>,
        /// If true, each graph also gets its variants.
        #[serde(default)]
        variants: bool,
    },
    /// Finds subgraphs by canonical folding.
    Fold {
        /// Smallest number of ops of a subgraph.
        min_ops: u32,
        /// Largest number of ops of a subgraph, plus one.
        end_ops: u32,
        /// Distance of cuts outside loops.
        reach: u32,
    },
    /// Cuts out every single op.
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

/// The stage of a shard, and the version of the command that split it. Another version may produce other rows.
#[derive(Serialize, Deserialize)]
pub struct ShardManifest {
    pub version: String,
    #[serde(flatten)]
    pub stage: ShardStage,
}

/// Counts and failures of a shard.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ShardReport {
    /// Samples that could not be used, each with the reason.
    pub failures: Vec<(String, String)>,
    pub graphs: usize,
    pub ops: usize,
    pub covered: usize,
    pub ranges: usize,
    pub open: usize,
}

/// Kind of a helper that stages send questions to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageHelper {
    /// Describes the values of graphs.
    Annotate,
    KernelCounts,
    /// Proves that graphs run.
    Prove,
}

/// A question that is sent to a node, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct HelperQuestion {
    /// Number that the answer repeats.
    pub id: u64,
    /// Version of the driver. A node with another version may give other answers.
    pub version: String,
    pub helper: StageHelper,
    /// Bytes of memory that the question may take; `None` for no limit.
    pub memory_bytes: Option<u64>,
    pub question: Value,
}

/// Answer to a [`HelperQuestion`], as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct HelperAnswer {
    pub id: u64,
    /// The reply, or the reason why the graph has none.
    pub answer: Result<Value, String>,
}
