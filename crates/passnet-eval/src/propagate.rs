//! Types of the values of graphs, as PyTorch computes them: a process serves any number of graphs.

use std::{
    io::{self, BufRead, BufReader, Lines, Write},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
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
    let propagator = Propagator::new(interpreter.clone(), target);
    samples.iter().map(|sample| propagator.types(sample)).collect()
}

/// Processes of one [`Propagator`] at a time: each holds PyTorch in memory.
const MAX_PROCESSES: usize = 8;

/// As [`propagate`], a graph at a time and from many threads: processes are started when there is nobody else to ask, and
/// stay until the end, since importing PyTorch takes seconds and a graph milliseconds.
#[derive(Debug)]
pub struct Propagator {
    interpreter: Interpreter,
    target: Target,
    pool: Mutex<Pool>,
    given_back: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Process>,
    busy: usize,
}

impl Propagator {
    /// Starts nothing yet.
    pub fn new(interpreter: Interpreter, target: Target) -> Self {
        Self { interpreter, target, pool: Mutex::default(), given_back: Condvar::new() }
    }

    /// The target that graphs are typed for.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// The graph of a sample with the type of each value.
    ///
    /// # Errors
    /// If Python fails.
    pub fn types(&self, sample: &GraphSample) -> Result<TypedGraph, PropagateError> {
        let mut turn = self.turn();
        let mut process = match turn.process.take() {
            Some(process) => process,
            None => Process::start(&self.interpreter)?,
        };
        let typed = process.types(sample, self.target);
        // One that failed on a graph goes on; one that answered something else is not asked again.
        if matches!(typed, Ok(_) | Err(PropagateError::Graph { .. })) {
            turn.process = Some(process);
        }
        typed
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a process is idle or another one may be started.
    fn turn(&self) -> Turn<'_> {
        let mut pool = self.pool();
        while pool.idle.is_empty() && pool.busy >= MAX_PROCESSES {
            pool = self.given_back.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.busy += 1;
        Turn { propagator: self, process: pool.idle.pop() }
    }
}

/// The right to use a process, which goes back to the pool with it.
struct Turn<'a> {
    propagator: &'a Propagator,
    process: Option<Process>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut pool = self.propagator.pool();
        pool.busy -= 1;
        pool.idle.extend(self.process.take());
        self.propagator.given_back.notify_one();
    }
}

/// A running `passnet._propagate`.
#[derive(Debug)]
struct Process {
    child: Child,
    requests: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(interpreter: &Interpreter) -> Result<Self, PropagateError> {
        let mut child = interpreter
            .module("passnet._propagate")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Whoever interrupts this program wants it to finish what it has begun.
            .process_group(0)
            .spawn()?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a pipe is missing").into());
        };
        Ok(Self { child, requests, replies: BufReader::new(replies).lines() })
    }

    fn types(&mut self, sample: &GraphSample, target: Target) -> Result<TypedGraph, PropagateError> {
        let (device, index) = match target {
            Target::Cpu => ("cpu", None),
            Target::Cuda => ("cuda", Some(0)),
        };
        let inputs: Vec<_> =
            sample.metas().iter().map(|meta| json!({"shape": meta.shape, "dtype": meta.dtype})).collect();
        let graph = sample.graph().with_device(device, index);
        writeln!(self.requests, "{}", json!({"graph": wire::to_value(&graph), "inputs": inputs, "device": device}))?;
        let line = self.replies.next().transpose()?.unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(Reply::Values(values)) => Ok(TypedGraph::new(graph, values)?),
            Ok(Reply::Error(message)) => {
                Err(PropagateError::Graph { graph: format!("{}/{}", sample.id().task, sample.id().graph), message })
            }
            Err(_) => Err(PropagateError::Reply { line }),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be in the middle of a graph; both calls fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use passnet_graph::{Arg, Graph};
    use passnet_record::GraphId;

    use super::*;

    /// Patterns are written from typed graphs: a graph that was captured on a CPU runs on CUDA with other devices in it.
    #[test]
    fn typed_graphs_name_the_device_that_they_run_on() {
        let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_site");
        let interpreter = Interpreter { site: Some(site), ..Interpreter::find() };
        if interpreter.module("passnet._propagate").output().is_err() {
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
