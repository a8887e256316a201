//! What passes for another device mean, found out on the processor: whoever is wrong there need not occupy the device.
//!
//! Kernels in Triton run in its interpreter, those in C++ as they are. Only what is wrong wherever it runs decides: values, shapes,
//! types, a pattern that does not match. Whatever the processor cannot do (kernels in CUDA C++, instructions of a GPU, large
//! tensors within the time limit) is left to the device.

use std::num::NonZero;

use passnet_eval::{Candidate, EvalError, GraphSample, Referee};
use passnet_record::{DType, ExecutionPath, RunSettings, Status, Verdict};

use crate::gate::Gate;

/// Seconds for a graph. The interpreter takes about a millisecond per block of a kernel: what it has not done by then is
/// quicker asked of the device.
const TIMEOUT_S: f64 = 10.0;
/// The worker's remark that Triton's interpreter is at work.
const INTERPRETED: &str = "triton_interpreter";

/// Evaluates on the processor, without timing.
#[derive(Debug)]
pub(crate) struct Meaning {
    referee: Referee,
    /// `None` where turns are those of the device: with one evaluation at a time no core is kept free of others while it measures.
    gate: Option<Gate>,
}

impl Meaning {
    /// One beside the referee of another device, as quick as can be: random inputs, once.
    pub(crate) fn beside(referee: &Referee) -> Result<Self, EvalError> {
        let settings = RunSettings {
            device: "cpu".to_owned(),
            check_rounds: 1,
            adversarial: Vec::new(),
            paths: vec![ExecutionPath::Direct],
            timeout_s: TIMEOUT_S.min(referee.settings().timeout_s),
            ..referee.settings().clone()
        };
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let turns = cores.saturating_sub(referee.settings().threads as usize).max(1);
        let gate = (referee.jobs() > 1).then(|| Gate::new(turns));
        Ok(Self { referee: referee.sibling(settings, referee.defences())?, gate })
    }

    /// What is wrong with the passes on a graph wherever it runs; `None` where nothing is, or the processor cannot tell.
    pub(crate) fn refutes(
        &self,
        graph: &GraphSample,
        candidate: &Candidate,
        device: &Gate,
    ) -> Result<Option<Verdict>, EvalError> {
        let _turn = self.gate.as_ref().unwrap_or(device).enter();
        let verdict = self.referee.check(graph, candidate)?;
        Ok(is_decided(graph, &verdict).then_some(verdict))
    }
}

fn is_decided(graph: &GraphSample, verdict: &Verdict) -> bool {
    // The interpreter computes with bfloat16 as with integers.
    let is_exact = || {
        let interpreted = verdict.evidence.notes.iter().any(|note| note == INTERPRETED);
        !(interpreted && graph.metas().iter().any(|meta| meta.dtype == DType::BFloat16))
    };
    let code = verdict.reason.as_ref().map(|reason| reason.code.as_str());
    match verdict.status {
        Status::NoMatch | Status::ShapeMismatch => true,
        // Passes may name their device.
        Status::TypeMismatch => code != Some("device_differs"),
        Status::Accuracy | Status::NonFinite => is_exact(),
        _ => false,
    }
}
