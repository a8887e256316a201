//! Sums of two series of drawn values, as contents of timed calls.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::DType;

/// Values that are added to those of a window. The series repeats behind its end, and each call begins at a different value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Addend {
    /// First byte inside the block.
    pub offset: u64,
    /// Number of values.
    pub elements: u64,
    /// Lower bound of sums, a number of the type. Smaller sums are set to this bound.
    pub low: Option<f64>,
    /// Upper bound of sums, a number of the type. Larger sums are set to this bound.
    pub high: Option<f64>,
}

/// Writes to `out` the sums of `values` and of the values of `addend` from number `shift` on. Each sum is rounded once, and then limited
/// to the bounds. NaN stays NaN. `out` and `values` must have the same length, and `addend` must not be empty. Values of types without
/// addends are copied.
#[inline]
pub fn add(dtype: DType, values: &[u8], addend: &[u8], shift: u64, bounds: (Option<f64>, Option<f64>), out: &mut [u8]) {
    let size = dtype.size();
    // The addend is repeated behind its end. The runs between two ends are added one after the other, so that the inner loop has no
    // division.
    let mut place = shift as usize % (addend.len() / size).max(1) * size;
    let mut done = 0;
    while done < out.len() && !addend.is_empty() {
        let bytes = (addend.len() - place).min(out.len() - done);
        let (values, others) = (&values[done..done + bytes], &addend[place..place + bytes]);
        let out = &mut out[done..done + bytes];
        match dtype {
            DType::Float64 => sums::<f64>(values, others, bounds, out),
            DType::Float32 => sums::<f32>(values, others, bounds, out),
            DType::Float16 => sums::<f16>(values, others, bounds, out),
            DType::BFloat16 => sums::<bf16>(values, others, bounds, out),
            _ => out.copy_from_slice(values),
        }
        (done, place) = (done + bytes, 0);
    }
}

/// Types whose values are added.
trait Addable: Copy {
    /// The bytes of a value.
    type Bytes;

    fn sum(a: &Self::Bytes, b: &Self::Bytes, low: f64, high: f64) -> Self::Bytes;

    fn chunks(bytes: &[u8]) -> &[Self::Bytes];

    fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
}

macro_rules! number {
    ($float:ty, $size:literal, $wide:ty, $widen:expr, $round:expr) => {
        impl Addable for $float {
            type Bytes = [u8; $size];

            #[inline(always)]
            fn sum(a: &[u8; $size], b: &[u8; $size], low: f64, high: f64) -> [u8; $size] {
                let (a, b) = ($widen(<$float>::from_ne_bytes(*a)), $widen(<$float>::from_ne_bytes(*b)));
                let rounded: $wide = $widen($round(a + b));
                // Unlike `min` and `max`, comparisons keep NaN.
                let raised = if rounded < low as $wide { low as $wide } else { rounded };
                $round(if raised > high as $wide { high as $wide } else { raised }).to_ne_bytes()
            }

            #[inline(always)]
            fn chunks(bytes: &[u8]) -> &[[u8; $size]] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn chunks_mut(bytes: &mut [u8]) -> &mut [[u8; $size]] {
                bytes.as_chunks_mut().0
            }
        }
    };
}

number!(f64, 8, f64, |v: f64| v, |v: f64| v);
number!(f32, 4, f32, |v: f32| v, |v: f32| v);
number!(f16, 2, f32, f16::to_f32, f16::from_f32);
number!(bf16, 2, f32, bf16::to_f32, bf16::from_f32);

#[inline]
fn sums<N: Addable>(values: &[u8], others: &[u8], (low, high): (Option<f64>, Option<f64>), out: &mut [u8]) {
    let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
    for ((sum, a), b) in N::chunks_mut(out).iter_mut().zip(N::chunks(values)).zip(N::chunks(others)) {
        *sum = N::sum(a, b, low, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn addends_are_repeated_and_sums_bounded() {
        let values = bytes(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut out = vec![0; values.len()];
        add(DType::Float32, &values, &bytes(&[0.5, -10.0]), 3, (Some(-6.0), Some(5.25)), &mut out);
        assert_eq!(out, bytes(&[-6.0, 2.5, -6.0, 4.5, -5.0]));
    }

    #[test]
    fn negative_zeros_leave_every_value_as_it_is() {
        let values = bytes(&[0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 2.0]);
        let mut out = vec![0; values.len()];
        add(DType::Float32, &values, &bytes(&[-0.0]), 0, (None, None), &mut out);
        assert_eq!(out, values);
    }

    #[test]
    fn sums_of_short_types_are_rounded_once() {
        let half = |value: f32| f16::from_f32(value).to_ne_bytes();
        let mut out = [0; 2];
        add(DType::Float16, &half(2048.0), &half(1.0), 0, (None, None), &mut out);
        assert_eq!(out, half(2048.0));
        add(DType::Float16, &half(2048.0), &half(1.5), 0, (None, None), &mut out);
        assert_eq!(out, half(2050.0));
        let short = |value: f32| bf16::from_f32(value).to_ne_bytes();
        add(DType::BFloat16, &short(1.0), &short(0.0078125), 0, (None, None), &mut out);
        assert_eq!(out, short(1.0078125));
        add(DType::Int64, &[7; 8], &[9; 8], 0, (None, None), &mut [0; 8]);
    }
}
