//! The bound by which outputs for adversarial inputs are judged.
//!
//! Inputs far from what the graph was captured with (huge, tiny, constant) drive honest kernels to other roundings,
//! which the ladder of tolerances, with its absolute terms made for values near 1, does not fit. Such rounds have
//! to distinguish a computation from a stored result or a constant, and a bound relative to the largest reference value
//! of the tensor is enough for that.

use half::{bf16, f16};
use passnet_record::DType;

use super::element::{Complex, Element};

/// The first element outside the loose bound.
#[derive(Clone, Debug, PartialEq)]
pub struct LooseFailure {
    /// Flat row-major index.
    pub index: u64,
    /// The candidate's value.
    pub candidate: String,
    /// The reference's value.
    pub reference: String,
    /// Allowed value of `|candidate - reference|`.
    pub allowed: f64,
    /// The candidate is NaN or infinite there.
    pub non_finite: bool,
}

/// Allowed difference relative to the tensor's largest finite reference magnitude; `None` for exact types.
pub const fn loose_bound(dtype: DType) -> Option<f64> {
    match dtype {
        DType::Float64 => Some(1e-6),
        DType::Float32 => Some(1e-2),
        DType::Float16 | DType::BFloat16 => Some(5e-2),
        _ => None,
    }
}

/// Smallest allowed difference, so that rounding noise around an exact zero is no fault.
const FLOOR: f64 = 1e-5;

/// Judges all elements whose reference is finite. Exact types must be equal.
pub fn loosely_close(dtype: DType, candidate: &[u8], reference: &[u8]) -> Result<(), LooseFailure> {
    match dtype {
        DType::Float64 => judge::<f64>(dtype, candidate, reference),
        DType::Float32 => judge::<f32>(dtype, candidate, reference),
        DType::Float16 => judge::<f16>(dtype, candidate, reference),
        DType::BFloat16 => judge::<bf16>(dtype, candidate, reference),
        DType::Int64 => judge::<i64>(dtype, candidate, reference),
        DType::Int32 => judge::<i32>(dtype, candidate, reference),
        DType::Int16 => judge::<i16>(dtype, candidate, reference),
        DType::Int8 => judge::<i8>(dtype, candidate, reference),
        DType::UInt8 | DType::Bool => judge::<u8>(dtype, candidate, reference),
        DType::Complex64 => judge::<Complex<f32>>(dtype, candidate, reference),
        DType::Complex128 => judge::<Complex<f64>>(dtype, candidate, reference),
    }
}

fn judge<E: Element>(dtype: DType, candidate: &[u8], reference: &[u8]) -> Result<(), LooseFailure> {
    let allowed = loose_bound(dtype).map_or(0.0, |bound| {
        let scale = E::elements(reference).map(E::magnitude).filter(|m| m.is_finite()).fold(0.0, f64::max);
        FLOOR.max(bound * scale)
    });
    for (index, (c, e)) in (0_u64..).zip(E::elements(candidate).zip(E::elements(reference))) {
        // A NaN distance is within nothing.
        let within = c.equal(e) || c.distance(e) <= allowed;
        if !within && e.magnitude().is_finite() {
            let (candidate, reference) = (c.text(), e.text());
            return Err(LooseFailure { index, candidate, reference, allowed, non_finite: !c.magnitude().is_finite() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn the_bound_follows_the_scale_of_the_reference() {
        let reference = bytes(&[1e6, -3.0, f32::INFINITY]);
        assert_eq!(loosely_close(DType::Float32, &bytes(&[1.001e6, 200.0, 0.0]), &reference), Ok(()));
        let failure = loosely_close(DType::Float32, &bytes(&[0.0, 0.0, 0.0]), &reference).unwrap_err();
        assert_eq!((failure.index, failure.non_finite), (0, false));
        let failure = loosely_close(DType::Float32, &bytes(&[f32::NAN, 0.0, 0.0]), &reference).unwrap_err();
        assert!(failure.non_finite);
    }

    #[test]
    fn exact_types_must_be_equal() {
        assert!(loosely_close(DType::Int32, &5_i32.to_ne_bytes(), &6_i32.to_ne_bytes()).is_err());
    }
}
