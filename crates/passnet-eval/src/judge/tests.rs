use passnet_inputs::Content;
use passnet_record::{DType, Layout, OutputValue, Outputs, Status, TensorMeta, TensorValue};

use super::*;
use crate::{block::InputBlock, worker::Returned};

fn tensor(name: &str, values: &[f32], shape: &[u64], offset: u64) -> (OutputValue, Layout, Vec<u8>) {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let layout = Layout {
        name: name.to_owned(),
        dtype: DType::Float32,
        shape: shape.to_vec(),
        offset,
        nbytes: bytes.len() as u64,
    };
    (
        OutputValue::Tensor { layout: layout.clone(), stride: vec![1], device: "cpu".to_owned(), address: 64 },
        layout,
        bytes,
    )
}

fn returned(values: Vec<OutputValue>, mutated: Vec<Layout>, bytes: Vec<u8>) -> Returned {
    let nbytes = bytes.len() as u64;
    Returned { outputs: Outputs { values, mutated, nbytes, notes: Vec::new() }, bytes }
}

fn one(values: &[f32], shape: &[u64]) -> Returned {
    let (value, _, bytes) = tensor("0", values, shape, 0);
    returned(vec![value], Vec::new(), bytes)
}

fn inputs() -> InputBlock {
    let meta = TensorMeta {
        name: "x".to_owned(),
        original_name: None,
        shape: vec![2],
        dtype: DType::Float32,
        device: "cpu".to_owned(),
        mean: Some(1.0),
        std: Some(0.0),
        data: None,
        min_val: None,
        max_val: None,
    };
    InputBlock::new(&[meta], &[(0, Content::Random)], 0).unwrap()
}

fn add(tally: &mut RoundTally, pairs: &[Pair<'_>]) {
    tally.add(pairs, Agreement::of(pairs, -5), None);
}

fn failure(reference: &Returned, candidate: &Returned) -> (Status, String) {
    match pair(reference, candidate, &inputs(), 0, CallProperties::ALL) {
        Err(PairError::Failure(failure)) => (failure.status, failure.reason.code),
        other => panic!("{:?}", other.map(|pairs| pairs.len())),
    }
}

#[test]
fn number_type_and_shape_come_before_values() {
    let reference = one(&[1.0, 2.0], &[2]);
    let nothing = returned(vec![], Vec::new(), Vec::new());
    assert_eq!(failure(&reference, &nothing), (Status::TypeMismatch, "output_count".to_owned()));
    assert_eq!(failure(&reference, &one(&[1.0], &[1])), (Status::ShapeMismatch, "shape_differs".to_owned()));
    let none = returned(vec![OutputValue::None], Vec::new(), Vec::new());
    assert_eq!(failure(&reference, &none), (Status::TypeMismatch, "type_differs".to_owned()));
    let lazy = OutputValue::Other { type_name: "evil.Tensor".to_owned() };
    assert_eq!(failure(&reference, &returned(vec![lazy], Vec::new(), Vec::new())).0, Status::TypeMismatch);
    let int = |value| returned(vec![OutputValue::Scalar { value }], Vec::new(), Vec::new());
    assert_eq!(failure(&int(TensorValue::Int(1)), &int(TensorValue::Float(1.0))).0, Status::TypeMismatch);
}

#[test]
fn an_accuracy_message_names_place_and_values() {
    let mut tally = RoundTally::new(-5);
    let (reference, candidate) = (one(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), one(&[1.0, 2.0, 3.0, 5.0], &[2, 2]));
    add(&mut tally, &pair(&reference, &candidate, &inputs(), 0, CallProperties::ALL).unwrap());
    let failure = tally.failure().unwrap();
    assert_eq!(failure.status, Status::Accuracy);
    for part in ["1 of 4", "[1, 1]", "got 5e0, expected 4e0", "rtol 1.3e-6"] {
        assert!(failure.reason.message.contains(part), "{}", failure.reason.message);
    }
    assert_eq!(tally.tolerance(), Some(0));
    let nan = one(&[1.0, f32::NAN, 3.0, 4.0], &[2, 2]);
    add(&mut tally, &pair(&reference, &nan, &inputs(), 0, CallProperties::ALL).unwrap());
    assert_eq!((tally.failure().unwrap().status, tally.tolerance()), (Status::NonFinite, None));
}

#[test]
fn complex_numbers_are_close_by_their_parts_if_asked() {
    let complex = |values: &[f32]| {
        let (_, mut layout, bytes) = tensor("0", values, &[2], 0);
        layout.dtype = DType::Complex64;
        let value = OutputValue::Tensor { layout, stride: vec![1], device: "cpu".to_owned(), address: 64 };
        returned(vec![value], Vec::new(), bytes)
    };
    let (reference, candidate) = (complex(&[1.0, 2.0, 3.0, 4.0]), complex(&[1.0, 2.0, 3.0, 4.000_001]));
    for (parts, is_right) in [(true, true), (false, false)] {
        let properties = CallProperties { parts, ..CallProperties::ALL };
        let mut tally = RoundTally::new(-5);
        add(&mut tally, &pair(&reference, &candidate, &inputs(), 0, properties).unwrap());
        assert_eq!(tally.failure().is_none(), is_right);
        add(&mut tally, &pair(&reference, &complex(&[1.0, 2.0, 3.5, 4.0]), &inputs(), 0, properties).unwrap());
        assert!(tally.failure().is_some());
    }
}

#[test]
fn mutations_are_outputs_if_the_graph_makes_them_and_faults_if_not() {
    let (_, layout, bytes) = tensor("x", &[5.0, 6.0], &[2], 0);
    let changed = returned(Vec::new(), vec![layout], bytes);
    let unchanged = returned(Vec::new(), Vec::new(), Vec::new());
    assert_eq!(failure(&unchanged, &changed), (Status::Integrity, "input_mutated".to_owned()));
    let block = inputs();
    let pairs = pair(&changed, &unchanged, &block, 0, CallProperties::ALL).unwrap();
    let mut tally = RoundTally::new(-5);
    add(&mut tally, &pairs);
    assert!(tally.failure().unwrap().reason.message.contains("got 1e0, expected 6e0"));
    assert!(same_bytes(&pair(&changed, &changed, &block, 0, CallProperties::ALL).unwrap()));
}

#[test]
fn adversarial_rounds_are_judged_by_scale() {
    let reference = one(&[1000.0, 1.0], &[2]);
    let near = one(&[1000.0, 2.0], &[2]);
    let block = inputs();
    let large = LooseRound {
        content: Content::Large,
        correct_at: -2,
        has_zero_weights: false,
        defined: OutputSet::default(),
        is_strict: false,
    };
    assert_eq!(
        judge_loosely(&pair(&reference, &near, &block, 0, CallProperties::ALL).unwrap(), large, Witnesses::default()),
        Ok(())
    );
    let stale = one(&[0.0, 1.0], &[2]);
    let failure =
        judge_loosely(&pair(&reference, &stale, &block, 0, CallProperties::ALL).unwrap(), large, Witnesses::default())
            .unwrap_err();
    assert_eq!(failure.reason.code, "adversarial_differs");
    assert!(failure.reason.message.contains("`large`"));
}

/// Zeros for small rows, and a series where all values are small, were accepted.
#[test]
fn small_rows_are_judged_in_proportion() {
    let rows = |large: f32, small: f32| {
        let values: Vec<f32> = (0..64).map(|i| if i < 32 { large } else { small } * (1.0 + i as f32 / 64.0)).collect();
        values
    };
    let judged = |content, eager: &[f32], candidate: &[f32]| {
        let round = LooseRound {
            content,
            correct_at: -5,
            has_zero_weights: false,
            defined: OutputSet::default(),
            is_strict: true,
        };
        let truth = wide(&eager.iter().map(|value| f64::from(*value)).collect::<Vec<_>>(), &[2, 32]);
        let (eager, candidate) = (one(eager, &[2, 32]), one(candidate, &[2, 32]));
        let pairs = pair(&eager, &candidate, &inputs(), 0, CallProperties::ALL).unwrap();
        let asked = judge_loosely(&pairs, round, Witnesses::default()).is_err();
        let witnesses = Witnesses { float64: Some(&truth), finite: None };
        (asked, judge_loosely(&pairs, LooseRound { is_strict: false, ..round }, witnesses).is_err())
    };
    for content in [Content::Wide, Content::Varied, Content::Negative] {
        assert_eq!(judged(content, &rows(1.0, 2e-6), &rows(1.0, 0.0)), (true, true), "{content}");
        assert_eq!(judged(content, &rows(1e-7, 1e-7), &rows(1e-7, 1.1e-7)), (true, true), "{content}");
        assert_eq!(judged(content, &rows(1.0, 2e-6), &rows(1.0, 2e-6 + 1e-10)), (false, false), "{content}");
    }
    // Such differences are roundings of values near 1, or nothing but noise.
    assert_eq!(judged(Content::Scaled, &rows(1e-7, 1e-7), &rows(1e-7, 1.1e-7)), (false, false));
    assert_eq!(judged(Content::Zeros, &rows(1e-7, 1e-7), &rows(1e-7, 0.0)), (false, false));
}

/// In a counted round, rows of ordinary magnitudes do not decide for small ones.
#[test]
fn large_rows_excuse_no_small_ones() {
    let rows = |small: f32| (0..64).map(|i| if i < 32 { 1.0 } else { small }).collect::<Vec<f32>>();
    let judged = |candidate: f32| {
        let truth = wide(&rows(2e-6).iter().map(|value| f64::from(*value)).collect::<Vec<_>>(), &[2, 32]);
        let (eager, candidate) = (one(&rows(2e-6), &[2, 32]), one(&rows(candidate), &[2, 32]));
        let pairs = pair(&eager, &candidate, &inputs(), 0, CallProperties::ALL).unwrap();
        let mut tally = RoundTally::new(-5);
        tally.add(&pairs, Agreement::of(&pairs, -5), Some(&truth));
        (tally.failure().is_some(), wrong_values(&pairs, -5, Some(&truth)).is_some(), is_suspicious(&pairs, -5))
    };
    assert_eq!(judged(0.0), (true, true, true));
    assert_eq!(judged(2e-6 + 1e-12), (false, false, false));
}

/// A convolution that multiplies its padding by an infinite weight returns NaN where one that skips the padding does not.
#[test]
fn zero_weights_may_spread_nan_and_nothing_else() {
    let block = inputs();
    let is_right = |candidate: &[f32], has_zero_weights: bool| {
        let (reference, candidate) = (one(&[f32::INFINITY, 1.0], &[2]), one(candidate, &[2]));
        let pairs = pair(&reference, &candidate, &block, 0, CallProperties::ALL).unwrap();
        let round = LooseRound {
            content: Content::NonFinite,
            correct_at: -2,
            has_zero_weights,
            defined: OutputSet::default(),
            is_strict: false,
        };
        judge_loosely(&pairs, round, Witnesses::default()).is_ok()
    };
    let nan = f32::NAN;
    for candidate in [[nan, 1.0], [f32::INFINITY, nan], [nan, nan]] {
        assert!(is_right(&candidate, true) && !is_right(&candidate, false), "{candidate:?}");
    }
    for candidate in [[1.0, 1.0], [f32::NEG_INFINITY, 1.0], [f32::INFINITY, f32::INFINITY], [nan, 2.0]] {
        assert!(!is_right(&candidate, true), "{candidate:?}");
    }
}

#[test]
fn graphs_without_outputs_agree() {
    let nothing = returned(vec![OutputValue::None], Vec::new(), Vec::new());
    let mut tally = RoundTally::new(-5);
    add(&mut tally, &pair(&nothing, &nothing, &inputs(), 0, CallProperties::ALL).unwrap());
    assert_eq!((tally.tolerance(), tally.failure()), (Some(passnet_compare::FIRST_TOLERANCE), None));
}

/// One output of type float64, as the graph returns it in float64.
fn wide(values: &[f64], shape: &[u64]) -> Returned {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let (name, nbytes) = ("0".to_owned(), bytes.len() as u64);
    let layout = Layout { name, dtype: DType::Float64, shape: shape.to_vec(), offset: 0, nbytes };
    let value = OutputValue::Tensor { layout, stride: vec![1], device: "cpu".to_owned(), address: 64 };
    returned(vec![value], Vec::new(), bytes)
}

#[test]
fn float64_accepts_the_closer_side_at_the_demanded_tolerance() {
    let truth = wide(&[0.25, 100.0], &[2]);
    let judged = |candidate: &[f32], eager: &[f32], truth: &Returned| {
        let (candidate, eager) = (one(candidate, &[2]), one(eager, &[2]));
        let pairs = pair(&eager, &candidate, &inputs(), 0, CallProperties::ALL).unwrap();
        let mut tally = RoundTally::new(-5);
        tally.add(&pairs, Agreement::of(&pairs, -5), Some(truth));
        let accepted = tally.remarks().count();
        (tally.failure().map(|failure| failure.reason.message), tally.tolerance(), accepted, tally.report().remove(0))
    };
    let (failure, tolerance, accepted, output) = judged(&[0.25, 100.0], &[0.0, 100.0], &truth);
    assert_eq!((failure, tolerance, accepted), (None, Some(-5), 1));
    assert_eq!((output.tolerance, output.float64.unwrap().accepted), (Some(0), true), "against eager");
    let (failure, tolerance, accepted, _) = judged(&[0.0, 100.0], &[0.25, 100.0], &truth);
    assert!(failure.unwrap().contains("from eager by up to 0.0e0") && tolerance == Some(0) && accepted == 0);
    let other = wide(&[0.25], &[1]);
    let (failure, _, _, output) = judged(&[0.25, 100.0], &[0.0, 100.0], &other);
    assert!(failure.is_some() && output.float64.is_none(), "a float64 result of another shape decides nothing");
}

#[test]
fn timed_values_are_judged_by_float64_too() {
    let (eager, candidate) = (one(&[0.0, 100.0], &[2]), one(&[0.25, 100.0], &[2]));
    let block = inputs();
    let pairs = pair(&eager, &candidate, &block, 0, CallProperties::ALL).unwrap();
    assert!(wrong_values(&pairs, -4, None).unwrap().contains("2.5e-1 instead of 0e0"));
    assert_eq!(wrong_values(&pairs, -4, Some(&wide(&[0.25, 100.0], &[2]))), None);
}

/// One output of type bfloat16, from the bits of its elements.
fn bfloat16(bits: &[u16]) -> Returned {
    let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
    let (name, shape, nbytes) = ("0".to_owned(), vec![bits.len() as u64], bytes.len() as u64);
    let layout = Layout { name, dtype: DType::BFloat16, shape, offset: 0, nbytes };
    let value = OutputValue::Tensor { layout, stride: vec![1], device: "cpu".to_owned(), address: 64 };
    returned(vec![value], Vec::new(), bytes)
}

#[test]
fn one_rounding_of_bfloat16_in_a_timed_call_is_no_accusation() {
    // 1, 3, -0.5 and 200, and their next neighbours: TorchInductor keeps values in float32 that eager mode rounds.
    let eager = [0x3f80, 0x4040, 0xbf00, 0x4348];
    let (reference, candidate) = (bfloat16(&eager), bfloat16(&eager.map(|bits| bits + 1)));
    let block = inputs();
    let pairs = pair(&reference, &candidate, &block, 0, CallProperties::ALL).unwrap();
    assert!(!is_suspicious(&pairs, -4));
    assert_eq!(wrong_values(&pairs, -4, None), None);
    // The last element is 1.0078125 - 1 in eager mode and 1 - 1 here. The exact difference is between the two: float64 decides.
    let (reference, candidate) = (bfloat16(&[0x3f80, 0x4040, 0xbf00, 0x3c00]), bfloat16(&[0x3f80, 0x4040, 0xbf00, 0]));
    let pairs = pair(&reference, &candidate, &block, 0, CallProperties::ALL).unwrap();
    assert!(is_suspicious(&pairs, -4));
    assert_eq!(wrong_values(&pairs, -4, Some(&wide(&[1.0, 3.0, -0.5, 0.003_906_25], &[4]))), None);
}

#[test]
fn where_zeros_would_pass_a_wrong_function_does_not() {
    let eager = one(&[1e-9, -2e-9], &[2]);
    let truth = wide(&[1.000_000_01e-9, -2e-9], &[2]);
    let judged = |values: &[f32], wide: Option<&Returned>| {
        let mut tally = RoundTally::new(-5);
        let candidate = one(values, &[2]);
        let pairs = pair(&eager, &candidate, &inputs(), 0, CallProperties::ALL).unwrap();
        tally.add(&pairs, Agreement::of(&pairs, -5), wide);
        (tally.failure().map(|failure| failure.reason.message), tally.tolerance())
    };
    let (message, tolerance) = judged(&[4e-9, -2e-9], Some(&truth));
    assert!(message.unwrap().contains("Zeros would be within that"));
    assert_eq!(tolerance, None);
    // Roundings of the right function, and noise that eager has as well.
    assert_eq!(judged(&[1.000_001e-9, -2e-9], Some(&truth)).0, None);
    let noisy = wide(&[0.0, 0.0], &[2]);
    assert_eq!(judged(&[4e-9, -2e-9], Some(&noisy)).0, None);
    // Without float64 the tolerance decides, as in paper mode.
    assert_eq!(judged(&[4e-9, -2e-9], None).0, None);
}

#[test]
fn timed_values_that_vanish_are_compared_with_float64() {
    let (eager, candidate) = (one(&[1e-9, 0.0], &[2]), one(&[0.0, 0.0], &[2]));
    let block = inputs();
    let pairs = pair(&eager, &candidate, &block, 0, CallProperties::ALL).unwrap();
    assert!(is_suspicious(&pairs, -5));
    assert_eq!(wrong_values(&pairs, -5, None), None);
    assert!(wrong_values(&pairs, -5, Some(&wide(&[1e-9, 0.0], &[2]))).is_some());
}
