//! A timed call whose outputs are not those of the reference: less accurate than it should be, or other work than in checked calls.

use passnet_record::{Status, Watch};

use super::{
    context::{Attempt, MAX_OUTPUT},
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    block::{BlockError, InputBlock},
    failure::Failure,
    judge::{Guard, pair, wrong_values},
    worker::{Returned, Worker},
};

/// The outputs of a timed call that are not close to the reference's, and the contents of that call.
pub(super) struct Suspect {
    block: InputBlock,
    set: usize,
    expected: Returned,
    got: Returned,
}

impl Suspect {
    /// Keeps what both sides returned.
    pub(super) fn new(block: &InputBlock, set: usize, expected: &Returned, got: &Returned) -> Result<Self, Stop> {
        let block = block.share().map_err(|error| block_stop(BlockError::Io(error)))?;
        Ok(Self { block, set, expected: expected.clone(), got: got.clone() })
    }
}

impl Attempt<'_> {
    /// Accepts the outputs of a timed call if they are as close to float64 as the reference's. Else the candidate runs the same
    /// contents again: if it comes to the same values it is inaccurate, and if not it has done other work while it was timed.
    pub(super) fn examine(
        &mut self,
        suspect: &Suspect,
        (reference, candidate): (&mut Worker, &mut Worker),
        seed: u64,
        at: i32,
    ) -> Result<(), Stop> {
        let Suspect { block, set, expected, got } = suspect;
        let pairs = pair(expected, got, block, *set, Guard::default())?;
        let wide = if self.asks_float64() {
            self.send_inputs(reference, block, *set..*set + 1).reference("receiving inputs")?;
            reference.receive_done(self.deadline).reference("receiving inputs")?;
            let wide = self.float64(reference, *set, seed)?;
            reference.drop_inputs(self.deadline).reference("forgetting inputs")?;
            wide
        } else {
            None
        };
        let Some(wrong) = wrong_values(&pairs, at, wide.as_ref()) else { return Ok(()) };
        let phase = "repeating a timed call";
        self.send_inputs(candidate, block, *set..*set + 1).candidate(phase)?;
        self.send_call(candidate, *set, seed, Watch::default()).candidate(phase)?;
        candidate.receive_done(self.deadline).candidate(phase)?;
        let again = candidate.receive_outputs(MAX_OUTPUT, self.deadline).candidate(phase)?;
        candidate.drop_inputs(self.deadline).candidate(phase)?;
        let repeated = pair(&again, got, block, *set, Guard::default())?;
        if wrong_values(&repeated, at, None).is_none() {
            let message = format!(
                "{wrong} on the contents of a timed call, and the same in a further call: the rewrite is not accurate enough on all \
                 inputs like the sample's"
            );
            return Err(Failure::new(Status::Accuracy, "output_differs", message).into());
        }
        let message = format!(
            "{wrong} in a timed call although checked calls were right, and a further call on the same contents returns something \
             else: timed calls must do the same work"
        );
        Err(Failure::new(Status::Integrity, "timed_output_differs", message).into())
    }
}
