//! The graphs of suites, with the types of their values.

use std::{collections::BTreeMap, path::Path};

use fs_err as fs;
use passnet_graphnet::{Sample, sample::read_sample_dir};
use passnet_record::{DType, GraphId};
use passnet_web::GraphView;

use crate::Suite;

/// Types of the values of a graph, inputs first.
type Types = Vec<Option<String>>;

/// The graphs of some suites, by the name of the suite.
#[derive(Debug, Default)]
pub struct SuiteGraphs {
    suites: Vec<Suite>,
    /// By index of the suite and graph.
    types: BTreeMap<(usize, GraphId), Types>,
}

impl SuiteGraphs {
    /// Returns the graphs of suites. The types of their inputs are known; all others are not.
    pub fn new(suites: Vec<Suite>) -> Self {
        Self { suites, types: BTreeMap::new() }
    }

    /// Returns the suites, in order.
    pub fn suites(&self) -> &[Suite] {
        &self.suites
    }

    /// Adds the types of the values of a graph of the suite at that index, inputs first, as short text such as
    /// `f32[4, 128]`; `None` where unknown.
    pub fn add_types(&mut self, suite: usize, id: GraphId, types: Vec<Option<String>>) {
        self.types.insert((suite, id), types);
    }

    /// Returns a graph of the suite of that name and version.
    pub(crate) fn view(&self, name: &str, version: &str, id: &GraphId) -> Option<GraphView> {
        let fits = |suite: &Suite| suite.record.name == name && suite.record.version == version;
        // A selection of a suite without a version of its own has another version; the graph's name is then enough.
        let named = |suite: &Suite| suite.record.name == name;
        let index = self.suites.iter().position(fits).or_else(|| self.suites.iter().position(named))?;
        let suite = &self.suites[index];
        // Names come from run logs; only names that the suite itself has become paths.
        suite.record.tasks.iter().find(|task| task.id == id.task)?.graphs.iter().find(|graph| **graph == id.graph)?;
        let directory = suite.sample_dir(id);
        let sample = read_sample_dir(&directory).ok()?;
        let types = self.types.get(&(index, id.clone())).cloned().unwrap_or_else(|| input_types(&sample));
        let source = fs::read_to_string(directory.join("model.py")).unwrap_or_default();
        Some(GraphView { types, source, model: model(&directory), graph: sample.graph })
    }
}

/// Reads a sample folder for drawing. The types of its inputs are known; all others are not.
///
/// # Errors
/// If the folder is not a sample.
pub fn sample_view(directory: &Path) -> Result<GraphView, passnet_graphnet::Error> {
    let sample = read_sample_dir(directory)?;
    let source = fs::read_to_string(directory.join("model.py")).unwrap_or_default();
    Ok(GraphView { types: input_types(&sample), source, model: model(directory), graph: sample.graph })
}

/// Returns the model that `graph_net.json` names.
fn model(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("graph_net.json")).unwrap_or_default();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    value["model_name"].as_str().unwrap_or_default().to_owned()
}

fn input_types(sample: &Sample) -> Types {
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
    fn types_are_short() {
        let of = |dtype| short_type(dtype, &[4, 128]);
        assert_eq!(
            [DType::Float32, DType::BFloat16, DType::UInt8, DType::Bool].map(of),
            ["f32[4, 128]", "bf16[4, 128]", "u8[4, 128]", "bool[4, 128]"]
        );
    }
}
