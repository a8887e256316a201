//! A timed call whose outputs are not those of the reference: less accurate than it should be, or other work than in checked calls.

use passnet_record::{Status, Watch};

use super::{
    context::{Attempt, MAX_OUTPUT},
    stop::{OrStop as _, Stop},
};
use crate::{
    block::InputBlock,
    failure::Failure,
    judge::{Guard, pair, wrong_values},
    worker::{Returned, Worker},
};

/// Bytes of outputs that wait to be compared.
const MOST_WAITING: usize = 256 << 20;

/// The outputs of a timed call that are not close to the reference's, and the contents of that call.
pub(super) struct Suspect {
    block: InputBlock,
    set: usize,
    expected: Returned,
    got: Returned,
}

/// Outputs of checked rounds. They are compared when the device is free: that can take longer than the calls themselves.
pub(super) struct KeptOutputs {
    guard: Guard,
    at: i32,
    waiting: Vec<(Vec<Returned>, InputBlock)>,
    nbytes: usize,
    rounds: u64,
    found: Result<Option<Suspect>, Stop>,
}

impl KeptOutputs {
    /// Outputs that are to be close at a tolerance.
    pub(super) fn new(guard: Guard, at: i32) -> Self {
        Self { guard, at, waiting: Vec::new(), nbytes: 0, rounds: 0, found: Ok(None) }
    }

    /// Rounds that were entered.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Takes the outputs of a round, the reference's first and the candidate's last. Where many wait, they are compared now.
    pub(super) fn enter(&mut self, returned: Vec<Returned>, content: InputBlock) {
        self.rounds += 1;
        self.nbytes += returned.iter().map(|one| one.bytes.len()).sum::<usize>();
        self.waiting.push((returned, content));
        if self.nbytes > MOST_WAITING {
            self.compare();
        }
    }

    /// Compares all outputs; returns those of the first call that are not close.
    pub(super) fn suspect(mut self) -> Result<Option<Suspect>, Stop> {
        self.compare();
        self.found
    }

    fn compare(&mut self) {
        self.nbytes = 0;
        for (returned, content) in std::mem::take(&mut self.waiting) {
            if matches!(self.found, Ok(None)) {
                self.found = self.compared(returned, content);
            }
        }
    }

    fn compared(&self, returned: Vec<Returned>, block: InputBlock) -> Result<Option<Suspect>, Stop> {
        let mut sides = returned.into_iter();
        let (Some(expected), Some(got)) = (sides.next(), sides.next_back()) else { return Ok(None) };
        let is_wrong = wrong_values(&pair(&expected, &got, &block, 0, self.guard)?, self.at, None).is_some();
        Ok(is_wrong.then_some(Suspect { block, set: 0, expected, got }))
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
