//! Checked rounds: both sides compute the same contents, and their results are compared.

use passnet_graph::{has_row_products, has_zero_weights};
use passnet_inputs::{Content, byte_size, is_asked};
use passnet_record::{Mode, OutputValue, Remark, Status, Watch, WorkerNote};

use super::{
    context::{GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    block::{BlockError, InputBlock},
    failure::Failure,
    integrity,
    judge::{
        Agreement, CallProperties, LooseRound, OutputSet, Pair, RoundTally, Witnesses, judge_loosely, pair, remarks,
        same_bytes,
    },
    worker::{Returned, Worker, WorkerFault},
};

/// Largest number of bytes of inputs that are sent to workers at once during checks.
const BATCH_BYTES: u64 = 256 << 20;
/// Bytes that a candidate may return in excess of twice the reference's bytes.
const OUTPUT_SLACK: u64 = 1 << 20;

/// Number of the rounds with [`Content::NonFinite`] in the seed of their inputs.
const NON_FINITE: u64 = 1 << 32;

/// Content of one checked round.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub(super) content: Content,
    pub(super) inputs_seed: u64,
    pub(super) call_seed: u64,
    /// True if the graph multiplies elements by weights of zero.
    has_zero_weights: bool,
    /// Outputs whose integers are compared for inputs with NaN and infinities.
    defined: OutputSet,
}

impl Round {
    /// Returns the properties that are compared in this round. Rules for adversarial contents are those for complex numbers as a whole.
    fn properties(&self, all: CallProperties) -> CallProperties {
        CallProperties { parts: all.parts && self.content == Content::Random, ..all }
    }

    pub(super) fn loosely(&self, correct_at: i32, is_strict: bool) -> LooseRound {
        let Self { content, has_zero_weights, defined, .. } = *self;
        LooseRound { content, correct_at, has_zero_weights, defined, is_strict }
    }
}

/// Results of both sides in a checked round.
struct RoundResults {
    set: usize,
    round: Round,
    expected: Returned,
    got: Returned,
}

/// Returns whether the candidate differs from eager in a round, so that the graph in float64 has to decide.
fn differs(round: &Round, pairs: &[Pair<'_>], correct_at: i32) -> bool {
    match round.content {
        Content::Random => !Agreement::of(pairs, correct_at).is_close(correct_at),
        _ => judge_loosely(pairs, round.loosely(correct_at, true), Witnesses::default()).is_err(),
    }
}

/// Adds a round of random contents to the tally, or judges a round of adversarial contents.
fn judge(round: &Round, pairs: &[Pair<'_>], witnesses: Witnesses<'_>, tally: &mut RoundTally) -> Result<(), Failure> {
    if round.content == Content::Random {
        tally.add(pairs, Agreement::of(pairs, tally.correct_at()), witnesses.float64);
        return Ok(());
    }
    // A failure on random inputs takes precedence over one on adversarial inputs.
    judge_loosely(pairs, round.loosely(tally.correct_at(), false), witnesses)
        .map_err(|failure| tally.failure().unwrap_or(failure))
}

/// Rounds that are sent together, with their inputs.
pub(super) type Batch<'r> = (&'r [Round], InputBlock);

impl<'a> GraphEvaluation<'a> {
    /// Returns the contents to check: random ones under fresh seeds, then the adversarial ones.
    pub(super) fn rounds(&self, adversarial: &[Content]) -> Vec<Round> {
        let random = std::iter::repeat_n(Content::Random, self.machine.settings.check_rounds.max(1) as usize);
        let metas = self.sample.metas();
        // Products of large numbers are infinite in `float32` and finite in double precision, or the other way around behind small factors.
        let overflows = has_row_products(self.sample.graph());
        let is_asked = |content: &&Content| is_asked(**content, metas) && !(overflows && **content == Content::Large);
        let adversarial = adversarial.iter().filter(is_asked);
        // Fresh memory of a checked call has NaN in every second element, and that of the next call in the other elements. Both calls get
        // the same content, so that a kernel cannot leave out the few results that are NaN.
        // `divided`, `single_changes` and `stripes` contents change at places that a pass may look at by chance.
        let is_twice = |content: &Content| {
            matches!(content, Content::NonFinite | Content::Divided | Content::SingleChanges | Content::Stripes)
        };
        let twice = |content: &Content| std::iter::repeat_n(*content, 1 + usize::from(is_twice(content)));
        let contents = random.chain(adversarial.flat_map(twice));
        let has_zero_weights = has_zero_weights(self.sample.graph());
        let defined = OutputSet::defined_for_nan(self.sample.graph(), metas);
        contents
            .zip(0..)
            .map(|(content, index)| {
                let index = if self.machine.options.defences.contents { index } else { 0 };
                let number = match content {
                    // A near duplicate is derived from the random inputs of the same seed.
                    Content::NearDuplicate => 0,
                    Content::NonFinite => NON_FINITE,
                    _ => index,
                };
                let (inputs_seed, _) = self.seeds.checked_round(number);
                let call_seed = self.seeds.checked_round(index).1;
                Round { content, inputs_seed, call_seed, has_zero_weights, defined }
            })
            .collect()
    }

    /// Returns the rounds in groups that fit into memory, each with its block of inputs. Blocks are made lazily.
    pub(super) fn batches<'r>(
        &self,
        rounds: &'r [Round],
    ) -> Result<impl Iterator<Item = Result<Batch<'r>, BlockError>> + use<'a, 'r>, Stop> {
        let (metas, limit) = (self.sample.metas(), self.machine.settings.memory_bytes);
        let bytes = metas.iter().try_fold(0_u64, |sum, meta| byte_size(meta).map(|size| sum + size as u64));
        let bytes = bytes.map_err(|error| block_stop(error.into()))?;
        let size = (BATCH_BYTES / bytes.max(1)).clamp(1, rounds.len() as u64) as usize;
        let facts = self.facts();
        Ok(rounds.chunks(size).map(move |rounds| {
            let contents: Vec<_> = rounds.iter().map(|round| (round.inputs_seed, round.content)).collect();
            InputBlock::of_graph(metas, &facts, &contents, limit).map(|block| (rounds, block))
        }))
    }

    /// Returns the watch over the candidate in checked calls.
    pub(super) fn watch(&self) -> Watch {
        let defences = &self.machine.options.defences;
        let foreign = self.candidate.is_foreign();
        Watch { operators: foreign && defences.intercept, poison: foreign && defences.poison, ..Watch::default() }
    }

    /// Runs both sides on a batch of contents and compares.
    pub(super) fn check(
        &mut self,
        reference: &mut Worker,
        candidate: &mut Worker,
        rounds: &[Round],
        block: &InputBlock,
        tally: &mut RoundTally,
    ) -> Result<(), Stop> {
        let watch = self.watch();
        let all = 0..rounds.len();
        // All requests of a batch are sent before the first reply is read, so that both workers run at the same time.
        self.send_inputs(reference, block, all.clone()).reference("receiving inputs")?;
        self.send_inputs(candidate, block, all).candidate("receiving inputs")?;
        for (set, round) in rounds.iter().enumerate() {
            self.send_call(reference, set, round.call_seed, Watch::default()).reference("receiving inputs")?;
            if set == 0 && !self.learned {
                for seed in [round.call_seed ^ 1, round.call_seed] {
                    // The graph may have changed the inputs that it got.
                    self.send_inputs(reference, block, 0..1).reference("receiving inputs")?;
                    self.send_call(reference, 0, seed, Watch::default()).reference("receiving inputs")?;
                }
            }
            self.send_call(candidate, set, round.call_seed, watch).candidate("receiving inputs")?;
        }
        reference.receive_done(self.deadline).reference("receiving inputs")?;
        let limit = match self.machine.settings.memory_bytes {
            0 => MAX_OUTPUT,
            limit => limit,
        };
        let mut undecided = Vec::new();
        for (set, round) in rounds.iter().enumerate() {
            let phase = format!("running on `{}` inputs", round.content);
            let expected = self.receive_expected(reference, round.content, limit)?;
            if let (false, Some(expected)) = (self.learned, &expected) {
                self.learn(reference, expected, block, set)?;
            }
            // A candidate that returns much more than the reference is wrong in any case. The limit keeps its block
            // out of this process's memory.
            let limit = expected.as_ref().map_or(limit, |expected| expected.outputs.nbytes * 2 + OUTPUT_SLACK);
            if set == 0 {
                candidate.receive_done(self.deadline).candidate("receiving inputs")?;
            }
            let got = candidate.receive_outputs(limit, self.deadline);
            let Some(expected) = expected else {
                // An index that the graph refuses, for instance, is also out of bounds for a kernel.
                got.iter().for_each(|got| candidate.excuse(got));
                continue;
            };
            // Every round shows this: a sum with constant zeros changes its operand only if a content has other values.
            self.restore |= !expected.outputs.mutated.is_empty();
            // The shapes of a graph may depend on integers, but a pass may be made for one shape. It is judged if it runs to the end: one
            // that ignores the integers returns the usual shapes.
            if round.content.is_discrete() && shapes(&expected) != self.shapes {
                self.report.evidence.notes.push(skipped(round.content));
                match &got {
                    Err(WorkerFault::Failed(_)) => continue,
                    Ok(got) if integrity::violation_seen(&got.outputs.notes).is_some() => {
                        candidate.excuse(got);
                        continue;
                    }
                    _ => {}
                }
            }
            let got = got.candidate(&phase)?;
            // The distances of the scored path are reported for at least its first round.
            let is_reported = undecided.is_empty() && tally.is_empty() && self.report.outputs.is_empty();
            let results = RoundResults { set, round: *round, expected, got };
            undecided.extend(self.unlimited(|own| own.compare(results, block, tally, is_reported))?);
        }
        // Replies come in the order of requests, so float64 calls have to wait until all replies of the batch are
        // read.
        for RoundResults { set, round, expected, got } in undecided {
            let wide = self.float64(reference, set, round.call_seed)?;
            let pairs = pair(&expected, &got, block, set, round.properties(self.values_only()))?;
            let witnesses = Witnesses { float64: wide.as_ref(), finite: None };
            let judged = judge(&round, &pairs, witnesses, tally);
            if round.content != Content::NonFinite || judged.is_ok() {
                judged?;
                continue;
            }
            let finite = self.finite_results(reference, round.inputs_seed, round.call_seed)?;
            // Other rounds of this block may still need its sets.
            self.send_inputs(reference, block, 0..rounds.len()).reference("receiving inputs")?;
            reference.receive_done(self.deadline).reference("receiving inputs")?;
            judge(&round, &pairs, Witnesses { finite: finite.as_ref(), ..witnesses }, tally)?;
        }
        reference.drop_inputs(self.deadline).reference("forgetting inputs")?;
        candidate.drop_inputs(self.deadline).candidate("forgetting inputs")
    }

    /// Compares the results of a round and judges it. Returns them if the graph in float64 has to decide, or if its distances are reported.
    fn compare(
        &mut self,
        results: RoundResults,
        block: &InputBlock,
        tally: &mut RoundTally,
        is_reported: bool,
    ) -> Result<Option<RoundResults>, Stop> {
        let RoundResults { set, round, expected, got } = &results;
        if let Some(failure) = integrity::violation_seen(&got.outputs.notes) {
            return Err(failure.into());
        }
        let pairs = pair(expected, got, block, *set, round.properties(self.guard()))?;
        for note in remarks(expected, got) {
            if !self.report.evidence.notes.contains(&note) {
                self.report.evidence.notes.push(note);
            }
        }
        let has_witnesses = self.asks_float64() || round.content == Content::NonFinite;
        if has_witnesses && (is_reported || differs(round, &pairs, tally.correct_at())) {
            return Ok(Some(results));
        }
        judge(round, &pairs, Witnesses::default(), tally)?;
        Ok(None)
    }

    /// Returns the reference's outputs of a round; `None` where the reference raises on an adversarial content.
    fn receive_expected(
        &mut self,
        reference: &mut Worker,
        content: Content,
        limit: u64,
    ) -> Result<Option<Returned>, Stop> {
        match reference.receive_outputs(limit, self.deadline) {
            Ok(expected) => Ok(Some(expected)),
            Err(WorkerFault::Failed(error)) if content != Content::Random && !error.fatal => {
                self.report.evidence.notes.push(skipped(content));
                Ok(None)
            }
            Err(WorkerFault::Failed(_) | WorkerFault::Died { .. }) if content != Content::Random => {
                Err(Stop::Skip(content))
            }
            Err(fault) => Err(fault).reference(&format!("running on `{content}` inputs")),
        }
    }

    /// Makes two further calls of the reference, one with another seed and one with the same seed. They show whether the graph draws
    /// random numbers and whether its results are deterministic.
    fn learn(&mut self, reference: &mut Worker, first: &Returned, block: &InputBlock, set: usize) -> Result<(), Stop> {
        let phase = "running a second time";
        self.learned = true;
        let mut call = || {
            reference.receive_done(self.deadline).reference(phase)?;
            reference.receive_outputs(MAX_OUTPUT, self.deadline).reference(phase)
        };
        let (other_seed, again) = (call()?, call()?);
        let repeats = pair(first, &again, block, set, CallProperties::ALL)?;
        let correct_at = self.machine.settings.correct_at;
        let mut tally = RoundTally::new(correct_at);
        tally.add(&repeats, Agreement::of(&repeats, correct_at), None);
        let sound = self.machine.settings.mode != Mode::Paper;
        if !same_bytes(&repeats) {
            if sound && tally.failure().is_some() {
                let message = "the graph gives different results for the same inputs and seeds; it cannot be judged";
                return Err(Failure::new(Status::ReferenceError, "not_deterministic", message).into());
            }
            self.report.evidence.notes.push(Remark::ReferenceNotDeterministic);
        } else if sound && tally.tolerance().is_none() {
            let message =
                "the graph itself returns NaN for random inputs, which is close to nothing; no candidate can be right";
            return Err(Failure::new(Status::ReferenceError, "reference_nan", message).into());
        }
        (self.output_bytes, self.shapes) = (own_bytes(first), shapes(first));
        let random = !same_bytes(&pair(first, &other_seed, block, set, CallProperties::ALL)?);
        self.report.evidence.mutated_inputs = first.outputs.mutated.iter().map(|layout| layout.name.clone()).collect();
        (self.draws, self.restore) = (random, random);
        Ok(())
    }
}

pub(super) fn skipped(content: Content) -> Remark {
    Remark::ContentSkipped { content: content.name().to_owned() }
}

/// Returns the shape of each returned value; an empty shape for values that are not tensors.
pub(super) fn shapes(returned: &Returned) -> Vec<Vec<u64>> {
    let shape = |value: &OutputValue| match value {
        OutputValue::Tensor { layout, .. } => layout.shape.clone(),
        _ => Vec::new(),
    };
    returned.outputs.values.iter().map(shape).collect()
}

/// Returns the number of bytes of returned tensors that are not views of inputs. Any candidate has to write these bytes.
fn own_bytes(returned: &Returned) -> u64 {
    let is_view = |index: usize| {
        let of_input = |note: &WorkerNote| matches!(note, WorkerNote::AliasesInput { output, .. } if *output == index);
        returned.outputs.notes.iter().any(of_input)
    };
    let own = returned.outputs.values.iter().enumerate().filter(|(index, _)| !is_view(*index));
    own.map(|(_, value)| match value {
        OutputValue::Tensor { layout, .. } => layout.nbytes,
        _ => 0,
    })
    .sum()
}
