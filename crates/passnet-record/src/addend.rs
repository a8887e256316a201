//! Sums of two series of drawn values, as contents of timed calls.

use half::{bf16, f16, slice::HalfFloatSliceExt as _};
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
            DType::Float16 => half_sums(values, others, bounds, out),
            DType::BFloat16 => sums::<bf16>(values, others, bounds, out),
            _ => out.copy_from_slice(values),
        }
        (done, place) = (done + bytes, 0);
    }
}

/// Types whose values are added.
trait Addable: Copy {
    /// The bytes of a value.
    type Bytes: IntoIterator<Item = u8>;

    /// Returns a rounded sum.
    fn sum(a: &Self::Bytes, b: &Self::Bytes) -> Self::Bytes;

    /// Returns a sum within the bounds.
    fn limited(sum: &Self::Bytes, low: f64, high: f64) -> Self::Bytes;

    fn chunks(bytes: &[u8]) -> &[Self::Bytes];

    fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
}

/// Returns the value, or the bound that it exceeds. Unlike `min` and `max`, comparisons keep NaN.
#[inline(always)]
fn within<N: PartialOrd>(value: N, low: N, high: N) -> N {
    let raised = if value < low { low } else { value };
    if raised > high { high } else { raised }
}

macro_rules! number {
    ($float:ty, $size:literal, $wide:ty, $widen:expr, $round:expr) => {
        impl Addable for $float {
            type Bytes = [u8; $size];

            #[inline(always)]
            fn sum(a: &[u8; $size], b: &[u8; $size]) -> [u8; $size] {
                let (a, b): ($wide, $wide) = ($widen(<$float>::from_ne_bytes(*a)), $widen(<$float>::from_ne_bytes(*b)));
                $round(a + b).to_ne_bytes()
            }

            #[inline(always)]
            fn limited(sum: &[u8; $size], low: f64, high: f64) -> [u8; $size] {
                let sum: $wide = $widen(<$float>::from_ne_bytes(*sum));
                $round(within(sum, low as $wide, high as $wide)).to_ne_bytes()
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
number!(bf16, 2, f32, wide, nearest);

/// Returns the number as a longer type. Unlike that of `half`, this function has no branch, so that loops are vectorised in every build.
#[inline(always)]
fn wide(value: bf16) -> f32 {
    f32::from_bits(u32::from(value.to_bits()) << 16)
}

/// Returns the nearest number, without a branch; the even one of two.
#[inline(always)]
fn nearest(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF_u32.wrapping_add((bits >> 16) & 1));
    // Rounding could make an infinity of NaN.
    let kept = if value.is_nan() { bits | 0x40_0000 } else { rounded };
    bf16::from_bits((kept >> 16) as u16)
}

/// Writes sums. They are computed between timed calls, so the time of an evaluation depends on this function.
#[inline]
fn sums<N: Addable>(values: &[u8], others: &[u8], (low, high): (Option<f64>, Option<f64>), out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has the features that the function is compiled for.
        #[expect(unsafe_code, reason = "a CPU feature found at run time")]
        unsafe {
            add_with_avx2::<N>(values, others, out);
        }
        return limit::<N>((low, high), out);
    }
    add_all::<N>(values, others, out);
    limit::<N>((low, high), out);
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn add_with_avx2<N: Addable>(values: &[u8], others: &[u8], out: &mut [u8]) {
    add_all::<N>(values, others, out);
}

/// Each step is one IEEE operation, so the sums do not depend on the vector instructions that the caller is compiled for.
#[inline(always)]
fn add_all<N: Addable>(values: &[u8], others: &[u8], out: &mut [u8]) {
    for ((sum, a), b) in N::chunks_mut(out).iter_mut().zip(N::chunks(values)).zip(N::chunks(others)) {
        *sum = N::sum(a, b);
    }
}

/// Limits sums to the bounds. Most inputs have none.
#[inline]
fn limit<N: Addable>((low, high): (Option<f64>, Option<f64>), out: &mut [u8]) {
    if low.is_none() && high.is_none() {
        return;
    }
    let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
    for sum in N::chunks_mut(out) {
        *sum = N::limited(sum, low, high);
    }
}

/// Adds numbers of 16 bits, a few hundred at a time: conversions of whole slices use the instructions of the CPU.
#[inline]
fn half_sums(values: &[u8], others: &[u8], bounds: (Option<f64>, Option<f64>), out: &mut [u8]) {
    const PART: usize = 256;
    let (low, high) = (bounds.0.unwrap_or(f64::NEG_INFINITY), bounds.1.unwrap_or(f64::INFINITY));
    let (mut halves, mut sums, mut addends) = ([f16::ZERO; PART], [0_f32; PART], [0_f32; PART]);
    let parts = out.chunks_mut(2 * PART).zip(values.chunks(2 * PART)).zip(others.chunks(2 * PART));
    for ((out, values), others) in parts {
        let count = out.len() / 2;
        for (bytes, wide) in [(values, &mut sums), (others, &mut addends)] {
            halves.iter_mut().zip(f16::chunks(bytes)).for_each(|(half, bytes)| *half = f16::from_ne_bytes(*bytes));
            halves[..count].convert_to_f32_slice(&mut wide[..count]);
        }
        sums.iter_mut().zip(&addends).take(count).for_each(|(sum, addend)| *sum += addend);
        halves[..count].convert_from_f32_slice(&sums[..count]);
        // Rounded sums are compared with the bounds, because a small negative sum may become a zero.
        if bounds != (None, None) {
            halves[..count].convert_to_f32_slice(&mut sums[..count]);
            let (low, high) = (low as f32, high as f32);
            sums.iter_mut().for_each(|sum| *sum = within(*sum, low, high));
            halves[..count].convert_from_f32_slice(&sums[..count]);
        }
        f16::chunks_mut(out).iter_mut().zip(&halves).for_each(|(bytes, half)| *bytes = half.to_ne_bytes());
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

    #[test]
    fn short_numbers_are_rounded_as_half_does() {
        for high in 0..=u16::MAX {
            for low in [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF] {
                let value = f32::from_bits(u32::from(high) << 16 | low);
                assert_eq!(nearest(value).to_bits(), bf16::from_f32(value).to_bits(), "{value}");
            }
            let short = bf16::from_bits(high);
            let (ours, theirs) = (wide(short), short.to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{short}");
        }
    }

    /// One sum after the other, without vectors.
    fn one_by_one<N: Addable>(values: &[u8], addend: &[u8], (low, high): (f64, f64)) -> Vec<u8> {
        let sums = N::chunks(values).iter().zip(N::chunks(addend).iter().cycle());
        sums.flat_map(|(value, addend)| N::limited(&N::sum(value, addend), low, high)).collect()
    }

    #[test]
    fn vectors_have_the_sums_of_single_values() {
        let wide: Vec<f32> =
            (0..1100).map(|number| (number as f32 * 0.37 - 150.0) * (number as f32).exp2().recip().max(0.1)).collect();
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-7, -1e-7, 65_504.0, -65_520.0, 6e-8];
        let all: Vec<f32> = wide.into_iter().chain(special).collect();
        for bounds in [(None, None), (Some(0.0), None), (None, Some(1.5)), (Some(-1.0), Some(1.0))] {
            let limits = (bounds.0.unwrap_or(f64::NEG_INFINITY), bounds.1.unwrap_or(f64::INFINITY));
            check::<f64>(DType::Float64, |value| f64::from(value).to_ne_bytes().to_vec(), &all, bounds, limits);
            check::<f32>(DType::Float32, |value| value.to_ne_bytes().to_vec(), &all, bounds, limits);
            check::<f16>(DType::Float16, |value| f16::from_f32(value).to_ne_bytes().to_vec(), &all, bounds, limits);
            check::<bf16>(DType::BFloat16, |value| bf16::from_f32(value).to_ne_bytes().to_vec(), &all, bounds, limits);
        }
    }

    fn check<N: Addable>(
        dtype: DType,
        bytes: impl Fn(f32) -> Vec<u8>,
        all: &[f32],
        bounds: (Option<f64>, Option<f64>),
        limits: (f64, f64),
    ) {
        let of = |values: &[f32]| values.iter().flat_map(|value| bytes(*value)).collect::<Vec<u8>>();
        let addend = of(&[0.1, -0.2, 1e-7, -0.0, 3.0, -1e-7, 0.0]);
        for count in [1, 7, 255, 256, 257, all.len()] {
            let values = of(&all[all.len() - count..]);
            let mut out = vec![0; values.len()];
            add(dtype, &values, &addend, 0, bounds, &mut out);
            assert_eq!(out, one_by_one::<N>(&values, &addend, limits), "{dtype:?} {count} {bounds:?}");
            // A long addend, so that whole vectors are added.
            let (addend, mut out) = (of(all), vec![0; values.len()]);
            add(dtype, &values, &addend[..], 0, bounds, &mut out);
            assert_eq!(out, one_by_one::<N>(&values, &addend, limits), "{dtype:?} {count} {bounds:?}");
        }
    }
}
