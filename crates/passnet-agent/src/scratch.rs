//! Scratch runs: one pass on inputs of a model's choice. The pass's own pattern is the graph.

use passnet_eval::{Candidate, EvalError};
use passnet_graph::{Graph, wire};
use passnet_record::{GraphId, ORDER_FILE, PassDirectory, Profile, Reason, TensorMeta, Verdict};
use passnet_run::GraphSample;

use crate::evaluator::Evaluator;

/// Result of a scratch run.
#[derive(Clone, Debug)]
pub(crate) struct ScratchRun {
    /// Check of the pass on its pattern, without timing.
    pub(crate) verdict: Verdict,
    /// Profiles of a call of the pattern in eager mode, and with the pass; absent if the results differ.
    pub(crate) profiles: Option<[Result<Profile, Reason>; 2]>,
}

/// Reason why there is no scratch run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScratchError {
    /// The devices of a fleet evaluate graphs of their suite only.
    #[error("scratch runs are not available, because this environment evaluates on other machines")]
    Fleet,
    /// A pass cannot be imported, or breaks a rule.
    #[error("the passes cannot be imported ({}): {}", .0.code, .0.message)]
    Import(Box<Reason>),
    /// The order does not list the pass.
    #[error("there is no pass `{name}` in {ORDER_FILE}, which lists {}", .listed.join(", "))]
    Unknown {
        /// Name of the pass.
        name: String,
        /// Names that the order lists.
        listed: Vec<String>,
    },
    /// The pattern has a constant that cannot be sent to another process, or the worker reports an invalid graph.
    #[error("the pattern of `{name}` cannot be run as a graph: {why}")]
    Pattern {
        /// Name of the pass.
        name: String,
        /// Reason.
        why: String,
    },
    /// The number of inputs differs from the number of the pattern's parameters.
    #[error("`{name}` has the parameters {}, and {given} inputs were given", .parameters.join(", "))]
    Inputs {
        /// Name of the pass.
        name: String,
        /// Parameters of its pattern.
        parameters: Vec<String>,
        /// Number of inputs.
        given: usize,
    },
    #[error(transparent)]
    Eval(#[from] EvalError),
}

/// Runs one pass of a directory on its own pattern, with random inputs of these types. The other files can be imported by it.
pub(crate) fn scratch(
    evaluator: &Evaluator,
    passes: &PassDirectory,
    name: &str,
    inputs: Vec<TensorMeta>,
) -> Result<ScratchRun, ScratchError> {
    if evaluator.devices().is_some() {
        return Err(ScratchError::Fleet);
    }
    let listed = passes.order().unwrap_or_default();
    if !listed.iter().any(|pass| pass == name) {
        return Err(ScratchError::Unknown { name: name.to_owned(), listed });
    }
    let alone = alone(passes, name);
    let _permit = evaluator.device();
    let traced =
        evaluator.referee().patterns(alone.clone())?.map_err(|reason| ScratchError::Import(Box::new(reason)))?;
    let why = |why: &str| ScratchError::Pattern { name: name.to_owned(), why: why.to_owned() };
    let traced = traced.into_iter().find(|pattern| pattern.name == name).ok_or_else(|| why("it was not traced"))?;
    let written = traced.written.ok_or_else(|| why("it has a constant without a name"))?;
    let graph = wire::from_value(&written).map_err(|error| why(&error.to_string()))?;
    let sample = sample(name, graph, inputs)?;
    let candidate = Candidate::Passes(alone);
    let verdict = evaluator.referee().check(&sample, &candidate)?;
    let profiles = if verdict.status == passnet_record::Status::Correct {
        let eager = evaluator.referee().profile(&sample, &Candidate::Eager)?;
        Some([eager, evaluator.referee().profile(&sample, &candidate)?])
    } else {
        None
    };
    Ok(ScratchRun { verdict, profiles })
}

/// Returns the directory with an order that lists one pass only.
fn alone(passes: &PassDirectory, name: &str) -> PassDirectory {
    let others = passes.files().iter().filter(|(file, _)| file != ORDER_FILE).cloned();
    let order = serde_json::to_vec(&[name]).unwrap_or_default();
    // Changing the text of one file leaves a valid directory, so this does not fail.
    PassDirectory::new(others.chain([(ORDER_FILE.to_owned(), order)])).unwrap_or_else(|_| passes.clone())
}

/// Returns a pattern as a graph with inputs of these types.
fn sample(name: &str, graph: Graph, mut inputs: Vec<TensorMeta>) -> Result<GraphSample, ScratchError> {
    let parameters: Vec<String> = graph.inputs().map(|value| graph.name(value).to_owned()).collect();
    if parameters.len() != inputs.len() {
        return Err(ScratchError::Inputs { name: name.to_owned(), parameters, given: inputs.len() });
    }
    for (input, parameter) in inputs.iter_mut().zip(parameters) {
        input.name = parameter;
    }
    let id = GraphId { task: "scratch".to_owned(), graph: name.to_owned() };
    Ok(GraphSample::new(id, graph, inputs))
}
