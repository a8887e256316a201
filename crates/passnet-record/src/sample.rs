//! Samples of the results of timed calls.

use serde::{Deserialize, Serialize};

use crate::DType;

/// Rule by which both sides of a round sample a few elements of the results of their timed calls. Both sides see equal contents, so their
/// samples can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRule {
    /// Seed of the choice of calls and elements.
    pub seed: u64,
    /// One call of this number of calls is sampled, at random.
    pub every: u32,
    /// Number of elements of each output of a sampled call.
    pub elements: u32,
}

impl SampleRule {
    /// Returns whether a timed call, counted from 0, is sampled.
    pub fn takes(&self, call: u64) -> bool {
        mix(self.seed ^ mix(call)).is_multiple_of(u64::from(self.every.max(1)))
    }

    /// Returns the flat row-major index of a sampled element in an output of `count` elements.
    pub fn element(&self, call: u64, output: u32, number: u32, count: u64) -> u64 {
        let place = u64::from(output) << 32 | u64::from(number);
        mix(self.seed.wrapping_add(mix(mix(call) ^ place))) % count.max(1)
    }
}

/// Mixes the bits of a word by a bijection, the finalizer of SplitMix64.
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Sampled elements of an output: those of the first sampled call of a block, then those of the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledOutput {
    /// Position among the returned values.
    pub index: u32,
    /// Type of the elements.
    pub dtype: DType,
    /// Number of elements of the output in each call.
    pub count: u64,
    /// The bytes of the elements, in hexadecimal.
    pub values: String,
}

impl SampledOutput {
    /// Returns the bytes; `None` if the text is not hexadecimal.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let (pairs, rest) = self.values.as_bytes().as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8; 2]| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok();
        if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_elements_are_chosen_evenly() {
        let rule = SampleRule { seed: 7, every: 4, elements: 8 };
        let taken = (0..4000).filter(|&call| rule.takes(call)).count();
        assert!((850..1150).contains(&taken), "{taken}");
        let mut seen = [0; 5];
        for call in 0..1000 {
            for number in 0..rule.elements {
                seen[rule.element(call, 0, number, 5) as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| (1450..1750).contains(count)), "{seen:?}");
        let other = SampleRule { seed: 8, ..rule };
        assert!((0..100).any(|call| rule.takes(call) != other.takes(call)));
        assert!((0..100).all(|call| SampleRule { every: 1, ..rule }.takes(call)));
    }

    #[test]
    fn values_are_hexadecimal() {
        let output =
            |values: &str| SampledOutput { index: 0, dtype: DType::UInt8, count: 3, values: values.to_owned() };
        assert_eq!(output("00ff1A").bytes(), Some(vec![0, 255, 26]));
        assert_eq!((output("0").bytes(), output("0g").bytes()), (None, None));
    }
}
