//! Judgement of rounds with adversarial contents.

use std::borrow::Cow;

use passnet_compare::{Exceptional, LooseFailure, LooseTerms, compare, loosely_close, rounded, with_independent};
use passnet_inputs::Content;
use passnet_record::{ReasonDetail, Status};

use super::{
    nan_free::OutputSet,
    pairs::{Pair, ValueOrigin},
    vanishing::vanishing_place_of,
};
use crate::{failure::Failure, worker::Returned};

const HOLD_FOR_ALL: &str = "the rewrite must hold for all inputs, not only for those like the sample's";

/// Round of adversarial inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LooseRound {
    pub(crate) content: Content,
    /// Demanded tolerance.
    pub(crate) correct_at: i32,
    /// True if the graph multiplies elements by weights of zero, so that NaN and infinities may spread.
    pub(crate) has_zero_weights: bool,
    /// Outputs whose integers are compared for inputs with NaN and infinities.
    pub(crate) defined: OutputSet,
    /// True to find out whether the float64 result is needed.
    pub(crate) is_strict: bool,
}

/// Further results of the reference that decide where the candidate differs from it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Witnesses<'a> {
    /// The result in float64.
    pub(crate) float64: Option<&'a Returned>,
    /// Results for the inputs of [`Content::FINITE`].
    pub(crate) finite: Option<&'a [Returned; 3]>,
}

/// Judges a round of adversarial inputs. If there is a float64 result, each element has to agree with it or with eager, because eager
/// itself is far off on some contents. Some contents have ordinary magnitudes: an output that is not close at the
/// demanded tolerance has a smaller bound there.
pub(crate) fn judge_loosely(
    pairs: &[Pair<'_>],
    LooseRound { content, correct_at, has_zero_weights, defined, is_strict }: LooseRound,
    Witnesses { float64, finite }: Witnesses<'_>,
) -> Result<(), Failure> {
    let exceptional = match content {
        Content::NonFinite if has_zero_weights => Exceptional::Spread,
        Content::NonFinite => Exceptional::Expected,
        _ if content.is_discrete() => Exceptional::Computed,
        _ => Exceptional::Overflow,
    };
    let all_terms = LooseTerms { exceptional, is_near: content.is_near(), is_strict };
    for pair in pairs {
        let is_defined = matches!(pair.origin, ValueOrigin::Output(output) if defined.contains(output));
        let terms = match exceptional {
            Exceptional::Expected if pair.dtype.is_int() && is_defined => {
                LooseTerms { exceptional: Exceptional::Computed, ..all_terms }
            }
            _ => all_terms,
        };
        let is_close = |pair: &Pair<'_>| {
            let tolerance = compare(pair.dtype, &pair.candidate, &pair.reference, correct_at).tolerance;
            tolerance.is_some_and(|t| t <= correct_at)
        };
        // Equal bytes are right, so no other result decides.
        if pair.candidate == pair.reference {
            continue;
        }
        let truth = float64.and_then(|wide| pair.float64(wide));
        // Without a float64 result, small differences show only that one is needed.
        if (is_strict || truth.is_some())
            && let Some((place, relative)) = vanishing_place_of(content, pair, truth.as_deref(), correct_at)
        {
            return Err(wrong_in_small_row(pair, content, place, relative));
        }
        if terms.is_near && is_close(pair) {
            continue;
        }
        let float64 = truth.and_then(|wide| rounded(pair.dtype, &wide));
        let (reference, float64) = (
            pair.with_independent(&pair.reference, finite),
            float64.map(|wide| pair.with_independent(&wide, finite).into_owned()),
        );
        loosely_close(pair.dtype, &pair.candidate, &reference, float64.as_deref(), terms)
            .map_err(|bad| wrong(pair, content, terms.exceptional, &bad))?;
    }
    Ok(())
}

impl Pair<'_> {
    /// Returns a reference in which elements have finite values where these do not depend on the inputs that are not finite.
    fn with_independent<'r>(&self, reference: &'r [u8], finite: Option<&[Returned; 3]>) -> Cow<'r, [u8]> {
        let merged = finite.and_then(|[first, second, third]| {
            let value = |returned| self.value_of(self.dtype, returned);
            let (first, second, third) = (value(first)?, value(second)?, value(third)?);
            with_independent(self.dtype, &self.candidate, reference, [&first, &second, &third])
        });
        merged.map_or(Cow::Borrowed(reference), Cow::Owned)
    }
}

fn wrong_in_small_row(pair: &Pair<'_>, content: Content, place: u64, relative: f64) -> Failure {
    let message = format!(
        "{} ({} {:?}) is wrong for `{content}` inputs at {:?}, in a row or column of values that are so small that zeros would be close too: such values \
         are judged in proportion (allowed difference {relative:.1e} of their magnitude); {HOLD_FOR_ALL}",
        pair.origin,
        pair.dtype,
        pair.shape,
        pair.place(place),
    );
    Failure::new(Status::Accuracy, "adversarial_differs", message).with_detail(detail(content))
}

fn detail(content: Content) -> ReasonDetail {
    ReasonDetail { content: Some(content.name().to_owned()), ..ReasonDetail::default() }
}

fn wrong(pair: &Pair<'_>, content: Content, exceptional: Exceptional, bad: &LooseFailure) -> Failure {
    let advice = match exceptional {
        Exceptional::Expected | Exceptional::Spread => {
            "the result must have NaN and infinities where the graph has them: `x < 0 ? 0 : x` keeps NaN, `x > 0 ? x : 0` and `fmax` \
             drop it, as does `tl.maximum` without `propagate_nan`"
        }
        Exceptional::Overflow | Exceptional::Computed => HOLD_FOR_ALL,
    };
    let message = format!(
        "{} ({} {:?}) is wrong for `{content}` inputs: at {:?} got {}, expected {} (allowed difference {:.1e}); {advice}",
        pair.origin,
        pair.dtype,
        pair.shape,
        pair.place(bad.index),
        bad.candidate,
        bad.reference,
        bad.allowed
    );
    let (status, code) = if bad.non_finite {
        (Status::NonFinite, "adversarial_non_finite")
    } else {
        (Status::Accuracy, "adversarial_differs")
    };
    Failure::new(status, code, message).with_detail(detail(content))
}
