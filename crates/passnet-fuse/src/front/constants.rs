//! Arithmetic on constants when a region is lowered, with the results of the device.
//!
//! Triton computes with constants in Python, which has other precision, and whose numbers have no methods: `(0.0 * 2.0).to(...)` does
//! not compile.

use passnet_record::DType;

use super::expr::{Binary, Unary, ValueKind};

/// A value that is known when a region is lowered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known {
    Float(f64),
    Int(i64),
    Bool(bool),
}

/// Returns the result of an operation on two floats of a kind; `None` if the devices differ in it, or the result is NaN.
pub(super) fn binary(op: Binary, a: f64, b: f64, kind: ValueKind) -> Option<Known> {
    let (a, b) = (in_kind(a, kind), in_kind(b, kind));
    if a.is_nan() || b.is_nan() {
        return None;
    }
    // For sums and products of two `float32`, the `float64` result rounded to `float32` is the `float32` result.
    let float = match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        // Exact in both kinds, as C's `fmod`.
        Binary::Rest => a % b,
        // Which zero these return is up to the device.
        Binary::Max | Binary::Min if a == b => return (a.to_bits() == b.to_bits()).then_some(Known::Float(a)),
        Binary::Max => a.max(b),
        Binary::Min => a.min(b),
        Binary::Lt => return Some(Known::Bool(a < b)),
        Binary::Le => return Some(Known::Bool(a <= b)),
        Binary::Eq => return Some(Known::Bool(a == b)),
        Binary::Ne => return Some(Known::Bool(a != b)),
        // CUDA devices multiply by the inverse of a constant.
        Binary::Div | Binary::Quotient | Binary::Pow | Binary::And | Binary::Or | Binary::Xor => return None,
    };
    let float = in_kind(float, kind);
    (!float.is_nan()).then_some(Known::Float(float))
}

/// Returns the negative or absolute value of a float; `None` for functions of a library.
pub(super) fn unary(op: Unary, of: f64) -> Option<f64> {
    match op {
        Unary::Neg => Some(-of),
        Unary::Abs => Some(of.abs()),
        _ => None,
    }
}

/// Returns whether a type is a half type, a floating-point type of 16 bits.
pub(crate) const fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}

/// Returns a float rounded to a half type; `None` if the type is none.
pub(crate) fn rounded(value: f64, dtype: DType) -> Option<f64> {
    is_half(dtype).then(|| rounded_to(in_kind(value, ValueKind::F32), dtype))
}

/// Returns a float of one arithmetic in another one; `None` if that is one of integers that lack the number.
pub(super) fn converted(value: f64, from: ValueKind, to: ValueKind) -> Option<Known> {
    let value = in_kind(value, from);
    match to {
        ValueKind::F32 | ValueKind::F64 => Some(Known::Float(in_kind(value, to))),
        ValueKind::Bool => Some(Known::Bool(value != 0.0)),
        // Casts of numbers without such an integer differ between devices.
        ValueKind::I64 => (value.abs() < 2.0_f64.powi(63)).then_some(Known::Int(value as i64)),
    }
}

/// Returns a number rounded to a half type. Numbers of other types stay.
pub(crate) fn rounded_to(value: f64, dtype: DType) -> f64 {
    // Binary digits after the first one, and the exponents of the smallest and the largest normal number.
    let (places, least, most) = match dtype {
        DType::Float16 => (10, -14, 15),
        DType::BFloat16 => (7, -126, 127),
        _ => return value,
    };
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let last = 2.0_f64.powi((value.abs().log2().floor() as i32).max(least) - places);
    let rounded = (value / last).round_ties_even() * last;
    if rounded.abs() < 2.0_f64.powi(most + 1) { rounded } else { f64::INFINITY.copysign(value) }
}

fn in_kind(value: f64, kind: ValueKind) -> f64 {
    if kind == ValueKind::F32 { f64::from(value as f32) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_arithmetic() {
        let product = binary(Binary::Mul, 0.1, 3.0, ValueKind::F32);
        assert_eq!(product, Some(Known::Float(f64::from(0.1_f32 * 3.0_f32))));
        assert_eq!(binary(Binary::Mul, 0.1, 3.0, ValueKind::F64), Some(Known::Float(0.1 * 3.0)));
        assert_eq!(binary(Binary::Mul, 1e30, 1e30, ValueKind::F32), Some(Known::Float(f64::INFINITY)));
        assert_eq!(binary(Binary::Sub, f64::INFINITY, f64::INFINITY, ValueKind::F32), None);
        assert_eq!(binary(Binary::Rest, -7.5, 2.0, ValueKind::F32), Some(Known::Float(-1.5)));
        assert_eq!(binary(Binary::Rest, 7.5, 0.0, ValueKind::F32), None);
        assert_eq!(binary(Binary::Max, 0.0, -0.0, ValueKind::F32), None);
        assert_eq!(binary(Binary::Lt, 0.1, 0.100_000_000_1, ValueKind::F32), Some(Known::Bool(false)));
    }

    #[test]
    fn numbers_are_rounded_to_half_types() {
        assert_eq!(rounded(0.1, DType::BFloat16), Some(0.100_097_656_25));
        assert_eq!(rounded(0.1, DType::Float32), None);
        assert_eq!(rounded(-65_519.0, DType::Float16), Some(-65_504.0));
        assert_eq!(rounded(65_520.0, DType::Float16), Some(f64::INFINITY));
        assert_eq!(rounded(f64::from(f32::MIN), DType::BFloat16), Some(f64::NEG_INFINITY));
        assert_eq!(rounded(f64::NEG_INFINITY, DType::Float16), Some(f64::NEG_INFINITY));
    }
}
