//! Results that do not depend on inputs that are NaN or infinite.
//!
//! A product of a weight of zero and an infinite number is NaN, and so is each sum with it. Kernels that skip such products, for instance
//! those of masked blocks, have no NaN there. For any finite number in place of the infinite one, both have the same result.

use passnet_record::DType;

use crate::element::Element;

/// Largest share of a result for large inputs that the result for small inputs may have, if the result grows with them.
const GROWTH: f64 = 0.1;

/// Returns the reference with other elements where the candidate differs from it in NaN or infinities. `finite` are results for inputs in
/// which finite numbers replace NaN and infinities: large ones in the first two, small ones in the third. Where the candidate is finite and
/// all three are equal, the element does not depend on these inputs, and becomes theirs. Where the candidate is infinite and the first two
/// are large and have its sign, the element is infinite. `None` if a length differs, or if the type is not a
/// floating-point type.
pub fn with_independent(dtype: DType, candidate: &[u8], reference: &[u8], finite: [&[u8]; 3]) -> Option<Vec<u8>> {
    if finite.iter().any(|finite| finite.len() != reference.len()) || candidate.len() != reference.len() {
        return None;
    }
    match dtype {
        DType::Float64 => Some(merged::<f64>(candidate, reference, finite)),
        DType::Float32 => Some(merged::<f32>(candidate, reference, finite)),
        DType::Float16 => Some(merged::<half::f16>(candidate, reference, finite)),
        DType::BFloat16 => Some(merged::<half::bf16>(candidate, reference, finite)),
        _ => None,
    }
}

fn merged<E: Element>(candidate: &[u8], reference: &[u8], finite: [&[u8]; 3]) -> Vec<u8> {
    let mut out = reference.to_vec();
    let [first, second, third] = finite.map(E::elements);
    let results = first.zip(second).zip(third);
    let both = E::elements(candidate).zip(E::elements(reference));
    for (index, ((c, e), ((a, b), d))) in both.zip(results).enumerate() {
        let place = index * size_of::<E>()..(index + 1) * size_of::<E>();
        if e.magnitude().is_finite() || c.agrees(e) {
            continue;
        }
        if c.magnitude().is_finite() {
            // Equal numbers that are not finite would show nothing.
            if a.magnitude().is_finite() && a.equal(b) && a.equal(d) {
                out[place.clone()].copy_from_slice(&finite[0][place]);
            }
        } else if grows_to(c, a, d) && grows_to(c, b, d) {
            out[place.clone()].copy_from_slice(&candidate[place]);
        }
    }
    out
}

/// Returns whether a result is much larger than the one for small inputs, and has the sign of an infinity.
fn grows_to<E: Element>(infinity: E, far: E, near: E) -> bool {
    infinity.magnitude().is_infinite()
        && infinity.is_negative() == far.is_negative()
        && far.magnitude() * GROWTH > near.magnitude().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_finite_results_explain_are_replaced() {
        let bytes = |values: [f32; 9]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let merged = with_independent(
            DType::Float32,
            &bytes([1.0, 1.0, nan, 1.0, 1.0, 1.0, -inf, -inf, inf]),
            &bytes([nan, inf, nan, 2.0, nan, inf, nan, nan, nan]),
            [
                &bytes([1.5, 1.5, 1.5, 1.5, 0.0, inf, -9e3, -9e3, 9.0]),
                &bytes([1.5, 1.5, 1.5, 1.5, 7.0, inf, -8e3, 8e3, 9.0]),
                &bytes([1.5, 1.5, 1.5, 1.5, 0.0, inf, 2.0, 2.0, 9.0]),
            ],
        );
        let expected = bytes([1.5, 1.5, nan, 2.0, nan, inf, -inf, nan, nan]);
        assert_eq!(merged, Some(expected));
        assert_eq!(with_independent(DType::Int32, &[0; 4], &[0; 4], [&[0; 4]; 3]), None);
    }
}
