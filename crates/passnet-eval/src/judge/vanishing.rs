//! Judgement of outputs that are so small that the absolute part of the tolerance would accept zeros.
//!
//! Deep models with random weights return such values, and so do layers that begin with a small scale. The tolerance cannot judge them: a
//! wrong function is as close as the right one. This holds for a whole tensor, and for some of its rows.

use passnet_compare::{
    NOISE, TensorComparison, VanishingTerms, largest, loose_bound, near_bound, vanishing_column, vanishing_difference,
};
use passnet_inputs::Content;
use passnet_record::AgainstFloat64;
use passnet_score::tolerance;

use super::pairs::Pair;

/// Returns whether zeros would also be close to the reference, in all rows or in some, and the candidate is not close in proportion to the
/// largest value.
pub(crate) fn is_close_as_zeros_are(pair: &Pair<'_>, comparison: &TensorComparison, at: i32) -> bool {
    is_vanishing(pair, comparison, at) || vanishing_place(pair, None, at).is_some()
}

/// [`is_close_as_zeros_are`] for a tensor as a whole.
fn is_vanishing(pair: &Pair<'_>, comparison: &TensorComparison, at: i32) -> bool {
    let Some((rtol, atol)) = tolerance(pair.dtype, at) else { return false };
    if comparison.equal {
        return false;
    }
    let Some(scale) = largest(pair.dtype, &pair.reference) else { return false };
    let in_proportion = comparison.max_abs_diff.is_some_and(|difference| difference <= (atol.min(1.0) + rtol) * scale);
    0.0 < scale && scale < atol && !in_proportion
}

/// Returns whether [`is_close_as_zeros_are`] holds and the float64 result shows that the difference is more than noise.
pub(super) fn is_wrong_though_close(
    pair: &Pair<'_>,
    comparison: &TensorComparison,
    float64: Option<(&[u8], &AgainstFloat64)>,
    at: i32,
) -> bool {
    let Some((truth, float64)) = float64 else { return false };
    let is_noise = match (float64.candidate.max, float64.eager.max) {
        (Some(candidate), Some(eager)) => candidate <= NOISE * eager,
        // NaN and infinity are judged by the tolerance alone.
        _ => true,
    };
    (!float64.accepted && !is_noise && is_vanishing(pair, comparison, at))
        || vanishing_place(pair, Some(truth), at).is_some()
}

/// Returns the flat index of an element of a small row, or of a small column, that is not close in proportion to it.
fn vanishing_place(pair: &Pair<'_>, float64: Option<&[u8]>, at: i32) -> Option<u64> {
    let (rtol, atol) = tolerance(pair.dtype, at)?;
    let terms = VanishingTerms { atol, relative: atol.min(1.0) + rtol, ordinary: 0.0 };
    search(pair, float64, terms)
}

/// Returns [`vanishing_place`] for a round of adversarial inputs, and the allowed difference relative to the row. Contents of far magnitudes
/// are not judged, nor are zeros: the results for them are often rounding noise.
pub(super) fn vanishing_place_of(
    content: Content,
    pair: &Pair<'_>,
    float64: Option<&[u8]>,
    at: i32,
) -> Option<(u64, f64)> {
    let (rtol, atol) = tolerance(pair.dtype, at)?;
    if content.is_far() || content == Content::Zeros {
        return None;
    }
    let bound = if content.is_near() { near_bound(pair.dtype) } else { loose_bound(pair.dtype) };
    let relative = bound?.max(atol.min(1.0) + rtol);
    // With small inputs, honest kernels compute with values near 1 and return small ones.
    let ordinary = if content == Content::Scaled { 1.0 } else { 0.0 };
    search(pair, float64, VanishingTerms { atol, relative, ordinary }).map(|place| (place, relative))
}

fn search(pair: &Pair<'_>, float64: Option<&[u8]>, terms: VanishingTerms) -> Option<u64> {
    let width = pair.shape.last().copied().unwrap_or(1);
    [vanishing_difference, vanishing_column]
        .into_iter()
        .find_map(|find| find(pair.dtype, &pair.candidate, &pair.reference, float64, width, terms))
}
