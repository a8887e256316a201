use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{PassReport, WorkerStage};

/// Reason of a verdict: a code for machines, a sentence for people (and for an LLM that has to act on it).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Stable identifier, e.g. `output_differs`, `literal_mismatch`, `wall_limit`.
    pub code: String,
    /// Description of the event, its place, and a remedy.
    pub message: String,
    /// Further facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<ReasonDetail>>,
}

/// Facts of a reason. The code decides which fields are present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReasonDetail {
    /// Findings of the integrity rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<BrokenRule>,
    /// Operator that a replacement function called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Signal that ended the candidate's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Exit code of the candidate's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Stage in which the candidate raised an exception.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<WorkerStage>,
    /// Type of the exception.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Pass that raised the exception.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// Passes that did not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassReport>,
    /// Output that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<usize>,
    /// Outputs that share memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<[usize; 2]>,
    /// Input that was written to or returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Property of the reference's output. In the first version, strides were a list.
    #[serde(default, deserialize_with = "text_of_any", skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The same property, of the candidate's output.
    #[serde(default, deserialize_with = "text_of_any", skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// Content of the inputs on which the outputs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl fmt::Display for ReasonDetail {
    /// Writes the fields that are present as indented JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?)
    }
}

/// A finding of an integrity rule in a file of a pass directory (`docs/reference/lint-rules.md`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenRule {
    /// File, relative to the pass directory.
    pub file: String,
    /// Place of the first character.
    pub start: FilePosition,
    /// Place behind the last character.
    pub end: FilePosition,
    /// Rule id, e.g. `PN201`.
    pub rule: String,
    /// Rule name, e.g. `import-not-allowed`.
    pub name: String,
    pub message: String,
    /// Description of the fix.
    pub help: String,
}

/// A place in a file. Lines and columns count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    pub line: usize,
    pub column: usize,
}

/// Reads a text; reads any other value as its JSON text.
fn text_of_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_of_older_logs_are_read() {
        let read = |text: &str| serde_json::from_str::<ReasonDetail>(text).unwrap();
        let strides = read(r#"{"output": 1, "expected": [4, 1], "got": [1, 4]}"#);
        assert_eq!(
            (strides.output, strides.expected.as_deref(), strides.got.as_deref()),
            (Some(1), Some("[4,1]"), Some("[1,4]"))
        );
        let died = read(r#"{"signal": 11, "exit_code": null}"#);
        assert_eq!((died.signal, died.exit_code), (Some(11), None));
        assert_eq!(read(r#"{"of a later version": 1}"#), ReasonDetail::default());
        let finding = read(
            r#"{"findings": [{"file": "a.py", "start": {"line": 1, "column": 8}, "end": {"line": 1, "column": 10}, "rule": "PN201",
                "name": "import-not-allowed", "message": "m", "help": "h"}]}"#,
        );
        assert_eq!(finding.findings[0].rule, "PN201");
    }
}
