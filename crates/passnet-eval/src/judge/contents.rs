//! Judging of rounds with adversarial contents.

use passnet_record::{ReasonDetail, Status};

use super::pairs::Pair;
use crate::{
    compare::{Exceptional, LooseFailure, loosely_close, rounded},
    failure::Failure,
    inputs::Content,
    worker::Returned,
};

/// Judges a round of adversarial inputs. Where there is a float64 result, each element has to be right by it or by eager: some
/// contents drive eager itself far off.
pub(crate) fn judge_loosely(pairs: &[Pair<'_>], content: Content, wide: Option<&Returned>) -> Result<(), Failure> {
    let exceptional = if content == Content::NonFinite { Exceptional::Expected } else { Exceptional::Overflow };
    for pair in pairs {
        let float64 = wide.and_then(|wide| pair.float64(wide)).and_then(|wide| rounded(pair.dtype, &wide));
        loosely_close(pair.dtype, &pair.candidate, &pair.reference, float64.as_deref(), exceptional)
            .map_err(|bad| wrong(pair, content, exceptional, &bad))?;
    }
    Ok(())
}

fn wrong(pair: &Pair<'_>, content: Content, exceptional: Exceptional, bad: &LooseFailure) -> Failure {
    let advice = match exceptional {
        Exceptional::Expected => {
            "NaN and infinities must come out where the graph gives them: `x < 0 ? 0 : x` keeps NaN, `x > 0 ? x : 0` and `fmax` \
             drop it, as does `tl.maximum` without `propagate_nan`"
        }
        Exceptional::Overflow => "the rewrite must hold for all inputs, not only for those like the sample's",
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
    Failure::new(status, code, message)
        .with_detail(ReasonDetail { content: Some(content.name().to_owned()), ..ReasonDetail::default() })
}
