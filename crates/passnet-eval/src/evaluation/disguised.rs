//! Disguised rounds: adversarial contents in calls that are made like timed calls.
//!
//! A kernel can tell checked calls from timed ones, for example by the addresses of its arguments. Timed calls have contents like the
//! sample's. A shortcut that is wrong only for other contents, such as large values, would be right there. In disguised rounds, only
//! the contents differ from those of timed calls. A candidate must compute the same there as in a checked call.

use passnet_record::{Mode, Remark, Status, WorkerReply, WorkerRequest};

use super::{
    check::{Round, shapes},
    context::{GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop, block_stop},
    suspect::check_kept,
};
use crate::{
    block::{BlockError, InputBlock},
    candidate::Route,
    failure::Failure,
    inputs::{Content, byte_size, constants_of},
    judge::{CallProperties, Witnesses, judge_loosely, pair},
    pools::Pools,
    schedule::{least_calls, short},
    worker::{Returned, Worker, WorkerFault, unexpected},
};

/// Largest number of disguised rounds of a path. They are chosen at random, because a round takes several times as long as a checked
/// round.
const MOST_ROUNDS: u64 = 6;
/// Bytes of inputs of all disguised rounds together. There is at least one round.
const ALL_BYTES: u64 = 32 << 20;
/// Phase in messages, the same as that of timed calls.
const PHASE: &str = "being timed";

impl GraphEvaluation<'_> {
    /// Chooses disguised rounds among the checked rounds of a path: those before the measurement, and those after it. Contents of far
    /// magnitudes are in every second round, because most shortcuts are wrong for them.
    pub(super) fn disguised(&self, rounds: &[Round]) -> [Vec<Round>; 2] {
        let defences = &self.machine.options.defences;
        let is_wanted = self.candidate.is_foreign() && defences.contents && defences.timed;
        if !is_wanted || self.machine.settings.mode != Mode::Sound {
            return [Vec::new(), Vec::new()];
        }
        let mut rounds: Vec<Round> =
            rounds.iter().copied().filter(|round| self.can_be_disguised(round.content)).collect();
        rounds.sort_by_key(|round| self.seeds.seed("order of disguised rounds", round.inputs_seed));
        rounds.dedup_by_key(|round| round.inputs_seed);
        let (far, near): (Vec<Round>, Vec<Round>) = rounds.into_iter().partition(|round| round.content.is_far());
        let of_kinds = far.into_iter().enumerate().map(|(place, round)| (2 * place, round));
        let mut mixed: Vec<_> =
            of_kinds.chain(near.into_iter().enumerate().map(|(place, round)| (2 * place + 1, round))).collect();
        mixed.sort_by_key(|(place, _)| *place);
        let metas = self.sample.metas().iter();
        let bytes: u64 = metas.filter_map(|meta| byte_size(meta).ok()).map(|size| size as u64).sum();
        mixed.truncate((ALL_BYTES / bytes.max(1)).clamp(1, MOST_ROUNDS) as usize);
        let mut before: Vec<Round> = mixed.into_iter().map(|(_, round)| round).collect();
        // A candidate that counts its calls must not find a side without disguised rounds.
        let odd = before.len() % 2 * (self.seeds.seed("order of disguised rounds", 0) % 2) as usize;
        let after = before.split_off(before.len() / 2 + odd);
        [before, after]
    }

    /// Runs disguised rounds.
    pub(super) fn check_disguised(
        &mut self,
        route: &Route,
        rounds: &[Round],
        reference: &mut Worker,
        candidate: &mut Worker,
        at: i32,
    ) -> Result<(), Stop> {
        rounds.iter().try_for_each(|round| self.disguise(route, round, reference, candidate, at))
    }

    /// Returns whether the graph itself ran on a content that is not the usual one of timed calls.
    fn can_be_disguised(&self, content: Content) -> bool {
        let is_skipped =
            |note: &Remark| matches!(note, Remark::ContentSkipped { content: skipped } if skipped == content.name());
        content != Content::Random && !self.report.evidence.notes.iter().any(is_skipped)
    }

    /// Runs one round. The candidate is refused if its results differ from the reference's, and from its own for the same contents in a
    /// checked call.
    fn disguise(
        &mut self,
        route: &Route,
        round: &Round,
        reference: &mut Worker,
        candidate: &mut Worker,
        at: i32,
    ) -> Result<(), Stop> {
        let seed = self.seeds.seed("disguised contents", round.inputs_seed);
        let call_seed = self.seeds.seed("disguised calls", round.inputs_seed) >> 1;
        let block = self.block_of(seed, round.content).map_err(block_stop)?;
        // On some values, the graph may fail or return other shapes. That says nothing about the candidate.
        let Ok(expected) = self.reference_result(reference, &block, call_seed) else { return Ok(()) };
        if shapes(&expected) != self.shapes {
            return Ok(());
        }
        let got = self.call_as_timed(candidate, &block, seed, call_seed).candidate(PHASE)?;
        let pairs = pair(&expected, &got, &block, 0, self.guard())?;
        if judge_loosely(&pairs, round.loosely(at, true), Witnesses::default()).is_ok() {
            return Ok(());
        }
        let wide = self.wide_result(reference, &block, call_seed)?;
        let witnesses = Witnesses { float64: wide.as_ref(), finite: None };
        let Err(wrong) = judge_loosely(&pairs, round.loosely(at, false), witnesses) else { return Ok(()) };
        let again = self.repeat(&block, call_seed, &route.spec, self.watch()).candidate("repeating a timed call")?;
        let repeated = pair(&again, &got, &block, 0, CallProperties::default())?;
        if judge_loosely(&repeated, round.loosely(at, false), Witnesses::default()).is_ok() {
            return Ok(());
        }
        let message = format!(
            "in a timed call, {}; a checked call with the same contents returns something else: timed calls must do the same work",
            wrong.reason.message
        );
        Err(Failure::new(Status::Integrity, "timed_output_differs", message).into())
    }

    fn block_of(&self, seed: u64, content: Content) -> Result<InputBlock, BlockError> {
        let (metas, limit) = (self.sample.metas(), self.machine.settings.memory_bytes);
        InputBlock::with_constants(metas, &constants_of(self.sample.graph()), &[(seed, content)], limit)
    }

    /// Returns the candidate's outputs for the first set of a block, in calls that are made like timed calls.
    fn call_as_timed(
        &self,
        candidate: &mut Worker,
        block: &InputBlock,
        seed: u64,
        call_seed: u64,
    ) -> Result<Returned, WorkerFault> {
        let settings = &self.machine.settings;
        let (metas, fixed, limit) = (self.sample.metas(), self.fixed_inputs(), settings.memory_bytes);
        let pools = Pools::holding(block, metas, least_calls(settings), &fixed, limit)
            .map_err(|error| WorkerFault::Io(std::io::Error::other(error.to_string())))?;
        candidate.drop_inputs(self.deadline)?;
        pools.send(candidate, self.deadline)?;
        candidate.receive_done(self.deadline)?;
        let plan = short(settings, seed);
        let request = WorkerRequest::Time {
            windows: pools.windows(0),
            warmup: plan.warmup,
            trials: plan.trials,
            calls: plan.calls,
            overwrite: self.machine.options.defences.poison,
            cache: settings.cache,
            restore: self.restore,
            seed: call_seed,
            sample: None,
        };
        candidate.send(&request, None, self.deadline)?;
        let (reply, _) = candidate.receive(self.deadline)?;
        let WorkerReply::Timed(timed) = reply else { return Err(unexpected("timed", &reply)) };
        candidate.send(&WorkerRequest::Fetch, None, self.deadline)?;
        let got = candidate.receive_outputs(MAX_OUTPUT, self.deadline)?;
        if self.machine.options.defences.clock {
            check_kept(&got, &timed.kept)?;
        }
        candidate.drop_inputs(self.deadline)?;
        Ok(got)
    }
}
