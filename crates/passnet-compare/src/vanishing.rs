//! Differences in rows that are so small that the absolute part of a tolerance would accept zeros.
//!
//! Layers that begin with a scale of 1e-6, or rows of small inputs, have such values. The tolerance cannot judge them, and neither can the
//! float64 result of a whole tensor, whose largest rows decide. Rows of similar magnitudes are therefore judged together, in proportion.

use std::collections::BTreeMap;

use half::{bf16, f16};
use passnet_record::DType;

use crate::{
    element::Element,
    loose::{ABOVE_MOST, NOISE, typical},
    parts::largest_magnitude,
};

/// Least number of elements that are judged together. Of a few elements, eager may be exact by chance.
const LEAST_ELEMENTS: u64 = 16;
/// Number of rounding errors of ordinary values that a small result may have.
const ROUNDINGS: f64 = 4.0;

/// Conditions under which small elements are wrong although a tolerance accepts them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VanishingTerms {
    /// Absolute part of the tolerance.
    pub atol: f64,
    /// Allowed difference relative to the magnitude of a row.
    pub relative: f64,
    /// Magnitude of values that a kernel may compute on the way. `2 * sigmoid(2 * x) - 1`, for instance, has the rounding errors of values
    /// near 1, and `tanh(x)` has not.
    pub ordinary: f64,
}

/// Returns the flat index of an element of a vanishing row that is not close in proportion to its row; `None` if there is none, and for exact
/// types.
///
/// A row has `width` elements. It vanishes if at most a tenth of its elements exceeds a quarter of `atol`. With `float64`, whose elements
/// are `f64`, the distances from it are compared: that of the candidate may be [`NOISE`] times that of eager. Without `float64`, any difference
/// from `eager` counts. All blocks must have the same number of elements.
pub fn vanishing_difference(
    dtype: DType,
    candidate: &[u8],
    eager: &[u8],
    float64: Option<&[u8]>,
    width: u64,
    terms: VanishingTerms,
) -> Option<u64> {
    // Numbers near the smallest normal one have few digits, or become zero on some devices.
    let rule = |least, epsilon| Rule { terms, least, epsilon };
    let (least, epsilon) = (1e-30, f64::from(f32::EPSILON));
    match dtype {
        DType::Float64 => rule(least, f64::EPSILON).search::<f64>(candidate, eager, float64, width),
        DType::Float32 => rule(least, epsilon).search::<f32>(candidate, eager, float64, width),
        DType::Float16 => rule(1e-6, epsilon).search::<f16>(candidate, eager, float64, width),
        DType::BFloat16 => rule(least, epsilon).search::<bf16>(candidate, eager, float64, width),
        _ => None,
    }
}

/// Rows whose magnitudes have the same power of two.
#[derive(Default)]
struct Group {
    elements: u64,
    scale: f64,
    /// Largest magnitude of these rows, with the elements that are not small.
    largest: f64,
    /// Largest distance of eager.
    eager: f64,
    /// Largest distance of the candidate, and where it is.
    candidate: (f64, u64),
}

struct Rule {
    terms: VanishingTerms,
    /// Magnitude below which rows are not judged.
    least: f64,
    epsilon: f64,
}

impl Rule {
    fn search<E: Element>(&self, candidate: &[u8], eager: &[u8], float64: Option<&[u8]>, width: u64) -> Option<u64> {
        let size = usize::try_from(width).ok().filter(|&width| width > 0)?;
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        let rows = candidate.chunks(size * size_of::<E>()).zip(eager.chunks(size * size_of::<E>()));
        for (row, (candidate, eager)) in rows.enumerate().filter(|(_, (candidate, eager))| candidate != eager) {
            let Some((scale, largest)) = self.vanishing_scale::<E>(eager) else { continue };
            let group = groups.entry(scale.to_bits() >> (f64::MANTISSA_DIGITS - 1)).or_default();
            group.scale = group.scale.max(scale);
            group.largest = group.largest.max(largest);
            let truth = float64.and_then(|truth| truth.get(row * size * size_of::<f64>()..)).map(f64::elements);
            self.enter::<E>(group, (candidate, eager), truth, (row * size) as u64);
        }
        let mut wrong = groups.into_values().filter(|group| self.is_wrong(group)).peekable();
        wrong.peek()?;
        let ordinary = typical::<E>(eager).min(largest_magnitude::<E>(eager)).max(self.terms.ordinary);
        let is_wrong = |group: &Group| group.candidate.0 > ROUNDINGS * self.epsilon * ordinary.max(group.largest);
        wrong.find(is_wrong).map(|group| group.candidate.1)
    }

    /// Returns a magnitude that most elements of a row do not exceed, and the largest one; `None` if the row does not vanish.
    fn vanishing_scale<E: Element>(&self, row: &[u8]) -> Option<(f64, f64)> {
        let magnitudes = || E::elements(row).map(E::magnitude).filter(|magnitude| *magnitude > 0.0);
        let (mut count, mut above, mut largest) = (0_usize, 0_usize, 0.0_f64);
        for magnitude in magnitudes().filter(|magnitude| magnitude.is_finite()) {
            count += 1;
            above += usize::from(magnitude * ABOVE_MOST >= self.terms.atol);
            largest = largest.max(magnitude);
        }
        if count == 0 || (largest >= self.terms.atol && above * 10 > count) {
            return None;
        }
        let mut all: Vec<f64> = magnitudes().filter(|magnitude| magnitude.is_finite()).collect();
        let usual = *all.select_nth_unstable_by(count * 9 / 10, f64::total_cmp).1;
        let scale = largest.min(ABOVE_MOST * usual);
        (scale > self.least).then_some((scale, largest))
    }

    /// Adds the small elements of a row that begins at the flat index `first`.
    fn enter<E: Element>(
        &self,
        group: &mut Group,
        (candidate, eager): (&[u8], &[u8]),
        mut truth: Option<impl Iterator<Item = f64>>,
        first: u64,
    ) {
        for ((c, e), index) in E::elements(candidate).zip(E::elements(eager)).zip(first..) {
            let truth = truth.as_mut().and_then(Iterator::next);
            // The tolerance judges the other elements, and those that are not finite.
            if e.magnitude() >= self.terms.atol || !c.distance(e).is_finite() {
                continue;
            }
            let (of_candidate, of_eager) = match truth {
                Some(truth) => (c.distance_from(truth), e.distance_from(truth)),
                None => (c.distance(e), 0.0),
            };
            if !of_eager.is_finite() {
                continue;
            }
            group.elements += 1;
            group.eager = group.eager.max(of_eager);
            if of_candidate > group.candidate.0 {
                group.candidate = (of_candidate, index);
            }
        }
    }

    fn is_wrong(&self, group: &Group) -> bool {
        let allowed = (self.terms.relative * group.scale).max(NOISE * group.eager);
        group.elements >= LEAST_ELEMENTS && group.candidate.0 > allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: VanishingTerms = VanishingTerms { atol: 1e-5, relative: 1e-3, ordinary: 0.0 };

    fn bytes(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect()
    }

    /// Rows of 32 elements of these magnitudes, with both signs.
    fn rows(scales: &[f64]) -> Vec<f64> {
        let row = |scale: &f64| (0..32).map(|i| scale * f64::from(i % 7 - 3) / 3.0).collect::<Vec<f64>>();
        scales.iter().flat_map(row).collect()
    }

    fn search(candidate: &[f64], eager: &[f64], truth: &[f64], terms: VanishingTerms) -> [Option<u64>; 2] {
        let truth: Vec<u8> = truth.iter().flat_map(|value| value.to_ne_bytes()).collect();
        [None, Some(truth.as_slice())]
            .map(|truth| vanishing_difference(DType::Float32, &bytes(candidate), &bytes(eager), truth, 32, terms))
    }

    #[test]
    fn zeros_in_small_rows_are_wrong() {
        let (eager, zeros) = (rows(&[1.0, 6e-6, 1e-9]), rows(&[1.0, 0.0, 1e-9]));
        assert_eq!(search(&zeros, &eager, &eager, TERMS), [Some(32), Some(32)]);
        // A kernel that computes with values near 1 may have such differences.
        let small = rows(&[1.0, 6e-6, 0.0]);
        assert_eq!(search(&small, &eager, &eager, TERMS), [None, None]);
        // Where all rows are small, nothing was near 1.
        let (eager, half) = (rows(&[4e-7, 4e-7, 1e-9]), rows(&[4e-7, 2e-7, 1e-9]));
        assert_eq!(search(&half, &eager, &eager, TERMS), [Some(32), Some(32)]);
        let scaled = VanishingTerms { ordinary: 1.0, ..TERMS };
        assert_eq!(search(&half, &eager, &eager, scaled), [None, None]);
    }

    #[test]
    fn few_large_elements_do_not_excuse_a_row() {
        let (mut eager, mut zeros) = (rows(&[1.0, 2e-6]), rows(&[1.0, 0.0]));
        (eager[40], zeros[40]) = (0.5, 0.5);
        assert_eq!(search(&zeros, &eager, &eager, TERMS), [Some(32), Some(32)]);
        let usual = rows(&[1.0, 1.0]);
        assert_eq!(search(&rows(&[1.0, 1.000_001]), &usual, &usual, TERMS), [None, None]);
    }

    #[test]
    fn noise_of_eager_excuses_the_candidate() {
        let (truth, eager) = (rows(&[1.0, 6e-6]), rows(&[1.0, 7e-6]));
        let candidate = rows(&[1.0, 0.0]);
        assert_eq!(search(&candidate, &eager, &truth, TERMS), [Some(32), None]);
    }

    #[test]
    fn exact_types_and_empty_tensors_have_no_small_rows() {
        let (one, two) = (1_i64.to_ne_bytes(), 2_i64.to_ne_bytes());
        assert_eq!(vanishing_difference(DType::Int64, &one, &two, None, 1, TERMS), None);
        assert_eq!(vanishing_difference(DType::Float32, &[], &[], None, 0, TERMS), None);
    }
}
