//! A timed call whose outputs are not those of the reference: less accurate than it should be, or other work than in checked calls.

use passnet_record::{CandidateSpec, ContentId, OutputValue, Status, Watch};

use super::{
    context::{GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop},
};
use crate::{
    block::InputBlock,
    failure::Failure,
    judge::{CallProperties, is_suspicious, pair, wrong_values},
    timing::CheckedRound,
    worker::{Fault, Returned, Sent, Worker},
};

/// Bytes of outputs that wait to be compared.
const MOST_WAITING: u64 = 256 << 20;

/// The outputs of a timed call that are not close to the reference's, and the contents of that call.
pub(super) struct Suspect {
    block: InputBlock,
    /// Seed of the generators of the call.
    seed: u64,
    expected: Returned,
    got: Returned,
}

/// Outputs of checked rounds. They are read and compared when the device is free: that can take longer than the calls.
pub(super) struct KeptOutputs {
    guard: CallProperties,
    /// Tolerance; `None` to compare no values.
    at: Option<i32>,
    seed: u64,
    waiting: Vec<CheckedRound>,
    nbytes: u64,
    rounds: u64,
    found: Result<Vec<Suspect>, Stop>,
}

impl KeptOutputs {
    /// Outputs that are to be close at a tolerance, if there is one.
    pub(super) fn new(guard: CallProperties, at: Option<i32>, seed: u64) -> Self {
        Self { guard, at, seed, waiting: Vec::new(), nbytes: 0, rounds: 0, found: Ok(Vec::new()) }
    }

    /// Rounds that were entered.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Adds the outputs of a round, the reference's first and the candidate's last. Compares them now if many are waiting.
    pub(super) fn enter(&mut self, round: CheckedRound) {
        self.rounds += 1;
        self.nbytes += round.sent.iter().map(Sent::nbytes).sum::<u64>();
        self.waiting.push(round);
        if self.nbytes > MOST_WAITING {
            self.compare();
        }
    }

    /// Compares all outputs; returns those of calls that are not close.
    pub(super) fn suspects(mut self) -> Result<Vec<Suspect>, Stop> {
        self.compare();
        self.found
    }

    fn compare(&mut self) {
        self.nbytes = 0;
        for round in std::mem::take(&mut self.waiting) {
            let compared = self.compared(round);
            if let Ok(found) = &mut self.found {
                match compared {
                    Ok(suspect) => found.extend(suspect),
                    Err(stop) => self.found = Err(stop),
                }
            }
        }
    }

    fn compared(&self, CheckedRound { sent, kept, content: block }: CheckedRound) -> Result<Option<Suspect>, Stop> {
        let read =
            |sent: Sent, kept: &[String]| sent.read().and_then(|values| check_kept(&values, kept).map(|()| values));
        let ([expected, got], [of_expected, of_got]) = (sent, kept);
        let expected = read(expected, &of_expected).reference("being timed")?;
        let got = read(got, &of_got).candidate("being timed")?;
        let Some(at) = self.at else { return Ok(None) };
        let is_suspicious = is_suspicious(&pair(&expected, &got, &block, 0, self.guard)?, at);
        Ok(is_suspicious.then_some(Suspect { block, seed: self.seed, expected, got }))
    }
}

/// Checks that values are those that there were when the call had returned.
fn check_kept(returned: &Returned, kept: &[String]) -> Result<(), Fault> {
    for (index, (value, kept)) in returned.outputs.values.iter().zip(kept).enumerate() {
        if let OutputValue::Tensor { layout, .. } = value
            && !kept.is_empty()
            && *kept != ContentId::of(returned.values(layout)).as_str()
        {
            return Err(Fault::Rewritten(index));
        }
    }
    Ok(())
}

impl GraphEvaluation<'_> {
    /// Accepts the outputs of a timed call if they are as close to float64 as the reference's. Else the candidate computes the
    /// same contents in a fresh process, which no call has left anything in: if it comes to the same values it is inaccurate,
    /// and if not it has done other work while it was timed.
    pub(super) fn examine(
        &mut self,
        suspect: &Suspect,
        reference: &mut Worker,
        spec: &CandidateSpec,
        at: i32,
    ) -> Result<(), Stop> {
        let Suspect { block, seed, expected, got } = suspect;
        let pairs = pair(expected, got, block, 0, CallProperties::default())?;
        let wide = if self.asks_float64() {
            self.send_inputs(reference, block, 0..1).reference("receiving inputs")?;
            reference.receive_done(self.deadline).reference("receiving inputs")?;
            let wide = self.float64(reference, 0, *seed)?;
            reference.drop_inputs(self.deadline).reference("forgetting inputs")?;
            wide
        } else {
            None
        };
        let Some(wrong) = wrong_values(&pairs, at, wide.as_ref()) else { return Ok(()) };
        let again = self.repeat(suspect, spec).candidate("repeating a timed call")?;
        let repeated = pair(&again, got, block, 0, CallProperties::default())?;
        if wrong_values(&repeated, at, None).is_none() {
            let message = format!(
                "{wrong} on the contents of a timed call, and the same in a fresh process: the rewrite is not accurate enough on all \
                 inputs like the sample's"
            );
            return Err(Failure::new(Status::Accuracy, "output_differs", message).into());
        }
        let message = format!(
            "{wrong} in a timed call although checked calls were right, and a fresh process returns something else for the \
             same contents: timed calls must do the same work"
        );
        Err(Failure::new(Status::Integrity, "timed_output_differs", message).into())
    }

    /// Returns the results of a candidate for the contents of a call, in a process of its own.
    fn repeat(&self, suspect: &Suspect, spec: &CandidateSpec) -> Result<Returned, Fault> {
        let mut worker = self.fork(&format!("repeated-{:x}", suspect.seed), self.candidate.is_foreign())?;
        worker.ready(self.deadline)?;
        self.send_load(&mut worker, spec)?;
        self.receive_load(&mut worker)?;
        self.send_inputs(&mut worker, &suspect.block, 0..1)?;
        self.send_call(&mut worker, 0, suspect.seed, Watch::default())?;
        worker.receive_done(self.deadline)?;
        worker.receive_outputs(MAX_OUTPUT, self.deadline)
    }
}
