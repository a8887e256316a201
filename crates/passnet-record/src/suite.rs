use serde::{Deserialize, Serialize};

use crate::{Split, Weights};

/// An ordered set of tasks: the content of `suite.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteManifest {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Short name, e.g. `demo`.
    pub name: String,
    /// Version of the suite's content; raised when a task or graph changes.
    pub version: String,
    /// Purpose of the suite.
    pub split: Split,
    /// One paragraph on where the graphs come from.
    pub description: String,
    /// Place of the weights where a run does not choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// Tasks in order.
    pub tasks: Vec<SuiteTask>,
}

/// One op sequence with the graphs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteTask {
    /// Name of the task and of its folder inside the suite.
    pub id: String,
    /// Op names in program order, e.g. `["conv2d", "relu"]`.
    pub ops: Vec<String>,
    /// Sample folders inside the task's folder, e.g. `["000", "001"]`.
    pub graphs: Vec<String>,
    /// Graphs in `graphs` that are evaluated but never shown to an author, so that a pass cannot be made for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<String>,
}
