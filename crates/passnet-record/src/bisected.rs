//! The smallest failing part of a graph, as `passnet bisect` stores it.

use serde::{Deserialize, Serialize};

use crate::{Reason, Status};

/// Key of a [`BisectedPart`] in the `graph_net.json` of the part.
pub const BISECTED_KEY: &str = "bisected";

/// Description of a failing part of a graph: the author that fails on it, and the failure. It is stored in the sample that contains the
/// part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectedPart {
    /// [`crate::SCHEMA_VERSION`] of the writer. 0 in parts that were stored without one.
    #[serde(default)]
    pub schema_version: u32,
    /// Author, as the command line names it.
    pub author: String,
    /// Status of the verdict on the part.
    pub status: Status,
    /// Reason of the status.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// Number of calls of the whole graph.
    pub nodes_of_whole: usize,
    /// True if no single call can be left out. False if the limit of evaluations ended the search before this was known.
    pub minimal: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_a_version_are_read() {
        let text =
            r#"{"author": "dir:wrong", "status": "accuracy", "reason": null, "nodes_of_whole": 7, "minimal": true}"#;
        let part: BisectedPart = serde_json::from_str(text).unwrap();
        assert_eq!((part.schema_version, part.status, part.nodes_of_whole), (0, Status::Accuracy, 7));
    }
}
