//! Results of the reference for inputs in which finite numbers replace NaN and infinities.

use passnet_inputs::Content;
use passnet_record::Watch;

use super::{
    context::{GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop},
};
use crate::worker::{Returned, Worker, WorkerFault};

impl GraphEvaluation<'_> {
    /// Makes the reference run the inputs of [`Content::FINITE`] in place of its first sets of inputs. `None` if the graph fails on them or
    /// draws random numbers, or if they are too large.
    pub(super) fn finite_results(
        &self,
        reference: &mut Worker,
        inputs_seed: u64,
        call_seed: u64,
    ) -> Result<Option<[Returned; 3]>, Stop> {
        if self.draws {
            return Ok(None);
        }
        let phase = "running on finite inputs";
        let contents = Content::FINITE.map(|content| (inputs_seed, content));
        // There may be no memory for them, although there was for one content at a time.
        let Ok(block) = self.inputs(&contents) else { return Ok(None) };
        self.send_inputs(reference, &block, 0..contents.len()).reference(phase)?;
        reference.receive_done(self.deadline).reference(phase)?;
        let mut results = Vec::new();
        for set in 0..contents.len() {
            self.send_call(reference, set, call_seed, Watch::default()).reference(phase)?;
            match reference.receive_outputs(MAX_OUTPUT, self.deadline) {
                Ok(result) => results.push(result),
                Err(WorkerFault::Failed(error)) if !error.fatal => return Ok(None),
                Err(fault) => return Err(fault).reference(phase),
            }
        }
        Ok(results.try_into().ok())
    }
}
