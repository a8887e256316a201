//! Disguised rounds: adversarial contents in calls that are made like timed calls.
//!
//! A kernel can tell checked calls from timed ones, for example by the addresses of its arguments. Timed calls have contents like the
//! sample's. A shortcut that is wrong only for other contents, such as large values, would be right there. In disguised rounds, only
//! the contents differ from those of timed calls. A candidate must compute the same there as in a checked call.

use passnet_inputs::Content;
use passnet_record::{Mode, Status};

use super::{
    check::{Round, shapes, skipped},
    context::GraphEvaluation,
    stop::{OrStop as _, Stop, block_stop},
    suspect::read_kept,
};
use crate::{
    candidate::Route,
    failure::Failure,
    judge::{CallProperties, Witnesses, judge_loosely, pair},
    pools::Pools,
    schedule::{least_calls, short},
    worker::Worker,
};

/// Largest number of disguised rounds of a path. They are chosen at random, because a round takes several times as long as a checked
/// round.
const MOST_ROUNDS: u64 = 6;
/// Least number of them: one of far magnitudes, and one of near ones.
const LEAST_ROUNDS: u64 = 2;
/// Bytes of inputs of all disguised rounds together, if there are more.
const ALL_BYTES: u64 = 32 << 20;

impl GraphEvaluation<'_> {
    /// Chooses disguised rounds among the checked rounds of a path: those before the measurement, and those after it, so that a candidate
    /// cannot avoid them by counting its calls. Every second round has contents of far magnitudes, because most shortcuts are wrong for
    /// them.
    pub(super) fn disguised(&self, rounds: &[Round]) -> [Vec<Round>; 2] {
        let defences = &self.machine.options.defences;
        let is_wanted = self.candidate.is_foreign() && defences.contents && defences.timed;
        if !is_wanted || self.machine.settings.mode != Mode::Sound {
            return [Vec::new(), Vec::new()];
        }
        let order = |number: u64| self.seeds.seed("order of disguised rounds", number);
        let mut rounds: Vec<Round> =
            rounds.iter().copied().filter(|round| self.can_be_disguised(round.content)).collect();
        rounds.sort_by_key(|round| order(round.inputs_seed));
        rounds.dedup_by_key(|round| round.inputs_seed);
        let (far, near): (Vec<Round>, Vec<Round>) = rounds.into_iter().partition(|round| round.content.is_far());
        let (mut far, mut near) = (far.into_iter(), near.into_iter());
        let most = (ALL_BYTES / self.input_bytes().max(1)).clamp(LEAST_ROUNDS, MOST_ROUNDS) as usize;
        let mut before: Vec<Round> =
            (0..most).flat_map(|_| far.next().into_iter().chain(near.next())).take(most).collect();
        // If the number is odd, chance decides where the middle round goes.
        let middle = before.len() % 2 * (order(0) % 2) as usize;
        let after = before.split_off(before.len() / 2 + middle);
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
        content != Content::Random && !self.report.evidence.notes.contains(&skipped(content))
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
        let (metas, settings) = (self.sample.metas(), &self.machine.settings);
        let block = self.inputs(&[(seed, round.content)]).map_err(block_stop)?;
        // On some values, the graph may fail or return other shapes. That says nothing about the candidate.
        let Ok(expected) = self.reference_result(reference, &block, call_seed) else { return Ok(()) };
        if shapes(&expected) != self.shapes {
            return Ok(());
        }
        // As in checked rounds: the change of an input must be undone before each call.
        self.restore |= !expected.outputs.mutated.is_empty();
        let pools = Pools::holding(&block, metas, least_calls(settings), &self.fixed_inputs(), settings.memory_bytes);
        let pools = pools.map_err(block_stop)?;
        let phase = "being timed";
        pools.send(candidate, self.deadline).candidate(phase)?;
        candidate.receive_done(self.deadline).candidate(phase)?;
        let plan = self.measurement_plan(&pools, 0, call_seed, seed);
        let (sent, kept) = plan.outputs(candidate, short(settings, seed)).candidate(phase)?;
        let got = read_kept(sent, &kept).candidate(phase)?;
        candidate.drop_inputs(self.deadline).candidate(phase)?;
        let pairs = pair(&expected, &got, &block, 0, CallProperties { parts: false, ..self.guard() })?;
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
}
