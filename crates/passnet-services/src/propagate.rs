//! Types of the values of graphs, as PyTorch computes them.

use passnet_graph::{CanonicalCountError, Target, Type, TypeCountError, TypedGraph, wire};
use passnet_record::services::{InputType, PropagateReply, PropagateRequest};
use passnet_run::GraphSample;

use crate::{Helper, HelperError, HelperPool, Interpreter};

/// Reason why the types of a graph are unknown.
#[derive(Debug, thiserror::Error)]
pub enum PropagateError {
    /// The helper does not run.
    #[error("cannot propagate types: {0}")]
    Helper(HelperError),
    /// The helper failed on a graph.
    #[error("types of graph {graph}: {message}")]
    Graph {
        graph: String,
        /// Python's error message.
        message: String,
    },
    /// The answer has another number of types than the graph has values.
    #[error(transparent)]
    Count(#[from] TypeCountError),
    /// The canonical form in the answer is not that of the graph.
    #[error(transparent)]
    Canonical(#[from] CanonicalCountError),
    /// The canonical form in the answer is not a graph.
    #[error("canonical form: {0}")]
    Wire(#[from] wire::WireError),
}

/// Derives the types of all graphs on the target, whose device need not be present. The target matters because strides differ between
/// devices. A tensor that a graph makes in host memory has no type on a CUDA device, since no kernel may use it.
///
/// # Errors
/// If no helper runs or it fails on a graph.
pub fn propagate(
    interpreter: &Interpreter,
    samples: &[GraphSample],
    target: Target,
) -> Result<Vec<TypedGraph>, PropagateError> {
    let propagator = Propagator::new(interpreter.clone(), target);
    samples.iter().map(|sample| propagator.types(sample)).collect()
}

/// Derives the types of graphs one at a time, from any number of threads.
#[derive(Debug)]
pub struct Propagator {
    target: Target,
    pool: HelperPool,
}

impl Propagator {
    /// Returns a propagator without processes yet.
    pub fn new(interpreter: Interpreter, target: Target) -> Self {
        Self { target, pool: HelperPool::new(interpreter, Helper::Propagate) }
    }

    /// The target that graphs are typed for.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Returns the graph of a sample with the type of each value.
    ///
    /// # Errors
    /// If no helper runs or it fails on the graph.
    pub fn types(&self, sample: &GraphSample) -> Result<TypedGraph, PropagateError> {
        let (device, index) = match self.target {
            Target::Cpu => ("cpu", None),
            Target::Cuda => ("cuda", Some(0)),
        };
        let graph = sample.graph().with_device(device, index);
        let question = PropagateRequest {
            graph: wire::to_value(&graph),
            inputs: sample.metas().iter().map(InputType::from).collect(),
            device: device.to_owned(),
        };
        let reply: PropagateReply<Type> = self.pool.ask(&question).map_err(|error| match error {
            HelperError::Failed(message) => {
                PropagateError::Graph { graph: format!("{}/{}", sample.id().task, sample.id().graph), message }
            }
            error => PropagateError::Helper(error),
        })?;
        let canonical = wire::from_value(&reply.canonical.graph)?;
        Ok(TypedGraph::new(graph, reply.values)?.with_canonical(canonical, reply.canonical.places)?)
    }
}

#[cfg(test)]
mod tests {
    use passnet_graph::{Arg, Graph};
    use passnet_record::GraphId;

    use super::*;

    /// A helper that returns no type for any value.
    const UNKNOWN: &str = "\
import json, sys
for line in sys.stdin:
    graph = json.loads(line)['graph']
    canonical = {'graph': graph, 'places': [[] for _ in graph['nodes']]}
    values = [None] * (len(graph['inputs']) + len(graph['nodes']))
    print(json.dumps({'values': values, 'canonical': canonical}), flush=True)
";

    /// Patterns are written from typed graphs: a graph that was captured on a CPU runs on CUDA with other devices in it.
    #[test]
    fn typed_graphs_name_the_device_that_they_run_on() {
        let site = tempfile::tempdir().unwrap();
        let package = site.path().join("passnet/_services");
        std::fs::create_dir_all(&package).unwrap();
        for file in ["passnet/__init__.py", "passnet/_services/__init__.py"] {
            std::fs::write(site.path().join(file), "").unwrap();
        }
        std::fs::write(package.join("propagate.py"), UNKNOWN).unwrap();
        let interpreter = Interpreter { site: Some(site.path().to_owned()), ..Interpreter::find() };
        if interpreter.module(Helper::Propagate.module()).output().is_err() {
            println!("skipped: `{}` does not run; set PASSNET_PYTHON", interpreter.python.display());
            return;
        }
        let mut builder = Graph::builder();
        let device = builder.device("cpu", None);
        let table = builder.call_function("table", "torch.arange", &[Arg::Int(4)], &[("device", device)]);
        let id = GraphId { task: "task".to_owned(), graph: "000".to_owned() };
        let sample = GraphSample::new(id, builder.finish(&[table.into()]).unwrap(), Vec::new());
        let devices = |target| {
            let typed = propagate(&interpreter, std::slice::from_ref(&sample), target).unwrap();
            wire::to_value(typed[0].graph()).to_string()
        };
        let (cpu, cuda) = (devices(Target::Cpu), devices(Target::Cuda));
        assert!(cpu.contains("\"cpu\"") && cuda.contains("\"cuda\"") && !cuda.contains("\"cpu\""), "{cpu} {cuda}");
    }
}
