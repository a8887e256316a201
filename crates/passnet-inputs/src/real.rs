//! Floating-point types as targets of generated values.

use half::{bf16, f16};
use passnet_record::{DType, TensorValue};

/// A floating-point type. Values are computed as `f64` and rounded to the type.
pub(crate) trait Real: Send + Sync {
    /// Smallest normal number.
    const TINY: f64;
    /// Bound of the `large` content.
    const LARGE: f64;
    /// Largest value of a spike. In the wider types, every spike with a positive sign is beyond the range of `float16`.
    const SPIKE: f64;
    /// Size in bytes.
    const SIZE: usize;

    /// Returns the nearest value of the type.
    fn round(value: f64) -> f64;

    /// Reads a value; `bytes` has [`Self::SIZE`] bytes.
    fn load(bytes: &[u8]) -> f64;

    /// Writes the nearest value of the type; `out` has [`Self::SIZE`] bytes.
    fn store(value: f64, out: &mut [u8]);
}

macro_rules! real {
    ($float:ty, $size:literal, $tiny:expr, $large:literal, $spike:literal, $from:expr, $to:expr) => {
        impl Real for $float {
            const TINY: f64 = $tiny;
            const LARGE: f64 = $large;
            const SPIKE: f64 = $spike;
            const SIZE: usize = $size;

            fn round(value: f64) -> f64 {
                let rounded: $float = $from(value);
                $to(rounded)
            }

            fn load(bytes: &[u8]) -> f64 {
                let mut value = [0; $size];
                value.copy_from_slice(bytes);
                $to(<$float>::from_ne_bytes(value))
            }

            fn store(value: f64, out: &mut [u8]) {
                let rounded: $float = $from(value);
                out.copy_from_slice(&rounded.to_ne_bytes());
            }
        }
    };
}

real!(f64, 8, f64::MIN_POSITIVE, 1e4, 3e5, |v| v, |v| v);
real!(f32, 4, f32::MIN_POSITIVE as f64, 1e4, 3e5, |v| v as f32, f64::from);
real!(f16, 2, 6.103_515_625e-5, 1e3, 1e3, f16::from_f64, f16::to_f64);
real!(bf16, 2, f32::MIN_POSITIVE as f64, 1e4, 3e5, bf16::from_f64, bf16::to_f64);

/// Writes the nearest value of a floating-point type. Other types are left unchanged.
pub(crate) fn store(dtype: DType, value: f64, out: &mut [u8]) {
    match dtype {
        DType::Float64 => f64::store(value, out),
        DType::Float32 => f32::store(value, out),
        DType::Float16 => f16::store(value, out),
        DType::BFloat16 => bf16::store(value, out),
        _ => {}
    }
}

/// Returns the nearest number of a floating-point type; other types keep the value.
pub(crate) fn rounded(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::Float32 => <f32 as Real>::round(value),
        DType::Float16 => f16::round(value),
        DType::BFloat16 => bf16::round(value),
        _ => value,
    }
}

/// Reads a floating-point number; zero for other types.
pub(crate) fn load(dtype: DType, bytes: &[u8]) -> f64 {
    match dtype {
        DType::Float64 => f64::load(bytes),
        DType::Float32 => f32::load(bytes),
        DType::Float16 => f16::load(bytes),
        DType::BFloat16 => bf16::load(bytes),
        _ => 0.0,
    }
}

/// Returns a literal of the metadata as a number.
pub(crate) fn literal(value: TensorValue) -> f64 {
    match value {
        TensorValue::Bool(value) => f64::from(u8::from(value)),
        TensorValue::Int(value) => value as f64,
        TensorValue::Float(value) => value,
    }
}
