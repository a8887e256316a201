use passnet_record::DType;

/// The strictest tolerance that is scored.
pub const MIN_TOLERANCE: i32 = -10;
/// The loosest tolerance that is scored (by [`crate::Interpretation::MismatchExtended`]; the others end at 4).
pub const MAX_TOLERANCE: i32 = 5;

/// Returns `(rtol, atol)` of `torch.allclose` at integer tolerance `t`; `None` for a type that must be exactly equal.
///
/// Both are powers of ten with an exponent that is linear in `t`: `t = -5` gives the defaults of `torch.testing.assert_close`, `t = 0`
/// gives `(1, 1)`, and positive `t` continue the line. Integers, bool and complex types are exact, as in the public implementation.
pub fn tolerance(dtype: DType, t: i32) -> Option<(f64, f64)> {
    let (rtol_per_t, atol_per_t) = match dtype {
        DType::Float16 => (3.0 / 5.0, 1.0),
        DType::BFloat16 => (1.796 / 5.0, 1.0),
        DType::Float32 => (5.886 / 5.0, 1.0),
        DType::Float64 => (7.0 / 5.0, 7.0 / 5.0),
        DType::Int64
        | DType::Int32
        | DType::Int16
        | DType::Int8
        | DType::UInt8
        | DType::Bool
        | DType::Complex64
        | DType::Complex128 => return None,
    };
    let power = |per_t: f64| 10_f64.powf(per_t * f64::from(t));
    Some((power(rtol_per_t), power(atol_per_t)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_five_is_the_default_of_torch_testing() {
        for (dtype, rtol, atol) in [
            (DType::Float16, 1e-3, 1e-5),
            (DType::BFloat16, 1.6e-2, 1e-5),
            (DType::Float32, 1.3e-6, 1e-5),
            (DType::Float64, 1e-7, 1e-7),
        ] {
            let (got_rtol, got_atol) = tolerance(dtype, -5).unwrap();
            assert!((got_rtol / rtol - 1.0).abs() < 2e-3, "{dtype}: {got_rtol}");
            assert!((got_atol / atol - 1.0).abs() < 1e-12, "{dtype}: {got_atol}");
            assert_eq!(tolerance(dtype, 0), Some((1.0, 1.0)));
        }
    }

    #[test]
    fn grows_with_t_for_floats_and_is_exact_for_the_rest() {
        for dtype in DType::ALL {
            let pairs: Vec<_> = (MIN_TOLERANCE..=MAX_TOLERANCE).map(|t| tolerance(dtype, t)).collect();
            assert_eq!(pairs.iter().all(Option::is_some), dtype.is_float(), "{dtype}");
            for pair in pairs.windows(2) {
                if let [Some(tight), Some(loose)] = pair {
                    assert!(tight.0 < loose.0 && tight.1 < loose.1, "{dtype}");
                }
            }
        }
    }
}
