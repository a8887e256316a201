//! Comparison of a candidate's values with the reference's.
//!
//! One pass over the data determines whether two tensors are equal, and the smallest tolerance at which they are close. The meaning is
//! exactly that of `torch.equal` and `torch.allclose` on a CPU. `torch.isclose(c, e)` holds where `c == e`, or where `|c - e|` is finite
//! and `|c - e| <= atol + |rtol * e|`, every operation rounded to the dtype. Adversarial contents are compared by looser rules, and a
//! float64 result can decide which of two results is better. The crate never decides a verdict, and it knows no graphs.
//!
//! ```
//! use passnet_compare::compare;
//! use passnet_record::DType;
//!
//! let [one, close] = [1.0_f32, 1.0001].map(f32::to_ne_bytes);
//! let found = compare(DType::Float32, &close, &one, -3);
//! assert!(!found.equal);
//! assert_eq!(found.tolerance, Some(-4));
//! ```

mod columns;
mod element;
mod float64;
mod independent;
mod loose;
mod parts;
mod vanishing;

pub use columns::vanishing_column;
use element::{Complex, Element, Ladder};
pub use element::{FIRST_TOLERANCE, LAST_TOLERANCE};
pub use float64::{MARGIN, against_float64, rounded};
use half::{bf16, f16};
pub use independent::with_independent;
pub use loose::{Exceptional, LooseFailure, LooseTerms, NOISE, loose_bound, loosely_close, near_bound};
use parts::{in_parts, largest_magnitude};
use passnet_record::DType;
pub use vanishing::{VanishingTerms, vanishing_difference};

/// Agreement of one tensor with its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorComparison {
    /// Smallest tolerance at which `torch.allclose` holds; `None` if it holds at none.
    pub tolerance: Option<i32>,
    /// Result of `torch.equal`.
    pub equal: bool,
    /// Largest absolute difference; `None` where an element differs by NaN or infinity.
    pub max_abs_diff: Option<f64>,
    /// Largest difference relative to the reference's magnitude, over elements whose reference is not zero; `None` in the same cases as
    /// `max_abs_diff`.
    pub max_rel_diff: Option<f64>,
    /// The element with the largest absolute difference. A difference of NaN counts as the largest.
    pub worst: Option<Worst>,
    /// Number of elements that are not close at the demanded tolerance.
    pub mismatched: u64,
    /// Number of elements that are NaN or infinite where the reference is finite.
    pub non_finite: u64,
}

/// One element, for messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// Flat row-major index.
    pub index: u64,
    /// The candidate's value.
    pub candidate: String,
    /// The reference's value.
    pub reference: String,
    distance: f64,
}

impl TensorComparison {
    /// Returns the comparison of no elements.
    const NOTHING: Self = Self {
        tolerance: Some(FIRST_TOLERANCE),
        equal: true,
        max_abs_diff: Some(0.0),
        max_rel_diff: Some(0.0),
        worst: None,
        mismatched: 0,
        non_finite: 0,
    };

    /// Merges the comparisons of two parts of a tensor.
    fn join(self, other: Self) -> Self {
        Self {
            tolerance: self.tolerance.zip(other.tolerance).map(|(a, b)| a.max(b)),
            equal: self.equal && other.equal,
            max_abs_diff: self.max_abs_diff.zip(other.max_abs_diff).map(|(a, b)| a.max(b)),
            max_rel_diff: self.max_rel_diff.zip(other.max_rel_diff).map(|(a, b)| a.max(b)),
            worst: worse(self.worst, other.worst),
            mismatched: self.mismatched + other.mismatched,
            non_finite: self.non_finite + other.non_finite,
        }
    }

    /// Merges the comparisons of two rounds. Each field is the worse one of both.
    #[must_use]
    pub fn worst_of(self, other: Self) -> Self {
        let mismatched = self.mismatched.max(other.mismatched);
        let non_finite = self.non_finite.max(other.non_finite);
        Self { mismatched, non_finite, ..self.join(other) }
    }
}

fn worse(first: Option<Worst>, second: Option<Worst>) -> Option<Worst> {
    match (first, second) {
        (Some(a), Some(b)) => Some(if b.distance > a.distance { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Compares two contiguous blocks of elements of one type; `correct_at` is the tolerance that mismatches are counted for. The caller has
/// to check that both blocks have the same length; surplus elements are not compared.
pub fn compare(dtype: DType, candidate: &[u8], reference: &[u8], correct_at: i32) -> TensorComparison {
    match dtype {
        DType::Float64 => compare_all::<f64>(dtype, candidate, reference, correct_at),
        DType::Float32 => compare_all::<f32>(dtype, candidate, reference, correct_at),
        DType::Float16 => compare_all::<f16>(dtype, candidate, reference, correct_at),
        DType::BFloat16 => compare_all::<bf16>(dtype, candidate, reference, correct_at),
        DType::Int64 => compare_all::<i64>(dtype, candidate, reference, correct_at),
        DType::Int32 => compare_all::<i32>(dtype, candidate, reference, correct_at),
        DType::Int16 => compare_all::<i16>(dtype, candidate, reference, correct_at),
        DType::Int8 => compare_all::<i8>(dtype, candidate, reference, correct_at),
        DType::UInt8 | DType::Bool => compare_all::<u8>(dtype, candidate, reference, correct_at),
        DType::Complex64 => compare_all::<Complex<f32>>(dtype, candidate, reference, correct_at),
        DType::Complex128 => compare_all::<Complex<f64>>(dtype, candidate, reference, correct_at),
    }
}

fn compare_all<E: Element>(dtype: DType, candidate: &[u8], reference: &[u8], correct_at: i32) -> TensorComparison {
    let ladder = Ladder::<E>::new(dtype);
    let demanded = usize::try_from(correct_at.min(LAST_TOLERANCE) - FIRST_TOLERANCE).ok();
    let bytes = candidate.len().min(reference.len());
    in_parts::<E, _>(bytes, |part| {
        let first = (part.start / size_of::<E>()) as u64;
        compare_part(&ladder, &candidate[part.clone()], &reference[part], demanded, first)
    })
    .into_iter()
    .fold(TensorComparison::NOTHING, TensorComparison::join)
}

fn compare_part<E: Element>(
    ladder: &Ladder<E>,
    candidate: &[u8],
    reference: &[u8],
    demanded: Option<usize>,
    first_index: u64,
) -> TensorComparison {
    let mut result = TensorComparison::NOTHING;
    let mut rung = Some(0);
    let (mut max_abs, mut max_rel) = (0.0_f64, 0.0_f64);
    let mut worst: Option<(u64, E, E, f64)> = None;
    for (index, (c, e)) in (first_index..).zip(E::elements(candidate).zip(E::elements(reference))) {
        // In most comparisons almost all elements are equal, and equal elements need no further check.
        if c.equal(e) {
            continue;
        }
        result.equal = false;
        // The search begins at the rung found so far, because the tolerance of a tensor is that of its worst element.
        rung = rung.and_then(|rung| ladder.first_close(c, e, rung));
        if !demanded.is_some_and(|demanded| ladder.close_at(c, e, demanded)) {
            result.mismatched += 1;
        }
        let distance = c.distance(e);
        if distance.is_finite() {
            max_abs = max_abs.max(distance);
            if e.magnitude() > 0.0 {
                max_rel = max_rel.max(distance / e.magnitude());
            }
        } else {
            max_abs = f64::INFINITY;
            result.non_finite += u64::from(e.magnitude().is_finite());
        }
        let distance = if distance.is_nan() { f64::INFINITY } else { distance };
        if worst.as_ref().is_none_or(|&(.., largest)| distance > largest) {
            worst = Some((index, c, e, distance));
        }
    }
    result.tolerance = rung.map(|rung| FIRST_TOLERANCE + rung as i32);
    result.max_abs_diff = max_abs.is_finite().then_some(max_abs);
    result.max_rel_diff = max_abs.is_finite().then_some(max_rel);
    result.worst =
        worst.map(|(index, c, e, distance)| Worst { index, candidate: c.text(), reference: e.text(), distance });
    result
}

/// Returns the largest magnitude among the finite elements of a block; `None` for types that are not floating-point numbers.
pub fn largest(dtype: DType, values: &[u8]) -> Option<f64> {
    match dtype {
        DType::Float64 => Some(largest_magnitude::<f64>(values)),
        DType::Float32 => Some(largest_magnitude::<f32>(values)),
        DType::Float16 => Some(largest_magnitude::<f16>(values)),
        DType::BFloat16 => Some(largest_magnitude::<bf16>(values)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{parts::PARALLEL_BYTES, *};

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn the_smallest_tolerance_is_that_of_the_worst_element() {
        let reference = bytes(&[1.0, 2.0, 3.0, 4.0]);
        let candidate = bytes(&[1.0, 2.0 + 1e-4, 3.0, 4.001]);
        let comparison = compare(DType::Float32, &candidate, &reference, -5);
        assert_eq!(comparison.tolerance, Some(-3));
        assert_eq!((comparison.equal, comparison.mismatched), (false, 2));
        assert_eq!(comparison.worst.map(|worst| worst.index), Some(3));
        assert!((comparison.max_abs_diff.unwrap() - 1e-3).abs() < 1e-6);
    }

    #[test]
    fn nan_is_close_to_nothing_and_infinity_only_to_itself() {
        let reference = bytes(&[f32::INFINITY, f32::NAN]);
        let own = compare(DType::Float32, &reference, &reference, -5);
        assert_eq!((own.tolerance, own.equal, own.mismatched, own.non_finite), (None, false, 1, 0));
        let infinities = compare(DType::Float32, &reference[..4], &reference[..4], -5);
        assert_eq!((infinities.tolerance, infinities.equal), (Some(-10), true));
        let wrong = compare(DType::Float32, &bytes(&[f32::INFINITY, 1.0]), &bytes(&[1.0, f32::INFINITY]), -5);
        assert_eq!((wrong.tolerance, wrong.non_finite, wrong.max_abs_diff), (None, 1, None));
    }

    #[test]
    fn exact_types_know_no_tolerance() {
        let (a, b) = (7_i64.to_ne_bytes(), 8_i64.to_ne_bytes());
        assert_eq!(compare(DType::Int64, &a, &b, 5).tolerance, None);
        assert_eq!(compare(DType::Int64, &a, &a, 5).tolerance, Some(FIRST_TOLERANCE));
        assert_eq!(compare(DType::Int64, &a, &b, 5).max_abs_diff, Some(1.0));
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let reference = vec![0_u8; PARALLEL_BYTES + 4096];
        let mut candidate = reference.clone();
        let last = candidate.len() - 4;
        candidate[last..].copy_from_slice(&1.0_f32.to_ne_bytes());
        let comparison = compare(DType::Float32, &candidate, &reference, -5);
        assert_eq!(comparison.tolerance, Some(0));
        assert_eq!(comparison.worst.unwrap().index, last as u64 / 4);
        assert_eq!(comparison.mismatched, 1);
    }
}
