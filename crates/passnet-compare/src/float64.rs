//! Distance of both sides from the graph computed in float64.
//!
//! A candidate that differs from eager mode may be more accurate: a fused kernel keeps intermediate values that eager mode rounds. The
//! float64 result decides which of the two is better. `docs/reference/referee.md` states the rule.

use half::{bf16, f16};
use passnet_record::{AgainstFloat64, DType, Deviation};

use crate::{
    element::{Element, FIRST_TOLERANCE, Ladder},
    loose::{floor, loose_bound},
};

/// Factor by which a candidate may be further from float64 than eager is, because results of equal quality differ by chance. It applies
/// to the largest distance, to the mean distance, and to the number of elements outside the tolerance.
pub const MARGIN: f64 = 1.5;

/// Compares both sides of an output with the float64 result, whose elements are `f64`. Returns `None` for types that are not
/// floating-point types, and for blocks of different lengths.
pub fn against_float64(
    dtype: DType,
    candidate: &[u8],
    eager: &[u8],
    float64: &[u8],
    correct_at: i32,
) -> Option<AgainstFloat64> {
    let elements = eager.len() / dtype.size();
    if candidate.len() != eager.len() || float64.len() != elements * size_of::<f64>() {
        return None;
    }
    match dtype {
        DType::Float64 => Some(judge::<f64>(dtype, candidate, eager, float64, correct_at)),
        DType::Float32 => Some(judge::<f32>(dtype, candidate, eager, float64, correct_at)),
        DType::Float16 => Some(judge::<f16>(dtype, candidate, eager, float64, correct_at)),
        DType::BFloat16 => Some(judge::<bf16>(dtype, candidate, eager, float64, correct_at)),
        _ => None,
    }
}

/// Returns float64 values, or complex128 values, rounded to a floating-point or complex type; `None` for other types.
pub fn rounded(dtype: DType, float64: &[u8]) -> Option<Vec<u8>> {
    fn all<E: Rounded>(float64: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(float64.len() / size_of::<f64>() * size_of::<E>());
        f64::elements(float64).for_each(|value| E::of(value).append(&mut bytes));
        Some(bytes)
    }
    match dtype {
        DType::Float64 | DType::Complex128 => Some(float64.to_vec()),
        DType::Float32 | DType::Complex64 => all::<f32>(float64),
        DType::Float16 => all::<f16>(float64),
        DType::BFloat16 => all::<bf16>(float64),
        _ => None,
    }
}

/// A type that float64 values are rounded to.
trait Rounded: Element {
    fn of(value: f64) -> Self;
    fn append(self, bytes: &mut Vec<u8>);
    fn value(self) -> f64;
}

macro_rules! rounded {
    ($float:ty, $from:expr, $to:expr) => {
        impl Rounded for $float {
            fn of(value: f64) -> Self {
                $from(value)
            }

            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }

            fn value(self) -> f64 {
                $to(self)
            }
        }
    };
}

rounded!(f64, |value| value, |value| value);
rounded!(f32, |value| value as f32, f64::from);
rounded!(f16, f16::from_f64, f16::to_f64);
rounded!(bf16, bf16::from_f64, bf16::to_f64);

/// Sums of the distances of one side.
#[derive(Clone, Copy, Default)]
struct Sum {
    max: f64,
    squares: f64,
    outside: u64,
}

impl Sum {
    fn add(&mut self, distance: f64, is_close: bool) {
        self.max = self.max.max(distance);
        self.squares += distance * distance;
        self.outside += u64::from(!is_close);
    }

    fn deviation(self, elements: u64) -> Deviation {
        let finite = |value: f64| value.is_finite().then_some(value);
        let rms = (self.squares / elements.max(1) as f64).sqrt();
        Deviation { max: finite(self.max), rms: finite(rms), outside: self.outside }
    }
}

fn judge<E: Rounded>(dtype: DType, candidate: &[u8], eager: &[u8], float64: &[u8], correct_at: i32) -> AgainstFloat64 {
    let ladder = Ladder::<E>::new(dtype);
    let rung = usize::try_from(correct_at - FIRST_TOLERANCE).unwrap_or(0);
    let close = |value: E, truth: E| value.equal(truth) || ladder.close_at(value, truth, rung);
    let distance = |value: E, truth: f64| {
        let distance = (value.value() - truth).abs();
        if distance.is_nan() { f64::INFINITY } else { distance }
    };
    let (mut of_candidate, mut of_eager) = (Sum::default(), Sum::default());
    let (mut elements, mut scale, mut same_kind) = (0, 0.0_f64, true);
    let sides = E::elements(candidate).zip(E::elements(eager));
    for ((c, e), truth) in sides.zip(f64::elements(float64)) {
        let nearest = E::of(truth);
        elements += 1;
        if !nearest.magnitude().is_finite() || (c.agrees(e) && !c.magnitude().is_finite()) {
            // NaN and infinity have no distance: they are right only if they agree with eager or with float64.
            same_kind &= c.agrees(e) || c.agrees(nearest);
            continue;
        }
        scale = scale.max(truth.abs());
        of_candidate.add(distance(c, truth), close(c, nearest));
        of_eager.add(distance(e, truth), close(e, nearest));
    }
    let (candidate, eager) = (of_candidate.deviation(elements), of_eager.deviation(elements));
    // Without a cap, a candidate could be as wrong as eager mode is where eager loses all digits.
    let cap = loose_bound(dtype).map_or(0.0, |bound| floor(dtype).max(bound * scale));
    let accepted = same_kind && of_candidate.max <= cap && is_no_worse(&candidate, &eager);
    AgainstFloat64 { eager, candidate, accepted }
}

/// Returns whether the candidate is at least as close as eager, up to [`MARGIN`].
fn is_no_worse(candidate: &Deviation, eager: &Deviation) -> bool {
    // A distance that is not finite is worse than any other.
    let within = |candidate: Option<f64>, eager: Option<f64>| match (candidate, eager) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(candidate), Some(eager)) => candidate <= MARGIN * eager,
    };
    within(candidate.max, eager.max)
        && within(candidate.rms, eager.rms)
        && candidate.outside as f64 <= MARGIN * eager.outside as f64
}

#[cfg(test)]
mod tests;
