//! Element types, with the meaning of "equal" and "close" for each type.

use half::{bf16, f16};
use passnet_record::DType;
use passnet_score::tolerance;

/// First tolerance of the ladder.
pub const FIRST_TOLERANCE: i32 = -10;
/// Last tolerance of the ladder.
pub const LAST_TOLERANCE: i32 = 5;

/// Number of tolerances on the ladder.
const RUNGS: usize = (LAST_TOLERANCE - FIRST_TOLERANCE + 1) as usize;

/// One element, as it is stored in memory.
pub(crate) trait Element: Copy + Send + Sync {
    /// `(rtol, atol)` in the precision in which PyTorch applies them.
    type Bound: Copy + Default + Send + Sync;

    /// Returns the elements of a contiguous block.
    fn elements(bytes: &[u8]) -> impl Iterator<Item = Self> + '_;

    /// Returns IEEE equality: NaN is not equal to any value, and zeros of both signs are equal.
    fn equal(self, other: Self) -> bool;

    /// Returns the bounds of one tolerance; `None` where the type is compared exactly.
    fn bound(rtol: f64, atol: f64) -> Self::Bound;

    /// Returns `torch.isclose(self, reference, rtol, atol)` for elements that are not equal.
    fn close(self, reference: Self, bound: Self::Bound) -> bool;

    /// Returns |self - other| for the report; NaN or infinite where an element is NaN or infinite.
    fn distance(self, other: Self) -> f64;

    /// Returns |self - truth|. The default is for types that have no float64 result.
    fn distance_from(self, _truth: f64) -> f64 {
        f64::NAN
    }

    /// Returns |self|.
    fn magnitude(self) -> f64;

    /// Returns whether the sign of a floating-point number is negative.
    fn is_negative(self) -> bool {
        false
    }

    /// Returns whether both elements are NaN, or both are the same value.
    fn agrees(self, other: Self) -> bool {
        self.equal(other) || (self.magnitude().is_nan() && other.magnitude().is_nan())
    }

    /// Returns the element as text for messages.
    fn text(self) -> String;
}

/// The tolerances of one dtype, ready to be applied.
pub(crate) struct Ladder<E: Element>(Option<[E::Bound; RUNGS]>);

impl<E: Element> Ladder<E> {
    pub(crate) fn new(dtype: DType) -> Self {
        let mut bounds = [E::Bound::default(); RUNGS];
        for (t, bound) in (FIRST_TOLERANCE..).zip(&mut bounds) {
            let Some((rtol, atol)) = tolerance(dtype, t) else { return Self(None) };
            *bound = E::bound(rtol, atol);
        }
        Self(Some(bounds))
    }

    /// Returns whether two unequal elements are close at rung `rung` (0 is the first tolerance).
    pub(crate) fn close_at(&self, candidate: E, reference: E, rung: usize) -> bool {
        self.0.as_ref().and_then(|bounds| bounds.get(rung)).is_some_and(|&bound| candidate.close(reference, bound))
    }

    /// Returns the first rung from `from` on at which two unequal elements are close. This is a binary search, which is valid because
    /// bounds grow with the rung and rounding is monotone.
    pub(crate) fn first_close(&self, candidate: E, reference: E, from: usize) -> Option<usize> {
        let bounds = self.0.as_ref()?.get(from..)?;
        let rung = bounds.partition_point(|&bound| !candidate.close(reference, bound));
        (rung < bounds.len()).then_some(from + rung)
    }
}

/// Implements [`Element`] for IEEE types in which PyTorch computes the bound directly.
macro_rules! float {
    ($float:ty) => {
        impl Element for $float {
            type Bound = ($float, $float);

            fn elements(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
                bytes.as_chunks().0.iter().map(|&chunk| <$float>::from_ne_bytes(chunk))
            }

            fn equal(self, other: Self) -> bool {
                self == other
            }

            fn bound(rtol: f64, atol: f64) -> Self::Bound {
                (rtol as $float, atol as $float)
            }

            fn close(self, reference: Self, (rtol, atol): Self::Bound) -> bool {
                let allowed = atol + (rtol * reference).abs();
                let actual = (self - reference).abs();
                actual.is_finite() && actual <= allowed
            }

            fn distance(self, other: Self) -> f64 {
                (f64::from(self) - f64::from(other)).abs()
            }

            fn distance_from(self, truth: f64) -> f64 {
                (f64::from(self) - truth).abs()
            }

            fn magnitude(self) -> f64 {
                f64::from(self).abs()
            }

            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            fn text(self) -> String {
                format!("{self:e}")
            }
        }
    };
}

float!(f32);
float!(f64);

/// Implements [`Element`] for 16-bit types. PyTorch computes each operation in float32 and rounds the result to the type. In the product,
/// `rtol` is a float32 number; in the sum, `atol` is rounded to the type.
macro_rules! short_float {
    ($float:ty) => {
        impl Element for $float {
            type Bound = (f32, f32);

            fn elements(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
                bytes.as_chunks().0.iter().map(|&chunk| <$float>::from_ne_bytes(chunk))
            }

            fn equal(self, other: Self) -> bool {
                self == other
            }

            fn bound(rtol: f64, atol: f64) -> Self::Bound {
                (rtol as f32, <$float>::from_f64(atol).to_f32())
            }

            fn close(self, reference: Self, (rtol, atol): Self::Bound) -> bool {
                let round = |value: f32| <$float>::from_f32(value).to_f32();
                let allowed = round(round(rtol * reference.to_f32()).abs() + atol);
                let actual = round(self.to_f32() - reference.to_f32()).abs();
                actual.is_finite() && actual <= allowed
            }

            fn distance(self, other: Self) -> f64 {
                (self.to_f64() - other.to_f64()).abs()
            }

            fn distance_from(self, truth: f64) -> f64 {
                (self.to_f64() - truth).abs()
            }

            fn magnitude(self) -> f64 {
                self.to_f64().abs()
            }

            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            fn text(self) -> String {
                format!("{:e}", self.to_f32())
            }
        }
    };
}

short_float!(f16);
short_float!(bf16);

/// Implements [`Element`] for types that are compared exactly.
macro_rules! exact {
    ($int:ty) => {
        impl Element for $int {
            type Bound = ();

            fn elements(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
                bytes.as_chunks().0.iter().map(|&chunk| <$int>::from_ne_bytes(chunk))
            }

            fn equal(self, other: Self) -> bool {
                self == other
            }

            fn bound(_rtol: f64, _atol: f64) {}

            fn close(self, _reference: Self, _bound: ()) -> bool {
                false
            }

            fn distance(self, other: Self) -> f64 {
                self.abs_diff(other) as f64
            }

            fn magnitude(self) -> f64 {
                self.abs_diff(0) as f64
            }

            fn text(self) -> String {
                self.to_string()
            }
        }
    };
}

exact!(i64);
exact!(i32);
exact!(i16);
exact!(i8);
exact!(u8);

/// A complex number. It is compared exactly, as in the public scoring code.
#[derive(Clone, Copy)]
pub(crate) struct Complex<F>(F, F);

macro_rules! complex {
    ($float:ty, $size:literal) => {
        impl Element for Complex<$float> {
            type Bound = ();

            fn elements(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
                let (parts, _) = bytes.as_chunks::<$size>();
                let (pairs, _) = parts.as_chunks::<2>();
                pairs.iter().map(|&[re, im]| Self(<$float>::from_ne_bytes(re), <$float>::from_ne_bytes(im)))
            }

            fn equal(self, other: Self) -> bool {
                self.0 == other.0 && self.1 == other.1
            }

            fn bound(_rtol: f64, _atol: f64) {}

            fn close(self, _reference: Self, _bound: ()) -> bool {
                false
            }

            fn distance(self, other: Self) -> f64 {
                (f64::from(self.0) - f64::from(other.0)).hypot(f64::from(self.1) - f64::from(other.1))
            }

            fn magnitude(self) -> f64 {
                f64::from(self.0).hypot(f64::from(self.1))
            }

            /// Products of complex infinities are not unique: the C standard and the textbook formula give different results.
            fn agrees(self, other: Self) -> bool {
                self.equal(other) || !(self.magnitude().is_finite() || other.magnitude().is_finite())
            }

            fn text(self) -> String {
                format!("({:e}, {:e})", self.0, self.1)
            }
        }
    };
}

complex!(f32, 4);
complex!(f64, 8);

/// Returns the largest of some magnitudes or distances that is finite; 0 if there is none.
pub(crate) fn largest_finite(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}
