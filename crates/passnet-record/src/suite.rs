use serde::{Deserialize, Serialize};

use crate::{Split, Weights};

/// An ordered set of tasks: the content of `suite.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteManifest {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Short name, e.g. `demo`.
    pub name: String,
    /// Version of the suite's content. It is raised when a task or graph changes.
    pub version: String,
    /// Purpose of the suite.
    pub split: Split,
    /// Description of the origin of the graphs, in one paragraph.
    pub description: String,
    /// Place of the weights in runs that do not choose a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// Tasks in order.
    pub tasks: Vec<SuiteTask>,
}

/// A task: one op sequence with the graphs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteTask {
    /// Name of the task and of its folder inside the suite.
    pub id: String,
    /// Op names in program order, e.g. `["conv2d", "relu"]`.
    pub ops: Vec<String>,
    /// Sample folders inside the task's folder, e.g. `["000", "001"]`.
    pub graphs: Vec<String>,
    /// Graphs in `graphs` that are evaluated but never shown to an author, so that no pass can be written for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<String>,
}
