use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, ErrorKind, source::Source};

/// The content of `graph_net.json`. Keys that PassNet does not know are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphNetMeta {
    /// `torch` or `paddle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// Source of the model: `timm`, `torchvision`, `huggingface_hub` ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Name of the model at its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// Field of use: `computer_vision`, `nlp`, `audio`, `multimodal`, `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heuristic_tag: Option<String>,
    /// True if the graph was captured with dynamic shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// Number of devices that the graph needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_devices_required: Option<u64>,
    /// Number of machines that the graph needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_nodes_required: Option<u64>,
    /// Rule that turns symbolic dimensions into concrete ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbolic_dimension_reifier: Option<String>,
    /// Rewrites that make the graph work for other dimensions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension_generalization_passes: Option<Vec<String>>,
    /// Rewrites that make the graph work for other dtypes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_type_generalization_passes: Option<Vec<String>>,
    /// All other keys.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl GraphNetMeta {
    /// Reads the text of a `graph_net.json`. `path` is used in messages only.
    ///
    /// # Errors
    /// If the text is not a JSON object, or a known key has a value of another type.
    pub fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let source = Source::new(path, text)?;
        serde_json::from_str(text).map_err(|error| {
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            // serde counts lines and columns from 1, and columns in bytes.
            let offset = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            let message = error.to_string();
            // The place is removed from the message, because the error around it names the place.
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            Error::at(source.path, text, offset, ErrorKind::Json(message.to_owned()))
        })
    }

    /// Returns the text of a `graph_net.json`, indented by four blanks.
    pub fn print(&self) -> String {
        let mut text = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        // Strings, numbers and lists of strings always have a JSON form, and writing to memory cannot fail.
        let _ = self.serialize(&mut serializer);
        String::from_utf8(text).unwrap_or_default()
    }
}
