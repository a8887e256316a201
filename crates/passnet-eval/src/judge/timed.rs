//! Judgement of outputs of timed calls.

use passnet_compare::{against_float64, compare};

use super::{
    pairs::Pair,
    vanishing::{is_close_as_zeros_are, is_wrong_though_close},
};
use crate::worker::Returned;

/// Returns whether values need a comparison with float64: they are not close, or zeros would be close as well.
pub(crate) fn is_suspicious(pairs: &[Pair<'_>], at: i32) -> bool {
    pairs.iter().any(|pair| {
        let comparison = compare(pair.dtype, &pair.candidate, &pair.reference, at);
        let is_close = comparison.tolerance.is_some_and(|t| t <= at);
        if is_close { is_close_as_zeros_are(pair, &comparison, at) } else { is_comparable(pair, at) }
    })
}

/// Returns whether the reference equals itself, i.e. has no NaN.
fn is_comparable(pair: &Pair<'_>, at: i32) -> bool {
    compare(pair.dtype, &pair.reference, &pair.reference, at).equal
}

/// Returns a description of the first value that is not close at `at`, unless it is at least as close to float64 as the reference
/// is, or the reference is not comparable because it is not finite itself.
pub(crate) fn wrong_values(pairs: &[Pair<'_>], at: i32, wide: Option<&Returned>) -> Option<String> {
    pairs.iter().find_map(|pair| {
        let comparison = compare(pair.dtype, &pair.candidate, &pair.reference, at);
        let float64 = wide.and_then(|wide| pair.float64(wide));
        let against = float64
            .as_deref()
            .and_then(|float64| against_float64(pair.dtype, &pair.candidate, &pair.reference, float64, at));
        let is_wrong = is_wrong_though_close(pair, &comparison, float64.as_deref().zip(against.as_ref()), at);
        let is_close = comparison.tolerance.is_some_and(|t| t <= at);
        if !is_wrong && (is_close || against.is_some_and(|against| against.accepted)) {
            return None;
        }
        if !is_comparable(pair, at) {
            return None;
        }
        let mut description = format!("{} ({} {:?})", pair.origin, pair.dtype, pair.shape);
        if let Some(worst) = comparison.worst {
            let place = pair.place(worst.index);
            description.push_str(&format!(", worst at {place:?}: {} instead of {},", worst.candidate, worst.reference));
        }
        Some(description)
    })
}
