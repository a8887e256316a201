//! Contents in which constants have other signs and other magnitudes.
//!
//! In `varied` contents, a constant keeps its sign and about its magnitude. A pass could take the absolute value of a scale, or leave out a
//! branch that a small scale makes negligible.

use crate::{
    philox::Stream,
    real::{Real, literal},
    rule::{FloatRule, SENTINEL},
};

/// Number of kinds of elements. Each four elements have all kinds: one has the other sign, one is larger, and two are as in `varied` contents.
const KINDS: u64 = 4;
/// Least factor of a larger element, and the range of such factors.
const FACTORS: [f64; 2] = [2.0, 14.0];
/// Deviation of larger elements in place of zeros.
const ZERO: f64 = 8.0;
/// General bound of constants.
const BOUND: f64 = 100.0;
/// First groups of random words for kinds, and for single elements. The values use groups from the beginning of the stream.
const KIND_GROUPS: u64 = 1 << 61;
const ELEMENT_GROUPS: u64 = 1 << 62;

/// Changes the elements of a tensor of constants or literals that has the values of a `varied` content. A single element gets the other sign
/// and is larger.
pub(crate) fn change<R: Real>(rule: &FloatRule<'_>, stream: Stream, out: &mut [u8]) {
    let count = (out.len() / R::SIZE) as u64;
    for (index, element) in (0..count).zip(out.chunks_exact_mut(R::SIZE)) {
        let data = rule.data.and_then(|data| data.get(index as usize)).map(|value| literal(*value));
        let constant = data.unwrap_or(rule.mean);
        if constant.abs() > SENTINEL {
            continue;
        }
        let varied = R::load(element);
        let large = || {
            let [word, ..] = stream.group(ELEMENT_GROUPS + index);
            let factor = FACTORS[0] + FACTORS[1] * f64::from(word) / f64::from(u32::MAX);
            let normal = || stream.normals(ELEMENT_GROUPS + index)[2];
            if constant == 0.0 { ZERO * normal() } else { varied * factor }
        };
        let [start, ..] = stream.group(KIND_GROUPS + index / KINDS);
        // A few elements have the kinds that differ from `varied` contents.
        let kinds = if count < KINDS { 2 } else { KINDS };
        let value = match (u64::from(start) + index) % kinds {
            _ if count == 1 => of_sign(rule, -large()),
            0 if is_inside(rule, -varied) => -varied,
            0 | 1 => large(),
            _ => continue,
        };
        let bound = if data.is_some() { R::LARGE.max(constant.abs()) } else { BOUND };
        R::store(rule.within(value, 0.0, bound), element);
    }
}

/// Returns whether the bounds of the metadata admit a value.
fn is_inside(rule: &FloatRule<'_>, value: f64) -> bool {
    (rule.min..=rule.max).contains(&value)
}

/// Returns the value, or its negative if only that is within the bounds.
fn of_sign(rule: &FloatRule<'_>, value: f64) -> f64 {
    if !is_inside(rule, value) && is_inside(rule, -value) { -value } else { value }
}

#[cfg(test)]
mod tests {
    use passnet_record::{DType, TensorMeta, TensorValue};
    use proptest::prelude::*;

    use crate::{Content, fill, real::load, tests::meta};

    fn values(meta: &TensorMeta, seed: u64, content: Content) -> Vec<f64> {
        let bytes = fill(meta, seed, content).unwrap();
        bytes.chunks(meta.dtype.size()).map(|bytes| load(meta.dtype, bytes)).collect()
    }

    fn constant(mean: f64, shape: &[u64]) -> TensorMeta {
        TensorMeta { std: Some(0.0), mean: Some(mean), ..meta(DType::Float32, shape) }
    }

    /// Passes that took the absolute value of a scale, or bounded it by twice its recorded value, were accepted.
    #[test]
    fn a_quarter_of_the_constants_has_the_other_sign_and_a_quarter_is_larger() {
        for mean in [-3.0, 0.5, 1.0, 4.0] {
            let constant = constant(mean, &[400]);
            let ratios: Vec<f64> =
                values(&constant, 3, Content::Flipped).into_iter().map(|value| value / mean).collect();
            assert_eq!(ratios.iter().filter(|ratio| **ratio < 0.0).count(), 100, "{mean}");
            let large = ratios.iter().filter(|ratio| **ratio > 1.51).count();
            assert!((80..=100).contains(&large), "{mean} {large}");
            assert!(ratios.iter().all(|ratio| ratio.abs() <= 24.0));
        }
        for mean in [0.0, 1e-6] {
            let found = values(&constant(mean, &[400]), 3, Content::Flipped);
            assert!(found.iter().any(|value| *value < -1.0) && found.iter().any(|value| *value > 3.0), "{mean}");
        }
        assert!((0..20).all(|seed| values(&constant(2.0, &[]), seed, Content::Flipped)[0] < -2.0));
        let few = values(&constant(2.0, &[2]), 3, Content::Flipped);
        assert!(few.iter().any(|value| *value < 0.0) && few.iter().any(|value| *value >= 2.0), "{few:?}");
    }

    #[test]
    fn masks_and_drawn_values_stay() {
        let drawn = meta(DType::Float32, &[40]);
        assert_eq!(values(&drawn, 3, Content::Flipped), values(&drawn, 3, Content::Random));
        let data = Some((0..40).map(|index| TensorValue::Float([0.0, -3e38][index % 2])).collect());
        let mask = TensorMeta { data, ..meta(DType::Float32, &[40]) };
        let found = values(&mask, 3, Content::Flipped);
        assert!(found.iter().skip(1).step_by(2).all(|value| *value < -2.9e38));
        assert!(found.iter().step_by(2).any(|value| value.abs() > 3.0));
    }

    proptest! {
        #[test]
        fn bounds_of_the_metadata_hold(
            dtype in proptest::sample::select(vec![DType::Float16, DType::BFloat16, DType::Float32, DType::Float64]),
            mean in -20.0..20.0, low in -4.0..4.0, width in 0.0..9.0, is_literal: bool, count in 1..40_u64, seed: u64,
        ) {
            let data = is_literal.then(|| vec![TensorValue::Float(mean); count as usize]);
            let bounds = (Some(low), Some(low + width));
            let meta = TensorMeta {
                std: Some(0.0), mean: Some(mean), data, min_val: bounds.0, max_val: bounds.1, ..meta(dtype, &[count])
            };
            let found = values(&meta, seed, Content::Flipped);
            prop_assert_eq!(&found, &values(&meta, seed, Content::Flipped));
            // The bounds are rounded to the type. Literals that are as in `varied` contents have no bounds.
            let slack = 0.05;
            let varied = values(&meta, seed, Content::Varied);
            for (value, varied) in found.iter().zip(varied) {
                let is_inside = *value >= low - slack && *value <= low + width + slack;
                prop_assert!(is_inside || is_literal && *value == varied, "{} {:?}", value, bounds);
            }
        }
    }
}
