//! Comparison of a few elements of many timed calls. Without it, a candidate that skips its work in some calls would rarely be found,
//! because the outputs of only one call per block are kept.

use passnet_compare::compare;
use passnet_record::{DType, OutputValue, SampleRule, SampledOutput};

use crate::{schedule::BlockPlan, worker::Returned};

/// Average number of calls of a block that are sampled.
const CALLS: u64 = 128;
/// Number of elements of each output of a sampled call.
const ELEMENTS: u32 = 8;

/// Returns the rule for a block. `seed` must not be known to any call.
pub(crate) fn rule(seed: u64, plan: BlockPlan) -> SampleRule {
    let every = u32::try_from(plan.timed() / CALLS).unwrap_or(u32::MAX).max(1);
    SampleRule { seed, every, elements: ELEMENTS }
}

/// Samples of both sides of a round.
pub(crate) struct RoundSamples {
    pub(crate) rule: SampleRule,
    pub(crate) plan: BlockPlan,
    /// Number of the first timed call of the block in its measurement.
    pub(crate) first: u64,
    /// Samples of the baseline and of the candidate.
    pub(crate) sides: [Vec<SampledOutput>; 2],
}

/// A sampled call of a candidate with elements that are not close to those of the reference.
#[derive(Clone, Debug)]
pub(crate) struct DifferingCall {
    pub(crate) rule: SampleRule,
    /// Number of the call in its block, counted from 0. `call` is its number in the measurement.
    pub(crate) timed: u64,
    pub(crate) call: u64,
    /// Number of elements that are not close.
    pub(crate) mismatched: u64,
    /// False if the candidate lacks elements that the reference has.
    is_complete: bool,
    /// Elements that the candidate returned.
    outputs: Vec<CallSample>,
}

/// Index, type and elements of an output, and its sampled bytes.
type Sampled = (u32, DType, u64, Vec<u8>);

/// Sampled elements of one output of one call.
#[derive(Clone, Debug)]
struct CallSample {
    index: u32,
    dtype: DType,
    bytes: Vec<u8>,
}

impl RoundSamples {
    /// Returns the number of calls that were sampled.
    pub(crate) fn calls(&self) -> u64 {
        self.timed().count() as u64
    }

    fn timed(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.plan.timed()).filter(|&call| self.rule.takes(call))
    }

    /// Returns the call with the largest number of elements that are not close at a tolerance; `None` if all are close. Elements that the
    /// candidate lacks count as not close.
    pub(crate) fn worst(&self, at: i32) -> Option<DifferingCall> {
        let [reference, candidate] = [0, 1].map(|side: usize| {
            let sampled = |output: &SampledOutput| Some((output.index, output.dtype, output.count, output.bytes()?));
            self.sides[side].iter().filter_map(sampled).collect::<Vec<Sampled>>()
        });
        let mut worst: Option<DifferingCall> = None;
        for (number, timed) in self.timed().enumerate() {
            let part = |(_, dtype, _, bytes): &Sampled| {
                let length = self.rule.elements as usize * dtype.size();
                bytes.get(number * length..(number + 1) * length).map(<[u8]>::to_vec)
            };
            let mut call = DifferingCall {
                rule: self.rule,
                timed,
                call: self.first + timed,
                mismatched: 0,
                is_complete: true,
                outputs: Vec::with_capacity(reference.len()),
            };
            for output in &reference {
                let Some(expected) = part(output) else { continue };
                let (index, dtype, count, _) = *output;
                let got = candidate.iter().find(|other| (other.0, other.1, other.2) == (index, dtype, count));
                let Some(bytes) = got.and_then(part) else {
                    call.mismatched += u64::from(self.rule.elements);
                    call.is_complete = false;
                    continue;
                };
                call.mismatched += mismatched(dtype, &bytes, &expected, at);
                call.outputs.push(CallSample { index, dtype, bytes });
            }
            if call.mismatched > worst.as_ref().map_or(0, |worst| worst.mismatched) {
                worst = Some(call);
            }
        }
        worst
    }
}

impl DifferingCall {
    /// Returns whether another call with the same content, in another process, returned the same elements within a tolerance.
    pub(crate) fn is_repeated_by(&self, again: &Returned, at: i32) -> bool {
        self.is_complete
            && self.outputs.iter().all(|sample| {
                let Some(OutputValue::Tensor { layout, .. }) = again.outputs.values.get(sample.index as usize) else {
                    return false;
                };
                if layout.dtype != sample.dtype {
                    return false;
                }
                let (values, size) = (again.values(layout), sample.dtype.size());
                let element = |number: u32| {
                    let count = (values.len() / size) as u64;
                    let place = self.rule.element(self.timed, sample.index, number, count) as usize * size;
                    values.get(place..place + size).unwrap_or_default().to_vec()
                };
                let elsewhere: Vec<u8> = (0..self.rule.elements).flat_map(element).collect();
                mismatched(sample.dtype, &sample.bytes, &elsewhere, at) == 0
            })
    }
}

/// Returns the number of elements that are not close to the reference. Elements whose reference is NaN are not counted.
fn mismatched(dtype: DType, got: &[u8], expected: &[u8], at: i32) -> u64 {
    // Equal bytes are equal numbers, or NaN on both sides.
    if got == expected || compare(dtype, got, expected, at).tolerance.is_some_and(|tolerance| tolerance <= at) {
        return 0;
    }
    let elements = got.chunks(dtype.size()).zip(expected.chunks(dtype.size()));
    let is_number = |expected: &[u8]| compare(dtype, expected, expected, at).equal;
    elements.filter(|(got, expected)| compare(dtype, got, expected, at).mismatched > 0 && is_number(expected)).count()
        as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: SampleRule = SampleRule { seed: 3, every: 2, elements: 4 };

    fn output(values: &[f32]) -> SampledOutput {
        let values = values.iter().flat_map(|value| value.to_ne_bytes()).map(|byte| format!("{byte:02x}")).collect();
        SampledOutput { index: 0, dtype: DType::Float32, count: 100, values }
    }

    fn samples(reference: &[f32], candidate: &[f32]) -> RoundSamples {
        let plan = BlockPlan { warmup: 1, trials: 20, calls: 1, checked: false };
        RoundSamples { rule: RULE, plan, first: 50, sides: [vec![output(reference)], vec![output(candidate)]] }
    }

    #[test]
    fn a_call_with_other_values_is_found() {
        let calls: Vec<u64> = (0..20).filter(|&call| RULE.takes(call)).collect();
        let right: Vec<f32> = (0..calls.len() * 4).map(|place| place as f32 / 8.0).collect();
        assert!(samples(&right, &right).worst(-2).is_none());
        assert_eq!(samples(&right, &right).calls(), calls.len() as u64);
        let mut wrong = right.clone();
        (wrong[9], wrong[13], wrong[14]) = (7.0, f32::NAN, -1.0);
        let found = samples(&right, &wrong).worst(-2).unwrap();
        assert_eq!((found.timed, found.call, found.mismatched), (calls[3], 50 + calls[3], 2));
        let missing = samples(&right, &right[4..]).worst(-2).unwrap();
        assert!(missing.mismatched > 0);
        // A reference of NaN does not show whether the candidate is wrong.
        assert!(samples(&[f32::NAN; 4], &[1.0; 4]).worst(-2).is_none());
    }

    #[test]
    fn long_blocks_are_sampled_in_part() {
        let plan = |trials, calls| BlockPlan { warmup: 0, trials, calls, checked: false };
        assert_eq!(rule(1, plan(10, 1)).every, 1);
        assert_eq!(rule(1, plan(10, 128)).every, 10);
    }
}
