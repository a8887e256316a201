//! The graphs of suites, with the types of their values.

use std::{collections::BTreeMap, path::Path};

use fs_err as fs;
use passnet_graphnet::{Sample, sample::read_sample_dir};
use passnet_record::{DType, GraphId};
use passnet_web::{GraphTraits, GraphView, SuiteTraits};

use crate::Suite;

/// Types of the values of a graph as short text such as `f32[4, 128]`, inputs first; `None` where unknown.
pub type ShortTypes = Vec<Option<String>>;

/// The graphs of some suites, by the name of the suite.
#[derive(Debug, Default)]
pub struct SuiteGraphs {
    suites: Vec<Suite>,
    /// Known types, by the index of the suite and the graph.
    types: BTreeMap<(usize, GraphId), ShortTypes>,
}

impl SuiteGraphs {
    /// Returns the graphs of some suites. At first, only the types of inputs are known.
    pub fn new(suites: Vec<Suite>) -> Self {
        Self { suites, types: BTreeMap::new() }
    }

    /// Returns the suites, in order.
    pub fn suites(&self) -> &[Suite] {
        &self.suites
    }

    /// Adds the types of the values of a graph of the suite at that index.
    pub fn add_types(&mut self, suite: usize, id: GraphId, types: ShortTypes) {
        self.types.insert((suite, id), types);
    }

    /// Returns the properties of all graphs. Graphs that cannot be read are left out.
    pub fn traits(&self) -> SuiteTraits {
        let of = |suite: &Suite| {
            let traits = |id: GraphId| {
                let directory = suite.sample_dir(&id);
                let sample = read_sample_dir(&directory).ok()?;
                Some((id, GraphTraits::of(&sample.graph, &domain(&described(&directory)))))
            };
            (suite.record.name.clone(), suite.graphs().filter_map(traits).collect())
        };
        self.suites.iter().map(of).collect()
    }

    /// Returns a graph of the suite with this name and version, or with this name alone.
    pub(crate) fn view(&self, name: &str, version: &str, id: &GraphId) -> Option<GraphView> {
        let fits = |suite: &Suite| suite.record.name == name && suite.record.version == version;
        // Without a version in `suite.json`, the version is a hash of the selected graphs, so a partial run has a different version. The
        // name of the suite is then enough.
        let named = |suite: &Suite| suite.record.name == name;
        let index = self.suites.iter().position(fits).or_else(|| self.suites.iter().position(named))?;
        let suite = &self.suites[index];
        // Names come from run logs, which are not trusted. Only names that are in the suite become paths.
        suite.record.tasks.iter().find(|task| task.id == id.task)?.graphs.iter().find(|graph| **graph == id.graph)?;
        let directory = suite.sample_dir(id);
        let sample = read_sample_dir(&directory).ok()?;
        let types = self.types.get(&(index, id.clone())).cloned().unwrap_or_else(|| input_types(&sample));
        let source = fs::read_to_string(directory.join("model.py")).unwrap_or_default();
        Some(GraphView { types, source, model: model(&directory), graph: sample.graph })
    }
}

/// Reads a sample folder for drawing. Only the types of its inputs are known.
///
/// # Errors
/// If the folder is not a sample.
pub fn sample_view(directory: &Path) -> Result<GraphView, passnet_graphnet::Error> {
    let sample = read_sample_dir(directory)?;
    let source = fs::read_to_string(directory.join("model.py")).unwrap_or_default();
    Ok(GraphView { types: input_types(&sample), source, model: model(directory), graph: sample.graph })
}

/// Returns the content of `graph_net.json`; null if there is no such file.
fn described(directory: &Path) -> serde_json::Value {
    let text = fs::read_to_string(directory.join("graph_net.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Returns the model that `graph_net.json` names.
fn model(directory: &Path) -> String {
    described(directory)["model_name"].as_str().unwrap_or_default().to_owned()
}

/// Returns the field of use of a graph's model in words; empty if unknown. Where the model has no tag, its name may begin with the field,
/// as in `text.bert`.
fn domain(described: &serde_json::Value) -> String {
    let tag = described["heuristic_tag"].as_str();
    let name = described["model_name"].as_str().and_then(|name| name.split_once('.')).map(|(field, _)| field);
    match tag.or(name).unwrap_or_default() {
        "nlp" | "text" => "language".to_owned(),
        "computer_vision" | "vision" | "detection" => "computer vision".to_owned(),
        "audio" => "audio".to_owned(),
        // The first part of any other name is not a field of use.
        _ => tag.unwrap_or_default().replace('_', " "),
    }
}

fn input_types(sample: &Sample) -> ShortTypes {
    sample.tensors.iter().map(|tensor| Some(short_type(tensor.dtype, &tensor.shape))).collect()
}

/// Returns a type as short text such as `f32[4, 128]`.
pub fn short_type<T: ToString>(dtype: DType, shape: &[T]) -> String {
    let name = dtype.name();
    let short = ["bfloat", "float", "complex", "uint", "int"]
        .into_iter()
        .zip(["bf", "f", "c", "u", "i"])
        .find_map(|(long, short)| name.strip_prefix(long).map(|bits| format!("{short}{bits}")));
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("{}[{}]", short.as_deref().unwrap_or(name), extents.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_come_from_the_tag_or_from_the_name() {
        let of = |text: &str| domain(&serde_json::from_str(text).unwrap());
        assert_eq!(of(r#"{"heuristic_tag": "nlp", "model_name": "vision.odd"}"#), "language");
        assert_eq!(of(r#"{"heuristic_tag": "time_series"}"#), "time series");
        assert_eq!(of(r#"{"model_name": "detection.fcos"}"#), "computer vision");
        assert_eq!(of(r#"{"model_name": "resnet50.a1_in1k"}"#), "");
        assert_eq!(of("null"), "");
    }

    #[test]
    fn types_are_short() {
        let of = |dtype| short_type(dtype, &[4, 128]);
        assert_eq!(
            [DType::Float32, DType::BFloat16, DType::UInt8, DType::Bool].map(of),
            ["f32[4, 128]", "bf16[4, 128]", "u8[4, 128]", "bool[4, 128]"]
        );
    }
}
