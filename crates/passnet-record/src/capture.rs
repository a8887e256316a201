//! Results of the capture of models: the lines of the capturing process, and those of the ledger (`docs/reference/extract.md`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Weights;

/// Version of [`LedgerLine`].
pub const LEDGER_VERSION: u32 = 1;

/// A line of the capturing process.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CaptureLine {
    /// First line: the number of models, and the models that are skipped because they were captured before.
    Plan {
        models: usize,
        /// Models as they were named.
        skipped: Vec<String>,
    },
    /// Result of one model.
    Model(Box<CapturedModel>),
}

/// Settings that determine the sample of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureSettings {
    /// Seed of weights and inputs.
    pub seed: u64,
    /// Number of parameters above which a model is reduced.
    // A float, so that the flag can be given as `5e8`.
    pub max_parameters: f64,
}

/// Result of one model, as the capture reports it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturedModel {
    /// The model as it was named.
    pub spec: String,
    /// `ok`, or the kind of failure.
    // This is text and not an enumeration, because the capturing process in Python defines the kinds.
    pub status: String,
    /// Reason of the failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Samples, relative to the directory of the ledger.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Number of operations of each graph.
    #[serde(default)]
    pub ops: Vec<usize>,
    /// Number of nodes of each graph, including inputs and the output.
    #[serde(default)]
    pub nodes: Vec<usize>,
    /// Number of graphs that returned the captured shapes when they were run again.
    #[serde(default)]
    pub replayed: usize,
    /// Wall-clock time in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// CPU time in seconds.
    #[serde(default)]
    pub cpu_seconds: f64,
    /// Largest memory in use, in bytes.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Number of parameters of the model that was built, where the recipe counts them.
    #[serde(default)]
    pub parameters: Option<u64>,
    /// Fields of the configuration that were made smaller, each with its value before and after.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub reduced: Map<String, Value>,
    /// Operators that the model runs outside of its graphs, each with the number of calls. If there are any, the samples cover only a
    /// part of the model.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub left_out: Map<String, Value>,
    /// Operators in the graphs that PyTorch does not define.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_operators: Vec<String>,
    /// Name of the set of inputs in the recipe that was used.
    #[serde(default)]
    pub inputs: String,
}

impl CapturedModel {
    /// Returns whether the model was captured.
    pub fn is_ok(&self) -> bool {
        self.status == "ok"
    }
}

/// A line of the ledger. A result is reused only by a capture with equal settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LedgerLine {
    /// [`LEDGER_VERSION`].
    pub schema_version: u32,
    pub settings: CaptureSettings,
    pub model: CapturedModel,
}

/// Content of `capture.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct CaptureDefinition {
    pub schema_version: u32,
    pub name: String,
    pub description: String,
    /// File with specifications of models, next to `capture.json`.
    pub models: String,
    /// Place of the weights in runs that do not choose a place.
    #[serde(default)]
    pub weights: Option<Weights>,
}
