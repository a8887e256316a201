//! Values of integers that are neither indices nor sizes.

use passnet_record::{DType, TensorMeta};

use crate::{content::Content, facts::GraphFacts, quantities::Use};

/// Base-2 logarithm of magnitudes of which products with small numbers are in the range of 64 bits.
const LARGE: u32 = 30;
/// Base-2 logarithm of magnitudes for functions of floating-point numbers. Larger numbers would hide differences of all other elements.
const MODERATE: u32 = 12;

/// Integers that an input gets in a content.
pub(crate) struct Quantities {
    dtype: DType,
    /// Base-2 logarithm of the largest magnitude.
    exponent: u32,
    /// Integers of the graph, and their neighbours, in the range of the input.
    constants: Vec<i64>,
    range: (i64, i64),
}

impl Quantities {
    /// Returns the integers of an input; `None` if it has two bounds, or may be an index or a size.
    pub(crate) fn of(meta: &TensorMeta, content: Content, facts: &GraphFacts) -> Option<Self> {
        let quantity = facts.quantities.iter().find(|quantity| quantity.name == meta.name)?;
        if meta.min_val.is_some() && meta.max_val.is_some() {
            return None;
        }
        // The largest numbers hide differences of the others in outputs of floating-point numbers, so not all contents have them.
        let exponent = match (quantity.usage, content) {
            (Use::Whole, Content::Divided) => u32::MAX,
            (Use::Whole, _) | (Use::Arithmetic, Content::Divided) => LARGE,
            _ => MODERATE,
        };
        let bits = meta.dtype.size() as u32 * 8;
        let (bits, least, most) = match meta.dtype {
            DType::UInt8 => (8, 0, 255),
            _ => (bits - 2, i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
        };
        let low = meta.min_val.map_or(least, |min| (min.ceil() as i64).clamp(least, most));
        let high = meta.max_val.map_or(most, |max| (max.floor() as i64).clamp(least, most));
        if low > high {
            return None;
        }
        let exponent = exponent.min(bits);
        let is_inside = |value: &i64| (low..=high).contains(value) && value.unsigned_abs() >> exponent.min(62) <= 1;
        let constants = facts.integers.iter().copied().filter(is_inside).collect();
        Some(Self { dtype: meta.dtype, exponent, constants, range: (low, high) })
    }

    /// Returns an integer of any magnitude and sign: a small one, one near a power of two, any other one, or one of the graph.
    pub(crate) fn value(&self, [choice, exponent, sign, offset]: [u32; 4]) -> i64 {
        let (low, high) = self.range;
        let exponent_of = |count: u32| exponent % count;
        // The lowest bits choose the sign, and literals that stay.
        let (high_word, low_word) = (sign >> 1, offset >> 1);
        let magnitude = match (choice % 4, self.constants.len()) {
            (3, count @ 1..) => return self.constants[low_word as usize % count],
            (0, _) => i64::from(exponent_of(3)),
            (1, _) => (1 << exponent_of(self.exponent + 1)) + i64::from(low_word % 3) - 1,
            _ => (i64::from(high_word) << 31 | i64::from(low_word)) % (1 << exponent_of(self.exponent + 1)),
        };
        let value = if self.dtype != DType::UInt8 && sign.is_multiple_of(2) { -magnitude } else { magnitude };
        value.clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{AllInputs, fill_among, quantities::Quantity, tests::meta};

    const WIDTH: u64 = 20_000;

    fn facts(usage: Use) -> GraphFacts {
        let quantities = vec![Quantity { name: "in_0".to_owned(), usage }];
        GraphFacts { quantities, integers: vec![1_000_003, 1_000_002, 1_000_004, 77], ..GraphFacts::default() }
    }

    fn values(meta: &TensorMeta, usage: Use, content: Content, seed: u64) -> Vec<i64> {
        let facts = facts(usage);
        let bytes = fill_among(meta, 0, seed, content, AllInputs::of(std::slice::from_ref(meta), &facts)).unwrap();
        let extended = |bytes: &[u8]| {
            let sign = meta.dtype != DType::UInt8 && bytes.last().is_some_and(|byte| byte >> 7 == 1);
            let mut whole = [if sign { 255 } else { 0 }; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            i64::from_ne_bytes(whole)
        };
        bytes.chunks(meta.dtype.size()).map(extended).collect()
    }

    /// Passes that were right for zeros and ones only, such as `x` for the power of `x`, or that computed in 32 bits, were accepted.
    #[test]
    fn quantities_have_all_magnitudes_and_both_signs() {
        for (dtype, exponents) in
            [(DType::Int64, [30, 62]), (DType::Int32, [30, 30]), (DType::Int16, [14, 14]), (DType::Int8, [6, 6])]
        {
            for (content, exponent) in [Content::Discrete, Content::Divided].into_iter().zip(exponents) {
                let shape = if content == Content::Discrete { [1, WIDTH] } else { [WIDTH, 1] };
                let found = values(&meta(dtype, &shape), Use::Whole, content, 4);
                let most = 1_i64 << exponent;
                for wanted in [-most, -most - 1, most - 1, most + 1, -2, -1, 0, 1, 7, 31, 33] {
                    assert!(found.contains(&wanted), "{dtype} {content} {wanted}");
                }
                let is_expected = |value: &i64| value.unsigned_abs() <= most.unsigned_abs() + 1 || *value == 77;
                assert!(found.iter().all(is_expected) && found.contains(&77), "{dtype} {content}");
                assert!(dtype.size() < 4 || found.contains(&1_000_003));
            }
        }
        let bytes = values(&meta(DType::UInt8, &[WIDTH]), Use::Whole, Content::Discrete, 3);
        assert!([0, 1, 127, 128, 129, 254, 255].iter().all(|value| bytes.contains(value)));
    }

    #[test]
    fn functions_of_quantities_get_moderate_ones() {
        for (usage, content, most) in [
            (Use::Function, Content::Discrete, 4097),
            (Use::Function, Content::Divided, 4097),
            (Use::Arithmetic, Content::Discrete, 4097),
            (Use::Arithmetic, Content::Divided, (1 << 30) + 1),
        ] {
            let found = values(&meta(DType::Int64, &[WIDTH]), usage, content, 3);
            assert!(found.iter().all(|value| value.abs() <= most), "{usage:?} {content}");
        }
        let found = values(&meta(DType::Int64, &[WIDTH]), Use::Function, Content::Discrete, 3);
        assert!([-4097, -1000, 4096].iter().all(|value| found.contains(value)));
    }

    #[test]
    fn half_of_the_literals_stay() {
        let data = Some((0..400).map(|index| passnet_record::TensorValue::Int(5 + index % 2)).collect());
        let literals = TensorMeta { data, ..meta(DType::Int64, &[400]) };
        let found = values(&literals, Use::Whole, Content::Discrete, 3);
        let kept = found.iter().filter(|value| [5, 6].contains(*value)).count();
        assert!((150..280).contains(&kept), "{kept}");
        assert!(found.iter().any(|value| value.abs() > 1 << 20));
    }

    proptest! {
        #[test]
        fn bounds_of_the_metadata_hold(low in -1000..1000_i64, is_low: bool, seed: u64) {
            let (min_val, max_val) = if is_low { (Some(low as f64), None) } else { (None, Some(low as f64)) };
            let meta = TensorMeta { min_val, max_val, ..meta(DType::Int64, &[9, 40]) };
            for content in [Content::Discrete, Content::Divided, Content::Columns] {
                let found = values(&meta, Use::Whole, content, seed);
                prop_assert_eq!(&found, &values(&meta, Use::Whole, content, seed));
                // Elements that do not change are zero, as in random contents.
                let is_inside = |value: &i64| *value == 0 || if is_low { *value >= low } else { *value <= low };
                prop_assert!(found.iter().all(is_inside), "{}", content);
            }
        }
    }
}
