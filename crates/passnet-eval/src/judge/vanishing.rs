//! Judgement of outputs that are so small that the absolute part of the tolerance would accept zeros.
//!
//! Deep models with random weights return such values. The tolerance cannot judge them: a wrong function is as close as the right one.

use passnet_compare::{NOISE, TensorComparison, largest};
use passnet_record::AgainstFloat64;
use passnet_score::tolerance;

use super::pairs::Pair;

/// Returns whether zeros would also be close to the reference, and the candidate is not close in proportion to the largest value.
pub(crate) fn is_close_as_zeros_are(pair: &Pair<'_>, comparison: &TensorComparison, at: i32) -> bool {
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
    float64: Option<&AgainstFloat64>,
    at: i32,
) -> bool {
    let Some(float64) = float64.filter(|float64| !float64.accepted) else { return false };
    let is_noise = match (float64.candidate.max, float64.eager.max) {
        (Some(candidate), Some(eager)) => candidate <= NOISE * eager,
        // NaN and infinity are judged by the tolerance alone.
        _ => true,
    };
    !is_noise && is_close_as_zeros_are(pair, comparison, at)
}
