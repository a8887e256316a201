//! Types of the values of graphs, as PyTorch computes them: one process for any number of graphs.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::Stdio,
};

use passnet_fuse::{Target, Type, TypeCountError, TypedGraph};
use passnet_graph::wire;
use serde::Deserialize;
use serde_json::json;

use crate::{GraphSample, python::Interpreter};

/// Why types cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PropagateError {
    /// The process could not be started or spoken to.
    #[error("cannot run the propagation of types: {0}")]
    Io(#[from] io::Error),
    /// It ended early or wrote something else.
    #[error("the propagation of types answered `{line}`; run `python -m passnet._propagate` to see why")]
    Reply {
        /// The line in question, empty where there was none.
        line: String,
    },
    /// It failed on a graph.
    #[error("types of graph {graph}: {message}")]
    Graph {
        /// The graph.
        graph: String,
        /// Python's message.
        message: String,
    },
    /// Its answer is for another graph.
    #[error(transparent)]
    Count(#[from] TypeCountError),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Values(Vec<Type>),
    Error(String),
}

/// Types all graphs as they are on the target, which need not be there: strides differ between devices, and what a graph
/// makes in host memory is no business of a kernel, so that on a CUDA device its type is unknown.
///
/// # Errors
/// If Python fails.
pub fn propagate(
    interpreter: &Interpreter,
    samples: &[GraphSample],
    target: Target,
) -> Result<Vec<TypedGraph>, PropagateError> {
    let (device, index) = match target {
        Target::Cpu => ("cpu", None),
        Target::Cuda => ("cuda", Some(0)),
    };
    let mut child = interpreter
        .module("passnet._propagate")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(mut requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("a pipe is missing").into());
    };
    let mut lines = BufReader::new(replies).lines();
    let mut typed = Vec::with_capacity(samples.len());
    for sample in samples {
        let inputs: Vec<_> =
            sample.metas().iter().map(|meta| json!({"shape": meta.shape, "dtype": meta.dtype})).collect();
        let graph = sample.graph().with_device(device, index);
        writeln!(requests, "{}", json!({"graph": wire::to_value(&graph), "inputs": inputs, "device": device}))?;
        let line = lines.next().transpose()?.unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(Reply::Values(values)) => typed.push(TypedGraph::new(sample.graph().clone(), values)?),
            Ok(Reply::Error(message)) => {
                return Err(PropagateError::Graph {
                    graph: format!("{}/{}", sample.id().task, sample.id().graph),
                    message,
                });
            }
            Err(_) => return Err(PropagateError::Reply { line }),
        }
    }
    drop(requests);
    child.wait()?;
    Ok(typed)
}
