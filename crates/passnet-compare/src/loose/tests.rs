//! Tests of the loose bound.

use proptest::prelude::*;

use super::{super::parts::PARALLEL_BYTES, *};

const OVERFLOW: LooseTerms = LooseTerms { exceptional: Exceptional::Overflow, is_near: false, is_strict: false };
const EXPECTED: LooseTerms = LooseTerms { exceptional: Exceptional::Expected, is_near: false, is_strict: false };

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// 1.001 is 2.5e-4 of the scale away from the exact 1: twelve times as far is amplified rounding, twenty times is wrong.
#[test]
fn roundings_that_eager_mode_amplifies_widen_the_bound_of_near_inputs() {
    let near = LooseTerms { is_near: true, ..OVERFLOW };
    let bytes = |value: f32| [value, 4.0].iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    let close = |candidate: f32, eager: f32| {
        loosely_close(DType::Float32, &bytes(candidate), &bytes(eager), Some(&bytes(1.0)), near).is_ok()
    };
    assert!(close(1.012, 1.001) && !close(1.012, 1.0));
    assert!(!close(1.020, 1.001));
    // Where eager mode loses all digits, the general bound still applies.
    assert!(close(1.035, 1.01) && !close(1.06, 1.01));
}

#[test]
fn the_bound_follows_the_scale_of_the_reference() {
    let reference = bytes(&[1e6, -3.0, f32::INFINITY]);
    assert_eq!(loosely_close(DType::Float32, &bytes(&[1.001e6, 200.0, 0.0]), &reference, None, OVERFLOW), Ok(()));
    let failure = loosely_close(DType::Float32, &bytes(&[0.0, 0.0, 0.0]), &reference, None, OVERFLOW).unwrap_err();
    assert_eq!((failure.index, failure.non_finite), (0, false));
    let failure = loosely_close(DType::Float32, &bytes(&[f32::NAN, 0.0, 0.0]), &reference, None, OVERFLOW).unwrap_err();
    assert!(failure.non_finite);
}

/// Quotients by values near zero are huge, and hid that all others were wrong by a tenth.
#[test]
fn a_few_huge_elements_do_not_excuse_the_others() {
    let near = LooseTerms { is_near: true, ..OVERFLOW };
    let of = |factor: f32| {
        bytes(&(1..=200).map(|i| if i == 9 { 1e4 } else { factor * i as f32 / 100.0 }).collect::<Vec<_>>())
    };
    let close = |factor: f32, second: bool| {
        let exact = of(1.0);
        loosely_close(DType::Float32, &of(factor), &exact, second.then_some(&exact[..]), near).is_ok()
    };
    assert!(close(0.9, false) && !close(0.9, true) && close(0.999, true));
    let strict = LooseTerms { is_strict: true, ..near };
    assert!(loosely_close(DType::Float32, &of(0.9), &of(1.0), None, strict).is_err());
    // Far inputs keep the bound of the largest element.
    assert!(loosely_close(DType::Float32, &of(0.9), &of(1.0), Some(&of(1.0)), OVERFLOW).is_ok());
}

/// The logarithm of zero was a finite number, and the result was called right.
#[test]
fn infinities_of_both_references_are_required_for_near_inputs() {
    let near = LooseTerms { is_near: true, ..OVERFLOW };
    let (infinite, finite) = (bytes(&[1.0, f32::NEG_INFINITY]), bytes(&[1.0, -87.0]));
    let close = |candidate: &[u8], eager: &[u8], exact: &[u8], terms| {
        loosely_close(DType::Float32, candidate, eager, Some(exact), terms).is_ok()
    };
    assert!(!close(&finite, &infinite, &infinite, near) && close(&finite, &infinite, &infinite, OVERFLOW));
    // Eager overflows, and the candidate does not.
    assert!(close(&finite, &infinite, &finite, near) && close(&infinite, &infinite, &finite, near));
    assert!(close(&bytes(&[1.0, f32::NAN]), &infinite, &infinite, near));
}

#[test]
fn ordinary_magnitudes_have_a_smaller_bound() {
    let (reference, other) = (bytes(&[8.0, 1.0]), bytes(&[8.0, 1.05]));
    let close = |terms| loosely_close(DType::Float32, &other, &reference, None, terms).is_ok();
    assert!(close(OVERFLOW) && !close(LooseTerms { is_near: true, ..OVERFLOW }));
}

#[test]
fn each_element_may_be_right_by_another_reference() {
    let (reference, second) = (bytes(&[1.0, f32::NAN, 5.0]), bytes(&[1.5, 2.0, 5.0]));
    let close =
        |values: &[f32]| loosely_close(DType::Float32, &bytes(values), &reference, Some(&second), EXPECTED).is_ok();
    assert!(close(&[1.0, 2.0, 5.0]) && close(&[1.5, f32::NAN, 5.0]));
    // Two elements of the reference are unreliable, so two may be wrong.
    assert!(close(&[1.25, 2.0, 5.0]) && close(&[1.25, 3.0, 5.0]));
    assert!(!close(&[1.25, 3.0, 6.0]));
    let all = |candidate: f32| {
        let (candidate, reference) = (bytes(&[candidate; 3]), bytes(&[1.0; 3]));
        loosely_close(DType::Float32, &candidate, &reference, Some(&reference), OVERFLOW).is_ok()
    };
    assert!(all(1.0) && !all(2.0), "a reliable reference excuses nothing");
}

#[test]
fn exact_types_must_be_equal() {
    let close =
        |exceptional| loosely_close(DType::Int32, &5_i32.to_ne_bytes(), &6_i32.to_ne_bytes(), None, exceptional);
    assert!(close(OVERFLOW).is_err());
    assert_eq!(close(EXPECTED), Ok(()), "a conversion of NaN gives any integer");
    assert!(close(LooseTerms { exceptional: Exceptional::Computed, ..OVERFLOW }).is_err());
    assert!(loosely_close(DType::Bool, &[1], &[0], None, EXPECTED).is_err());
}

#[test]
fn nan_and_infinities_that_are_expected_must_come_out() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for (candidate, reference, is_right) in [
        (nan, nan, true),
        (-nan, nan, true),
        (inf, inf, true),
        (-inf, inf, false),
        (nan, inf, false),
        (inf, nan, false),
        (0.0, nan, false),
        (f32::MAX, inf, false),
        (nan, 1.0, false),
    ] {
        let judged = loosely_close(DType::Float32, &bytes(&[candidate]), &bytes(&[reference]), None, EXPECTED);
        assert_eq!(judged.is_ok(), is_right, "{candidate} for {reference}");
        let computed = LooseTerms { exceptional: Exceptional::Computed, ..OVERFLOW };
        let judged_again = loosely_close(DType::Float32, &bytes(&[candidate]), &bytes(&[reference]), None, computed);
        assert_eq!(judged_again, judged);
        if let Err(failure) = judged {
            assert_eq!((failure.lost, failure.non_finite), (!reference.is_finite(), reference.is_finite()));
        }
    }
    let complex = |re: f32, im: f32| bytes(&[re, im]);
    let close = |c: &[u8], e: &[u8]| loosely_close(DType::Complex64, c, e, None, EXPECTED).is_ok();
    assert!(close(&complex(inf, nan), &complex(nan, nan)) && !close(&complex(1.0, 0.0), &complex(nan, 0.0)));
}

/// A product of complex numbers with fused operations was refused: only equal numbers were close.
#[test]
fn complex_numbers_have_the_bounds_of_their_parts() {
    let near = LooseTerms { is_near: true, ..OVERFLOW };
    let close = |candidate: f32, terms| {
        loosely_close(DType::Complex64, &bytes(&[candidate, 2.0]), &bytes(&[1.0, 2.0]), None, terms).is_ok()
    };
    assert!(close(1.001, near) && !close(1.01, near));
    assert!(close(1.01, OVERFLOW) && !close(1.1, OVERFLOW));
    let double = |value: f64| [value, 2.0].map(f64::to_ne_bytes).concat();
    let close = |candidate| loosely_close(DType::Complex128, &double(candidate), &double(1.0), None, near).is_ok();
    assert!(close(1.0 + 1e-9) && !close(1.0 + 1e-8));
    assert_eq!(crate::rounded(DType::Complex64, &double(0.1)), Some(bytes(&[0.1, 2.0])));
}

/// A tensor that several threads judge, with a wrong element in the last part.
#[test]
fn parts_are_judged_as_the_whole() {
    let reference = bytes(&vec![2.0; PARALLEL_BYTES / 4 + 5000]);
    let mut candidate = reference.clone();
    assert_eq!(loosely_close(DType::Float32, &candidate, &reference, None, OVERFLOW), Ok(()));
    let last = reference.len() / 4 - 1;
    candidate[last * 4..].copy_from_slice(&3.0_f32.to_ne_bytes());
    candidate[4..8].copy_from_slice(&2.0001_f32.to_ne_bytes());
    let failure = loosely_close(DType::Float32, &candidate, &reference, None, OVERFLOW).unwrap_err();
    assert_eq!((failure.index, failure.candidate.as_str()), (last as u64, "3e0"));
    candidate[..4].copy_from_slice(&5.0_f32.to_ne_bytes());
    let failure = loosely_close(DType::Float32, &candidate, &reference, Some(&reference), OVERFLOW).unwrap_err();
    assert_eq!(failure.index, 0);
}

proptest! {
    /// The magnitude by buckets is the one of the sorted list.
    #[test]
    fn the_typical_magnitude_is_an_order_statistic(values in prop::collection::vec(any::<f32>(), 0..200)) {
        let mut sorted: Vec<f64> = values.iter().map(|value| f64::from(value.abs())).collect();
        sorted.retain(|value| value.is_finite() && *value > 0.0);
        sorted.sort_by(f64::total_cmp);
        let expected = sorted.get(sorted.len() * 9 / 10).map_or(0.0, |value| ABOVE_MOST * value);
        prop_assert_eq!(typical::<f32>(&bytes(&values)), expected);
    }
}
