use passnet_record::{Layout, Outputs, TensorMeta};

use super::*;

fn tensor(name: &str, values: &[f32], shape: &[u64], offset: u64) -> (OutputValue, Layout, Vec<u8>) {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let layout = Layout {
        name: name.to_owned(),
        dtype: DType::Float32,
        shape: shape.to_vec(),
        offset,
        nbytes: bytes.len() as u64,
    };
    (OutputValue::Tensor { layout: layout.clone(), stride: vec![1], device: "cpu".to_owned() }, layout, bytes)
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

fn failure(reference: &Returned, candidate: &Returned) -> (Status, String) {
    match pair(reference, candidate, &inputs(), 0, true) {
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
    let mut tally = Tally::default();
    let (reference, candidate) = (one(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), one(&[1.0, 2.0, 3.0, 5.0], &[2, 2]));
    tally.add(&pair(&reference, &candidate, &inputs(), 0, true).unwrap(), -5);
    let failure = tally.failure(-5).unwrap();
    assert_eq!(failure.status, Status::Accuracy);
    for part in ["1 of 4", "[1, 1]", "got 5e0, expected 4e0", "rtol 1.3e-6"] {
        assert!(failure.reason.message.contains(part), "{}", failure.reason.message);
    }
    assert_eq!(tally.tolerance(), Some(0));
    let nan = one(&[1.0, f32::NAN, 3.0, 4.0], &[2, 2]);
    tally.add(&pair(&reference, &nan, &inputs(), 0, true).unwrap(), -5);
    assert_eq!((tally.failure(-5).unwrap().status, tally.tolerance()), (Status::NonFinite, None));
}

#[test]
fn mutations_are_outputs_if_the_graph_makes_them_and_faults_if_not() {
    let (_, layout, bytes) = tensor("x", &[5.0, 6.0], &[2], 0);
    let changed = returned(Vec::new(), vec![layout], bytes);
    let unchanged = returned(Vec::new(), Vec::new(), Vec::new());
    assert_eq!(failure(&unchanged, &changed), (Status::Integrity, "input_mutated".to_owned()));
    let block = inputs();
    let pairs = pair(&changed, &unchanged, &block, 0, true).unwrap();
    let mut tally = Tally::default();
    tally.add(&pairs, -5);
    assert!(tally.failure(-5).unwrap().reason.message.contains("got 1e0, expected 6e0"));
    assert!(same_bytes(&pair(&changed, &changed, &block, 0, true).unwrap()));
}

#[test]
fn adversarial_rounds_are_judged_by_scale() {
    let reference = one(&[1000.0, 1.0], &[2]);
    let near = one(&[1000.0, 2.0], &[2]);
    let block = inputs();
    assert_eq!(judge_loosely(&pair(&reference, &near, &block, 0, true).unwrap(), Content::Large), Ok(()));
    let stale = one(&[0.0, 1.0], &[2]);
    let failure = judge_loosely(&pair(&reference, &stale, &block, 0, true).unwrap(), Content::Large).unwrap_err();
    assert_eq!(failure.reason.code, "adversarial_differs");
    assert!(failure.reason.message.contains("`large`"));
}

#[test]
fn graphs_without_outputs_agree() {
    let nothing = returned(vec![OutputValue::None], Vec::new(), Vec::new());
    let mut tally = Tally::default();
    tally.add(&pair(&nothing, &nothing, &inputs(), 0, true).unwrap(), -5);
    assert_eq!((tally.tolerance(), tally.failure(-5)), (Some(crate::compare::FIRST_TOLERANCE), None));
}
