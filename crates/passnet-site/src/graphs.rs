//! The graphs of suites, with the types of their values.

use std::path::PathBuf;

use passnet_dataset::open_suite;
use passnet_graph::{Target, TypedGraph, ValueId};
use passnet_record::{GraphId, counted};
use passnet_run::{
    GraphSample, Selection, Suite,
    archive::{ShortTypes, SuiteGraphs, short_type},
};
use passnet_services::{Interpreter, PropagateError, propagate};

use crate::SiteError;

/// Opens suites. With `shapes`, asks PyTorch for the types inside their graphs; if it cannot answer, only the types of
/// the inputs are known.
///
/// # Errors
/// If a path is not a suite.
pub(crate) fn suite_graphs(paths: &[PathBuf], shapes: bool, remark: &dyn Fn(&str)) -> Result<SuiteGraphs, SiteError> {
    let suites = paths.iter().map(|path| open_suite(path, &Selection::default())).collect::<Result<Vec<_>, _>>()?;
    let mut typed = Vec::new();
    for suite in suites.iter().filter(|_| shapes) {
        let graphs = counted(suite.graphs().count(), "graph");
        remark(&format!("asking PyTorch for the shapes within {graphs} of {} …", suite.record.name));
        let types = types_of(suite).unwrap_or_else(|error| {
            remark(&format!(
                "no shapes within graphs: {error}; `passnet doctor` says what is missing, `--no-shapes` asks for none"
            ));
            Vec::new()
        });
        typed.push(types);
    }
    let mut graphs = SuiteGraphs::new(suites);
    for (index, types) in typed.into_iter().enumerate() {
        types.into_iter().for_each(|(id, types)| graphs.add_types(index, id, types));
    }
    Ok(graphs)
}

fn types_of(suite: &Suite) -> Result<Vec<(GraphId, ShortTypes)>, PropagateError> {
    let samples: Vec<GraphSample> =
        suite.graphs().filter_map(|id| GraphSample::read(&suite.sample_dir(&id), id).ok()).collect();
    let typed = propagate(&Interpreter::find(), &samples, Target::Cpu)?;
    let types = |graph: &TypedGraph| -> ShortTypes {
        let values = (0..graph.graph().num_values() as u32).map(ValueId);
        values.map(|value| graph.tensor(value).map(|tensor| short_type(tensor.dtype, &tensor.shape))).collect()
    };
    Ok(samples.iter().zip(&typed).map(|(sample, graph)| (sample.id().clone(), types(graph))).collect())
}
