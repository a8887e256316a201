//! The graphs of suites at hand, with the types of their values.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;
use fs_err as fs;
use passnet_eval::{
    GraphSample, PropagateError, Target, TypedGraph, propagate,
    python::Interpreter,
    suite::{Selection, Suite},
};
use passnet_graph::ValueId;
use passnet_python::{Sample, sample::read_sample_dir};
use passnet_record::{DType, GraphId};
use passnet_web::GraphView;

/// Types of the values of a graph, inputs first.
type Types = Vec<Option<String>>;

/// Suites by name, and what PyTorch says of their graphs.
#[derive(Default)]
pub(crate) struct Graphs {
    suites: Vec<Suite>,
    /// By suite and graph.
    types: BTreeMap<(usize, GraphId), Types>,
}

impl Graphs {
    /// Opens suites. With `shapes`, PyTorch is asked for the types within their graphs; where it cannot say, those of
    /// the inputs remain.
    ///
    /// # Errors
    /// Where a path is no suite.
    pub(crate) fn open(paths: &[PathBuf], shapes: bool) -> Result<Self> {
        let suites =
            paths.iter().map(|path| Ok(Suite::load(path, &Selection::default())?)).collect::<Result<Vec<_>>>()?;
        let mut types = BTreeMap::new();
        for (index, suite) in suites.iter().enumerate().filter(|_| shapes) {
            eprintln!(
                "asking PyTorch for the shapes within {} graphs of {} …",
                suite.graphs().count(),
                suite.record.name
            );
            match types_of(suite) {
                Ok(found) => types.extend(found.into_iter().map(|(id, types)| ((index, id), types))),
                Err(error) => eprintln!(
                    "no shapes within graphs: {error}; `passnet doctor` says what is missing, `--no-shapes` asks for none"
                ),
            }
        }
        Ok(Self { suites, types })
    }

    /// A graph of a suite of that name and version.
    pub(crate) fn view(&self, name: &str, version: &str, id: &GraphId) -> Option<GraphView> {
        let fits = |suite: &Suite| suite.record.name == name && suite.record.version == version;
        // A selection of a suite without a version of its own has another version; the graph's name is then enough.
        let named = |suite: &Suite| suite.record.name == name;
        let index = self.suites.iter().position(fits).or_else(|| self.suites.iter().position(named))?;
        let suite = &self.suites[index];
        // Names come from run logs; only those that the suite itself has lead anywhere.
        suite.record.tasks.iter().find(|task| task.id == id.task)?.graphs.iter().find(|graph| **graph == id.graph)?;
        let directory = suite.sample_dir(id);
        let sample = read_sample_dir(&directory).ok()?;
        let types = self.types.get(&(index, id.clone())).cloned().unwrap_or_else(|| input_types(&sample));
        let source = fs::read_to_string(directory.join("model.py")).unwrap_or_default();
        Some(GraphView { types, source, model: model(&directory), graph: sample.graph })
    }
}

/// The model that `graph_net.json` names.
fn model(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("graph_net.json")).unwrap_or_default();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    value["model_name"].as_str().unwrap_or_default().to_owned()
}

fn input_types(sample: &Sample) -> Types {
    sample.tensors.iter().map(|tensor| Some(type_text(tensor.dtype, &tensor.shape))).collect()
}

/// `f32[4, 128]`.
fn type_text<T: ToString>(dtype: DType, shape: &[T]) -> String {
    let name = dtype.name();
    let short = ["bfloat", "float", "complex", "uint", "int"]
        .into_iter()
        .zip(["bf", "f", "c", "u", "i"])
        .find_map(|(long, short)| name.strip_prefix(long).map(|bits| format!("{short}{bits}")));
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("{}[{}]", short.as_deref().unwrap_or(name), extents.join(", "))
}

fn types_of(suite: &Suite) -> Result<Vec<(GraphId, Types)>, PropagateError> {
    let samples: Vec<GraphSample> =
        suite.graphs().filter_map(|id| GraphSample::read(&suite.sample_dir(&id), id).ok()).collect();
    let typed = propagate(&Interpreter::find(), &samples, Target::Cpu)?;
    let types = |graph: &TypedGraph| -> Types {
        let values = (0..graph.graph().num_values() as u32).map(ValueId);
        values.map(|value| graph.tensor(value).map(|tensor| type_text(tensor.dtype, &tensor.shape))).collect()
    };
    Ok(samples.iter().zip(&typed).map(|(sample, graph)| (sample.id().clone(), types(graph))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_short() {
        let of = |dtype| type_text(dtype, &[4, 128]);
        assert_eq!(
            [DType::Float32, DType::BFloat16, DType::UInt8, DType::Bool].map(of),
            ["f32[4, 128]", "bf16[4, 128]", "u8[4, 128]", "bool[4, 128]"]
        );
    }
}
