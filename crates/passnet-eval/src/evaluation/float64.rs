//! The graph in float64, which decides between the candidate and eager where they differ.

use passnet_record::{Mode, Remark, WorkerRequest};

use super::{
    context::{Float64, GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop},
};
use crate::worker::{Returned, Worker, WorkerFault};

/// Largest number of characters of a recorded reason.
const REASON_CHARS: usize = 200;
/// Memory that a call in float64 may take, per byte of inputs and outputs. A number may be four times as large, inputs are in memory
/// twice, and intermediate values need as much again.
const GROWTH: u64 = 16;

impl GraphEvaluation<'_> {
    /// Returns whether a float64 result decides about values that differ from eager's. The public harness compares with eager only.
    pub(super) fn asks_float64(&self) -> bool {
        self.machine.settings.mode == Mode::Sound && !matches!(self.float64, Float64::Unusable)
    }

    /// Makes the reference run one of its sets of inputs in float64. Returns `None` if the graph cannot run in float64.
    pub(super) fn float64(&mut self, reference: &mut Worker, set: usize, seed: u64) -> Result<Option<Returned>, Stop> {
        if matches!(self.float64, Float64::Unknown)
            && let Some(reason) = self.no_float64()
        {
            self.refuse_float64(reason);
        }
        if !self.asks_float64() {
            return Ok(None);
        }
        let phase = "running in float64";
        let request = WorkerRequest::CallFloat64 { set: set as u32, seed };
        reference.send(&request, None, self.deadline).reference(phase)?;
        match reference.receive_outputs(MAX_OUTPUT, self.deadline) {
            Ok(returned) => {
                self.float64 = Float64::Usable;
                Ok(Some(returned))
            }
            // Some operations have no kernel for float64. That says nothing about the candidate.
            Err(WorkerFault::Failed(error)) if !error.fatal => {
                let text = error.message.lines().next().unwrap_or_default();
                self.refuse_float64(text.chars().take(REASON_CHARS).collect());
                Ok(None)
            }
            Err(fault) => Err(fault).reference(phase),
        }
    }

    /// Returns why no float64 result is requested; `None` if one is.
    fn no_float64(&self) -> Option<String> {
        if self.draws {
            return Some("it draws random numbers".to_owned());
        }
        let needed = (self.input_bytes() + self.output_bytes).saturating_mul(GROWTH);
        let limit = self.machine.settings.memory_bytes;
        (limit > 0 && needed > limit).then(|| format!("it may need {needed} bytes, the limit is {limit}"))
    }

    fn refuse_float64(&mut self, reason: String) {
        self.float64 = Float64::Unusable;
        self.report.evidence.notes.push(Remark::NoFloat64 { reason });
    }
}
