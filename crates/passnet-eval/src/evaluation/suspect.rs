//! Examination of timed calls whose outputs differ from the reference. Such a call is less accurate than allowed, or it does other work
//! than checked calls.

use std::io;

use passnet_record::{CandidateSpec, ContentId, OutputValue, Status, Watch};

use super::{
    context::{GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop},
};
use crate::{
    block::InputBlock,
    failure::Failure,
    judge::{CallProperties, SeenInputs, is_suspicious, pair, wrong_values},
    pools::Pools,
    samples::{DifferingCall, RoundSamples},
    timing::{CheckedRound, SeenOutputs},
    worker::{Returned, Sent, Worker, WorkerFault},
};

/// Bytes of outputs above which waiting outputs are compared at once.
const MOST_WAITING: u64 = 256 << 20;

/// The outputs of a timed call that are not close to the reference's, and the contents of that call.
pub(super) struct Suspect {
    block: InputBlock,
    /// Seed of the generators of the call.
    seed: u64,
    expected: Returned,
    got: Returned,
}

/// A timed call with sampled elements that are not close to the reference's, and its content.
pub(super) struct SampledSuspect {
    block: InputBlock,
    seed: u64,
    call: DifferingCall,
}

/// All suspects of a measurement.
pub(super) struct Suspects {
    pub(super) kept: Vec<Suspect>,
    pub(super) sampled: Option<SampledSuspect>,
}

impl Suspects {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.sampled.is_none()
    }
}

/// Content of a timed call. It is computed only on demand, which is rare, because this takes as long as writing all inputs.
struct TimedContent<'p> {
    pools: &'p Pools,
    call: u64,
}

impl SeenInputs for TimedContent<'_> {
    fn input(&self, set: usize, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.pools.content(self.call)?.input(set, name)
    }
}

/// Outputs that the rounds of a measurement returned. They are read and compared after the device is released, because this can take
/// longer than the calls.
pub(super) struct KeptOutputs<'p> {
    pools: &'p Pools,
    guard: CallProperties,
    /// Tolerance of the comparison; `None` to compare no values.
    at: Option<i32>,
    seed: u64,
    waiting: Vec<CheckedRound>,
    nbytes: u64,
    rounds: u64,
    sampled: u64,
    waiting_samples: Vec<RoundSamples>,
    found: Result<Vec<Suspect>, Stop>,
}

impl<'p> KeptOutputs<'p> {
    /// Returns an empty collection for calls with contents from these pools. If `at` is a tolerance, outputs have to be close at it.
    pub(super) fn new(pools: &'p Pools, guard: CallProperties, at: Option<i32>, seed: u64) -> Self {
        Self {
            pools,
            guard,
            at,
            seed,
            waiting: Vec::new(),
            nbytes: 0,
            rounds: 0,
            sampled: 0,
            waiting_samples: Vec::new(),
            found: Ok(Vec::new()),
        }
    }

    /// Returns the number of rounds that were added.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns the number of calls that were sampled.
    pub(super) fn sampled(&self) -> u64 {
        self.sampled
    }

    /// Adds the outputs of a round, those of the reference first and those of the candidate last. Compares outputs now if many bytes are
    /// waiting.
    pub(super) fn enter(&mut self, seen: SeenOutputs) {
        let round = match seen {
            SeenOutputs::Kept(round) => *round,
            SeenOutputs::Sampled(samples) => {
                self.sampled += samples.calls();
                self.waiting_samples.push(samples);
                return;
            }
        };
        self.rounds += 1;
        self.nbytes += round.sent.iter().map(Sent::nbytes).sum::<u64>();
        self.waiting.push(round);
        if self.nbytes > MOST_WAITING {
            self.compare();
        }
    }

    /// Compares all samples. Returns the call with the largest number of elements that are not close, if any. `seen` is the number of
    /// calls before the measurement.
    pub(super) fn sampled_suspect(&mut self, seen: u64) -> Result<Option<SampledSuspect>, Stop> {
        let Some(at) = self.at else { return Ok(None) };
        let samples = std::mem::take(&mut self.waiting_samples);
        let calls = samples.iter().filter_map(|samples| samples.worst(at));
        let Some(call) = calls.max_by_key(|call| call.mismatched) else { return Ok(None) };
        let block = self.pools.content(seen + call.call).map_err(|error| Stop::Fault(error.into()))?;
        Ok(Some(SampledSuspect { block, seed: self.seed, call }))
    }

    /// Compares all outputs. Returns the calls whose outputs are not close.
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

    fn compared(&self, CheckedRound { sent, kept, call }: CheckedRound) -> Result<Option<Suspect>, Stop> {
        let ([expected, got], [of_expected, of_got]) = (sent, kept);
        let expected = read_kept(expected, &of_expected).reference("being timed")?;
        let got = read_kept(got, &of_got).candidate("being timed")?;
        let Some(at) = self.at else { return Ok(None) };
        let content = TimedContent { pools: self.pools, call };
        if !is_suspicious(&pair(&expected, &got, &content, 0, self.guard)?, at) {
            return Ok(None);
        }
        let block = self.pools.content(call).map_err(|error| Stop::Fault(error.into()))?;
        Ok(Some(Suspect { block, seed: self.seed, expected, got }))
    }
}

/// Reads values, and checks that they have not changed since the call returned.
pub(super) fn read_kept(sent: Sent, kept: &[String]) -> Result<Returned, WorkerFault> {
    let returned = sent.read()?;
    for (index, (value, kept)) in returned.outputs.values.iter().zip(kept).enumerate() {
        if let OutputValue::Tensor { layout, .. } = value
            && !kept.is_empty()
            && *kept != ContentId::of(returned.values(layout)).as_str()
        {
            return Err(WorkerFault::Rewritten(index));
        }
    }
    Ok(returned)
}

impl GraphEvaluation<'_> {
    /// Examines all suspects of a measurement. Returns the failure of the first suspect that is at fault.
    pub(super) fn examine_all(
        &mut self,
        suspects: &Suspects,
        reference: &mut Worker,
        spec: &CandidateSpec,
        at: i32,
    ) -> Result<(), Stop> {
        for suspect in &suspects.kept {
            self.examine(suspect, reference, spec, at)?;
        }
        suspects.sampled.as_ref().map_or(Ok(()), |suspect| self.examine_sampled(suspect, reference, spec, at))
    }

    /// Accepts the outputs of a timed call if they are as close to float64 as those of the reference. Otherwise the candidate computes
    /// the same contents in a fresh process, which has no results of earlier calls. If the values are the same there, the candidate is
    /// inaccurate. If they differ, the candidate did other work while it was timed.
    fn examine(
        &mut self,
        suspect: &Suspect,
        reference: &mut Worker,
        spec: &CandidateSpec,
        at: i32,
    ) -> Result<(), Stop> {
        let Suspect { block, seed, expected, got } = suspect;
        let pairs = pair(expected, got, block, 0, self.values_only())?;
        let wide = self.wide_result(reference, block, *seed)?;
        let Some(wrong) = wrong_values(&pairs, at, wide.as_ref()) else { return Ok(()) };
        let again = self.repeat(block, *seed, spec, Watch::default()).candidate("repeating a timed call")?;
        let repeated = pair(&again, got, block, 0, self.values_only())?;
        Err(differs(&wrong, wrong_values(&repeated, at, None).is_none()).into())
    }

    /// Accepts or refuses, like [`examine`](Self::examine), a call of which only a few elements are known. The candidate computes the
    /// same contents in a fresh process. If it returns the same elements there, all values of the fresh process are judged.
    fn examine_sampled(
        &mut self,
        suspect: &SampledSuspect,
        reference: &mut Worker,
        spec: &CandidateSpec,
        at: i32,
    ) -> Result<(), Stop> {
        let SampledSuspect { block, seed, call } = suspect;
        let again = self.repeat(block, *seed, spec, Watch::default()).candidate("repeating a timed call")?;
        if !call.is_repeated_by(&again, at) {
            let wrong = format!("{} of a few elements of a timed call", call.mismatched);
            return Err(differs(&format!("{wrong} are not close to the reference's"), false).into());
        }
        let expected = self.reference_result(reference, block, *seed)?;
        let wide = self.wide_result(reference, block, *seed)?;
        let pairs = pair(&expected, &again, block, 0, self.values_only())?;
        wrong_values(&pairs, at, wide.as_ref()).map_or(Ok(()), |wrong| Err(differs(&wrong, true).into()))
    }

    /// Returns the reference's result for the contents of a call.
    pub(super) fn reference_result(
        &self,
        reference: &mut Worker,
        block: &InputBlock,
        seed: u64,
    ) -> Result<Returned, Stop> {
        self.send_inputs(reference, block, 0..1).reference("receiving inputs")?;
        reference.receive_done(self.deadline).reference("receiving inputs")?;
        self.send_call(reference, 0, seed, Watch::default()).reference("repeating a timed call")?;
        let expected = reference.receive_outputs(MAX_OUTPUT, self.deadline).reference("repeating a timed call")?;
        reference.drop_inputs(self.deadline).reference("forgetting inputs")?;
        Ok(expected)
    }

    /// Returns the reference's result in float64; `None` where it is not requested or not possible.
    pub(super) fn wide_result(
        &mut self,
        reference: &mut Worker,
        block: &InputBlock,
        seed: u64,
    ) -> Result<Option<Returned>, Stop> {
        if !self.asks_float64() {
            return Ok(None);
        }
        self.send_inputs(reference, block, 0..1).reference("receiving inputs")?;
        reference.receive_done(self.deadline).reference("receiving inputs")?;
        let wide = self.float64(reference, 0, seed)?;
        reference.drop_inputs(self.deadline).reference("forgetting inputs")?;
        Ok(wide)
    }

    /// Returns the results of a candidate for the contents of a call, in a separate process.
    pub(super) fn repeat(
        &self,
        block: &InputBlock,
        seed: u64,
        spec: &CandidateSpec,
        watch: Watch,
    ) -> Result<Returned, WorkerFault> {
        let mut worker = self.fork(&format!("repeated-{seed:x}"), self.candidate.is_foreign())?;
        worker.ready(self.deadline)?;
        self.send_load(&mut worker, spec)?;
        self.receive_load(&mut worker)?;
        self.send_inputs(&mut worker, block, 0..1)?;
        self.send_call(&mut worker, 0, seed, watch)?;
        worker.receive_done(self.deadline)?;
        worker.receive_outputs(MAX_OUTPUT, self.deadline)
    }
}

/// Returns the failure for wrong values in a timed call. `is_repeated` is true if a fresh process returned the same values.
fn differs(wrong: &str, is_repeated: bool) -> Failure {
    if is_repeated {
        let message = format!(
            "{wrong} on the contents of a timed call, and the same in a fresh process: the rewrite is not accurate enough on all \
             inputs like the sample's"
        );
        return Failure::new(Status::Accuracy, "output_differs", message);
    }
    let message = format!(
        "{wrong} in a timed call although checked calls were right, and a fresh process returns something else for the \
         same contents: timed calls must do the same work"
    );
    Failure::new(Status::Integrity, "timed_output_differs", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_a_fresh_process_does_not_repeat_are_an_accusation() {
        let judged = |is_repeated| {
            let failure = differs("output 0", is_repeated);
            (failure.status, failure.reason.code)
        };
        assert_eq!(judged(true), (Status::Accuracy, "output_differs".to_owned()));
        assert_eq!(judged(false), (Status::Integrity, "timed_output_differs".to_owned()));
    }
}
