//! CPU pre-check: runs passes for a GPU on the CPU first and rejects wrong ones without using the GPU.
//!
//! Triton kernels run in Triton's interpreter, C++ kernels run unchanged. Only failures that do not depend on the device
//! reject a pass: wrong values, shapes or types, or a pattern that does not match. The GPU decides everything that the CPU
//! cannot run: CUDA C++ kernels, GPU instructions, and tensors that are too large for the time limit.

use std::num::NonZero;

use passnet_eval::{Candidate, EvalError, Referee};
use passnet_record::{DType, Device, ExecutionPath, Remark, RunSettings, Status, Verdict, WorkerNote};
use passnet_run::GraphSample;

use crate::semaphore::Semaphore;

/// Time limit for one graph, in seconds. The interpreter takes about a millisecond per block of a kernel; beyond this limit
/// the GPU answers sooner.
const TIMEOUT_S: f64 = 10.0;

/// Checks passes on the CPU, without timing.
#[derive(Debug)]
pub(crate) struct CpuPrecheck {
    referee: Referee,
    /// `None` if checks share the permits of the device: with one evaluation at a time, no core is reserved for a
    /// measurement.
    semaphore: Option<Semaphore>,
}

impl CpuPrecheck {
    /// Creates the cheapest useful check next to the referee of another device: one round of random inputs.
    pub(crate) fn new(referee: &Referee) -> Result<Self, EvalError> {
        let settings = RunSettings {
            device: Device::Cpu,
            check_rounds: 1,
            adversarial: Vec::new(),
            paths: vec![ExecutionPath::Direct],
            timeout_s: TIMEOUT_S.min(referee.settings().timeout_s),
            ..referee.settings().clone()
        };
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        // The cores of the measurement stay free: a check next to it would disturb the times.
        let permits = cores.saturating_sub(referee.settings().threads as usize).max(1);
        let semaphore = (referee.jobs() > 1).then(|| Semaphore::new(permits));
        Ok(Self { referee: referee.sibling(settings, referee.defences())?, semaphore })
    }

    /// Returns the CPU's verdict if it proves the passes wrong on every device; `None` if the device has to decide.
    pub(crate) fn reject(
        &self,
        graph: &GraphSample,
        candidate: &Candidate,
        device: &Semaphore,
    ) -> Result<Option<Verdict>, EvalError> {
        let _permit = self.semaphore.as_ref().unwrap_or(device).acquire();
        let verdict = self.referee.check(graph, candidate)?;
        Ok(holds_on_every_device(graph, &verdict).then_some(verdict))
    }
}

fn holds_on_every_device(graph: &GraphSample, verdict: &Verdict) -> bool {
    // The interpreter treats bfloat16 values as integers.
    let is_exact = || {
        let interpreted = verdict.evidence.notes.contains(&Remark::Worker(WorkerNote::TritonInterpreter));
        !(interpreted && graph.metas().iter().any(|meta| meta.dtype == DType::BFloat16))
    };
    let code = verdict.reason.as_ref().map(|reason| reason.code.as_str());
    match verdict.status {
        Status::NoMatch | Status::ShapeMismatch => true,
        // Passes may name their device.
        Status::TypeMismatch => code != Some("device_differs"),
        Status::Accuracy | Status::NonFinite => is_exact(),
        // Crashes and time limits may be the interpreter's, so the device decides them.
        _ => false,
    }
}
