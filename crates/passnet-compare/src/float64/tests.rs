use proptest::prelude::*;

use super::*;

const AT: i32 = -2;

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn judged(candidate: &[f32], eager: &[f32], truth: &[f64]) -> AgainstFloat64 {
    against_float64(DType::Float32, &singles(candidate), &singles(eager), &doubles(truth), AT).unwrap()
}

#[test]
fn the_closer_side_is_right() {
    // Eager lost all digits to cancellation; the candidate did not.
    let found = judged(&[0.25, 100.0], &[0.0, 100.0], &[0.25, 100.0]);
    assert!(found.accepted, "{found:?}");
    assert_eq!((found.eager.max, found.eager.outside, found.candidate.max), (Some(0.25), 1, Some(0.0)));
    let other_way = judged(&[0.0, 100.0], &[0.25, 100.0], &[0.25, 100.0]);
    assert!(!other_way.accepted);
}

#[test]
fn a_bad_eager_result_is_no_licence() {
    // Each element is as wrong as eager's worst element, but eager is wrong in one element only.
    let truth = [1000.0; 8];
    let mut eager = [1000.0; 8];
    eager[0] = 1005.0;
    assert!(!judged(&[1005.0; 8], &eager, &truth).accepted);
    // The error is no larger than eager's, but it is more than a hundredth of the scale.
    assert!(!judged(&[1.5; 2], &[5.0; 2], &[1.0; 2]).accepted);
    // Eager overflowed. The candidate may be finite, but it has to be right.
    assert!(judged(&[1.0, 2.0], &[f32::INFINITY, 2.0], &[1.0, 2.0]).accepted);
    assert!(!judged(&[1.2, 2.0], &[f32::INFINITY, 2.0], &[1.0, 2.0]).accepted);
    assert!(!judged(&[f32::NAN, 2.0], &[f32::INFINITY, 2.0], &[1.0, 2.0]).accepted);
}

#[test]
fn not_numbers_agree_with_either() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    assert!(judged(&[nan, 1.0], &[0.5, 1.0], &[f64::NAN, 1.0]).accepted);
    assert!(judged(&[0.5, 1.0], &[0.5, 1.0], &[f64::NAN, 1.0]).accepted);
    assert!(!judged(&[0.7, 1.0], &[0.5, 1.0], &[f64::NAN, 1.0]).accepted);
    assert!(judged(&[inf, 1.0], &[inf, 1.0], &[1e300, 1.0]).accepted);
    assert!(!judged(&[-inf, 1.0], &[inf, 1.0], &[1e300, 1.0]).accepted);
}

#[test]
fn only_floating_point_types_have_a_distance() {
    let bytes = [0; 8];
    assert_eq!(against_float64(DType::Int64, &bytes, &bytes, &bytes, AT), None);
    assert_eq!(against_float64(DType::Float32, &bytes, &bytes, &bytes, AT), None, "another length");
    assert_eq!(
        rounded(DType::Float16, &doubles(&[1.0, 1e9])),
        Some([0x3c00_u16, 0x7c00].map(u16::to_ne_bytes).concat())
    );
    assert_eq!(rounded(DType::Bool, &bytes), None);
}

proptest! {
    #[test]
    fn eager_itself_and_the_nearest_values_are_no_worse(
        values in prop::collection::vec((-100.0_f64..100.0, -0.2_f32..0.2), 1..50)
    ) {
        let truth: Vec<f64> = values.iter().map(|value| value.0).collect();
        let nearest: Vec<f32> = truth.iter().map(|&value| value as f32).collect();
        let eager: Vec<f32> = values.iter().map(|&(value, off)| value as f32 + off).collect();
        prop_assert!(judged(&nearest, &eager, &truth).accepted);
        let scale = truth.iter().fold(0.0_f64, |scale, value| scale.max(value.abs()));
        let own = judged(&eager, &eager, &truth);
        prop_assert_eq!(own.accepted, own.candidate.max.unwrap() <= (0.01 * scale).max(1e-5));
    }

    #[test]
    fn an_accepted_candidate_is_never_arbitrarily_wrong(
        values in prop::collection::vec((-100.0_f64..100.0, -50.0_f32..50.0, -5.0_f32..5.0), 1..50)
    ) {
        let truth: Vec<f64> = values.iter().map(|value| value.0).collect();
        let eager: Vec<f32> = values.iter().map(|&(value, off, _)| value as f32 + off).collect();
        let candidate: Vec<f32> = values.iter().map(|&(value, _, off)| value as f32 + off).collect();
        let found = judged(&candidate, &eager, &truth);
        let scale = truth.iter().fold(0.0_f64, |scale, value| scale.max(value.abs()));
        if found.accepted {
            prop_assert!(found.candidate.max.unwrap() <= (0.01 * scale).max(1e-5));
            prop_assert!(found.candidate.outside as f64 <= MARGIN * found.eager.outside as f64);
        }
    }

    #[test]
    fn where_eager_is_right_the_candidate_is_close_to_float64(
        values in prop::collection::vec((-100.0_f64..100.0, -1.0_f32..1.0), 1..50)
    ) {
        let truth: Vec<f64> = values.iter().map(|value| value.0).collect();
        let nearest: Vec<f32> = truth.iter().map(|&value| value as f32).collect();
        let candidate: Vec<f32> = values.iter().map(|&(value, off)| value as f32 + off).collect();
        let found = judged(&candidate, &nearest, &truth);
        prop_assert!(!found.accepted || found.candidate.outside == 0);
    }
}
