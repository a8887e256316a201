//! Agreement of outputs over the rounds that count.

use passnet_compare::{FIRST_TOLERANCE, TensorComparison, against_float64, compare};
use passnet_record::{AgainstFloat64, DType, OutputComparison, Remark, Status};

use super::{
    pairs::{Pair, ValueOrigin, unravel},
    vanishing::is_wrong_though_close,
};
use crate::{failure::Failure, worker::Returned};

/// Comparisons of the values of one round with those of eager, in order.
pub(crate) struct Agreement(Vec<TensorComparison>);

impl Agreement {
    pub(crate) fn of(pairs: &[Pair<'_>], correct_at: i32) -> Self {
        Self(pairs.iter().map(|pair| compare(pair.dtype, &pair.candidate, &pair.reference, correct_at)).collect())
    }

    /// Returns whether every value is close at a tolerance.
    pub(crate) fn is_close(&self, at: i32) -> bool {
        self.0.iter().all(|comparison| comparison.tolerance.is_some_and(|t| t <= at))
    }
}

/// Agreement over the rounds that count.
#[derive(Debug)]
pub(crate) struct RoundTally {
    correct_at: i32,
    outputs: Vec<Tallied>,
}

#[derive(Debug)]
struct Tallied {
    origin: ValueOrigin,
    dtype: DType,
    shape: Vec<u64>,
    /// Worst comparison with eager over all rounds.
    worst: TensorComparison,
    float64: Option<AgainstFloat64>,
    /// True if in every round the value was close to eager, or no worse than eager by float64.
    is_right: bool,
    /// True if in some round the value was wrong, although the comparison did not show it because zeros would be close as well.
    is_vanishing: bool,
}

impl Tallied {
    fn is_close(&self, at: i32) -> bool {
        self.worst.tolerance.is_some_and(|t| t <= at)
    }

    /// Returns the smallest tolerance at which the value counts as right. A value that float64 has accepted is right at the demanded
    /// tolerance but not at stricter tolerances, which compare with eager.
    fn tolerance(&self, correct_at: i32) -> Option<i32> {
        if self.is_right && !self.is_close(correct_at) { Some(correct_at) } else { self.worst.tolerance }
    }
}

impl RoundTally {
    /// Returns a tally without rounds.
    pub(crate) const fn new(correct_at: i32) -> Self {
        Self { correct_at, outputs: Vec::new() }
    }

    /// Returns the demanded tolerance.
    pub(crate) const fn correct_at(&self) -> i32 {
        self.correct_at
    }

    /// Returns whether no round was added yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Adds one round. `wide` has the results of the graph in float64, if they were requested.
    pub(crate) fn add(&mut self, pairs: &[Pair<'_>], agreement: Agreement, wide: Option<&Returned>) {
        for (index, (pair, mut comparison)) in pairs.iter().zip(agreement.0).enumerate() {
            let truth = wide.and_then(|wide| pair.float64(wide));
            let float64 = truth.as_deref().and_then(|truth| {
                against_float64(pair.dtype, &pair.candidate, &pair.reference, truth, self.correct_at)
            });
            let is_vanishing =
                is_wrong_though_close(pair, &comparison, truth.as_deref().zip(float64.as_ref()), self.correct_at);
            if is_vanishing {
                comparison.tolerance = None;
            }
            let is_close = comparison.tolerance.is_some_and(|t| t <= self.correct_at);
            let is_right = is_close || (!is_vanishing && float64.is_some_and(|float64| float64.accepted));
            match self.outputs.get_mut(index) {
                Some(tallied) => {
                    // A round in which float64 had to decide is preferred to one in which it did not.
                    if tallied.is_right && !is_close || tallied.float64.is_none() {
                        tallied.float64 = float64.or(tallied.float64);
                    }
                    tallied.worst = tallied.worst.clone().worst_of(comparison);
                    tallied.is_right &= is_right;
                    tallied.is_vanishing |= is_vanishing;
                }
                None => self.outputs.push(Tallied {
                    origin: pair.origin.clone(),
                    dtype: pair.dtype,
                    shape: pair.shape.clone(),
                    worst: comparison,
                    float64,
                    is_right,
                    is_vanishing,
                }),
            }
        }
    }

    /// Returns the smallest tolerance at which all values count as right; `None` if there is none.
    pub(crate) fn tolerance(&self) -> Option<i32> {
        let tolerances = self.outputs.iter().map(|tallied| tallied.tolerance(self.correct_at));
        tolerances.into_iter().try_fold(FIRST_TOLERANCE, |worst, t| Some(worst.max(t?)))
    }

    /// Returns the report per output.
    pub(crate) fn report(&self) -> Vec<OutputComparison> {
        let outputs = self.outputs.iter().enumerate().map(|(index, tallied)| OutputComparison {
            index,
            dtype: tallied.dtype,
            shape: tallied.shape.clone(),
            tolerance: tallied.worst.tolerance,
            equal: tallied.worst.equal,
            max_abs_diff: tallied.worst.max_abs_diff,
            max_rel_diff: tallied.worst.max_rel_diff,
            worst_index: tallied.worst.worst.as_ref().map(|worst| worst.index),
            mismatched: tallied.worst.mismatched,
            float64: tallied.float64,
        });
        outputs.collect()
    }

    /// Returns remarks on outputs that differ from eager's and are right by float64.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = Remark> {
        let outputs = self.outputs.iter().enumerate();
        outputs
            .filter(|(_, tallied)| tallied.is_right && !tallied.is_close(self.correct_at))
            .map(|(output, _)| Remark::AcceptedByFloat64 { output })
    }

    /// Returns the failure, if some output is not right at the demanded tolerance.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let bad = self.outputs.iter().find(|tallied| !tallied.is_right)?;
        let TensorComparison { mismatched, non_finite, worst, tolerance, .. } = &bad.worst;
        let total: u64 = bad.shape.iter().product();
        let bound = passnet_score::tolerance(bad.dtype, self.correct_at)
            .map_or("exact equality".to_owned(), |(rtol, atol)| format!("rtol {rtol:.1e} and atol {atol:.1e}"));
        let mut message = format!(
            "{} ({} {:?}): {mismatched} of {total} elements are not within {bound} (t = {})",
            bad.origin, bad.dtype, bad.shape, self.correct_at
        );
        if let Some(worst) = worst {
            let place = unravel(worst.index, &bad.shape);
            message.push_str(&format!("; worst at {place:?}: got {}, expected {}", worst.candidate, worst.reference));
        }
        if bad.is_vanishing {
            message.push_str(". Zeros would be within that, too: the difference is judged next to the largest value");
        }
        match tolerance {
            Some(t) => message.push_str(&format!(". It is close from t = {t} on")),
            None => message.push_str(". It is close at no tolerance"),
        }
        if let Some(AgainstFloat64 { eager, candidate, .. }) = &bad.float64 {
            let largest = |max: Option<f64>| max.map_or("NaN or infinity".to_owned(), |max| format!("{max:.1e}"));
            message.push_str(&format!(
                ". The graph in float64 differs from it by up to {}, from eager by up to {}",
                largest(candidate.max),
                largest(eager.max)
            ));
        }
        let (status, code) = if *non_finite > 0 {
            message.push_str(&format!("; {non_finite} elements are NaN or infinite where the reference is finite"));
            (Status::NonFinite, "non_finite")
        } else {
            (Status::Accuracy, "output_differs")
        };
        Some(Failure::new(status, code, message))
    }
}
