//! Pairs of values of both sides, of the same type and shape.

use std::{borrow::Cow, collections::BTreeSet, fmt, io};

use passnet_record::{DType, OutputValue, ReasonDetail, Status, TensorValue, WorkerNote};

use super::layout::{LayoutRule, refuse_other_layout};
use crate::{block::InputBlock, failure::Failure, worker::Returned};

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueOrigin {
    /// The value was returned at this position.
    Output(usize),
    /// The value is an input of this name that was changed.
    Input(String),
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(index) => write!(f, "output {index}"),
            Self::Input(name) => write!(f, "mutated input `{name}`"),
        }
    }
}

/// One value of both sides, of the same type and shape.
pub(crate) struct Pair<'a> {
    pub(super) origin: ValueOrigin,
    pub(super) dtype: DType,
    pub(super) shape: Vec<u64>,
    pub(super) candidate: Cow<'a, [u8]>,
    pub(super) reference: Cow<'a, [u8]>,
}

impl Pair<'_> {
    /// Returns the float64 result of this value, or the complex128 result of a complex value; `None` if the graph has no such result.
    pub(super) fn float64<'w>(&self, wide: &'w Returned) -> Option<Cow<'w, [u8]>> {
        let is_complex = matches!(self.dtype, DType::Complex64 | DType::Complex128);
        self.value_of(if is_complex { DType::Complex128 } else { DType::Float64 }, wide)
    }

    /// Returns this value of another call of the reference; `None` if its type or shape differs.
    pub(super) fn value_of<'w>(&self, dtype: DType, wide: &'w Returned) -> Option<Cow<'w, [u8]>> {
        let layout = match &self.origin {
            ValueOrigin::Output(index) => match wide.outputs.values.get(*index)? {
                OutputValue::Tensor { layout, .. } => layout,
                OutputValue::Scalar { value: TensorValue::Float(value) } if dtype == DType::Float64 => {
                    return Some(value.to_ne_bytes().to_vec().into());
                }
                _ => return None,
            },
            ValueOrigin::Input(name) => wide.outputs.mutated.iter().find(|layout| layout.name == *name)?,
        };
        let is_same = layout.dtype == dtype && layout.shape == self.shape;
        is_same.then(|| wide.values(layout).into())
    }

    /// Turns complex numbers into rows of a real and an imaginary part, as `torch.view_as_real` does.
    fn split_complex(&mut self) {
        self.dtype = match self.dtype {
            DType::Complex64 => DType::Float32,
            DType::Complex128 => DType::Float64,
            _ => return,
        };
        self.shape.push(2);
    }

    /// Returns the index per dimension of a flat row-major index.
    pub(super) fn place(&self, index: u64) -> Vec<u64> {
        unravel(index, &self.shape)
    }

    /// Returns whether the reference's value has the same bytes as an input of its type and shape.
    pub(crate) fn is_input(&self, inputs: &InputBlock) -> io::Result<bool> {
        for layout in inputs.layouts(0).filter(|layout| layout.dtype == self.dtype && layout.shape == self.shape) {
            if inputs.read(&layout)? == *self.reference {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the index per dimension of a flat row-major index.
pub(super) fn unravel(mut index: u64, shape: &[u64]) -> Vec<u64> {
    let mut place = vec![0; shape.len()];
    for (position, &extent) in place.iter_mut().zip(shape).rev() {
        *position = index % extent.max(1);
        index /= extent.max(1);
    }
    place
}

/// Properties of a call's results that are compared in addition to types, shapes and values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallProperties {
    /// True to check that the candidate changes only inputs that the reference changes, and returns no input as an output.
    pub(crate) inputs: bool,
    /// True to compare a complex number as two real numbers, with their tolerance. The public harness compares complex numbers exactly.
    pub(crate) parts: bool,
    /// Allowed strides of outputs. Unless all strides are allowed, outputs may share memory only where the reference's outputs do.
    pub(crate) layout: LayoutRule,
}

impl CallProperties {
    /// All properties are compared.
    pub(crate) const ALL: Self = Self { inputs: true, parts: false, layout: LayoutRule::Same };
}

/// Error of pairing values.
#[derive(Debug)]
pub(crate) enum PairError {
    /// The values differ in number, type or shape.
    Failure(Failure),
    /// The inputs could not be read back.
    Io(io::Error),
}

/// Inputs that a call used.
pub(crate) trait SeenInputs {
    /// Returns the bytes of an input of set number `set`, or `None` if there is no input of this name.
    fn input(&self, set: usize, name: &str) -> io::Result<Option<Vec<u8>>>;
}

impl SeenInputs for InputBlock {
    fn input(&self, set: usize, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.layouts(set).find(|input| input.name == name).map(|input| self.read(&input)).transpose()
    }
}

/// Returns the pairs of values that a call returned or changed, in the order of reports: outputs by position, then the inputs that the
/// reference changes. Positions at which both sides return `None` are left out.
pub(crate) fn pair<'a>(
    reference: &'a Returned,
    candidate: &'a Returned,
    inputs: &impl SeenInputs,
    set: usize,
    guard: CallProperties,
) -> Result<Vec<Pair<'a>>, PairError> {
    let (expected, got) = (&reference.outputs.values, &candidate.outputs.values);
    if expected.len() != got.len() {
        let message = format!(
            "the graph returns {} values, the rewritten graph {}; a replacement must return as many values as its pattern",
            expected.len(),
            got.len()
        );
        return Err(PairError::Failure(Failure::new(Status::TypeMismatch, "output_count", message)));
    }
    let mut pairs = Vec::new();
    for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
        pairs.extend(pair_values(index, (reference, expected), (candidate, got)).map_err(PairError::Failure)?);
    }
    if guard.inputs {
        refuse_extra_mutations(reference, candidate).map_err(PairError::Failure)?;
        refuse_handed_out_inputs(reference, candidate).map_err(PairError::Failure)?;
    }
    // This check relies on equal types and shapes, so it comes after them.
    refuse_other_layout(guard.layout, reference, candidate).map_err(PairError::Failure)?;
    pairs.extend(pair_mutations(reference, candidate, inputs, set)?);
    if guard.parts {
        pairs.iter_mut().for_each(Pair::split_complex);
    }
    Ok(pairs)
}

fn pair_values<'a>(
    index: usize,
    (reference, expected): (&'a Returned, &'a OutputValue),
    (candidate, got): (&'a Returned, &'a OutputValue),
) -> Result<Option<Pair<'a>>, Failure> {
    let mismatch = |status, code: &str, what: &str, expected: String, got: String| {
        let message = format!("output {index}: expected {what} {expected}, got {got}");
        Failure::new(status, code, message).with_detail(ReasonDetail {
            output: Some(index),
            expected: Some(expected),
            got: Some(got),
            ..ReasonDetail::default()
        })
    };
    match (expected, got) {
        (OutputValue::None, OutputValue::None) => Ok(None),
        (
            OutputValue::Tensor { layout: expected, device: expected_device, .. },
            OutputValue::Tensor { layout: got, device: got_device, .. },
        ) => {
            // The type is checked first, then the device, then the shape: a message about shapes would be misleading if the type is wrong
            // as well.
            if expected.dtype != got.dtype {
                let (expected, got) = (expected.dtype.to_string(), got.dtype.to_string());
                return Err(mismatch(Status::TypeMismatch, "dtype_differs", "dtype", expected, got));
            }
            if expected_device != got_device {
                let (expected, got) = (expected_device.clone(), got_device.clone());
                return Err(mismatch(Status::TypeMismatch, "device_differs", "device", expected, got));
            }
            if expected.shape != got.shape {
                let (expected, got) = (format!("{:?}", expected.shape), format!("{:?}", got.shape));
                return Err(mismatch(Status::ShapeMismatch, "shape_differs", "shape", expected, got));
            }
            Ok(Some(Pair {
                origin: ValueOrigin::Output(index),
                dtype: expected.dtype,
                shape: expected.shape.clone(),
                candidate: candidate.values(got).into(),
                reference: reference.values(expected).into(),
            }))
        }
        (OutputValue::Scalar { value: expected }, OutputValue::Scalar { value: got }) => {
            let ((expected_dtype, expected), (dtype, got)) = (scalar_bytes(*expected), scalar_bytes(*got));
            if expected_dtype != dtype {
                let (expected, dtype) = (expected_dtype.to_string(), dtype.to_string());
                return Err(mismatch(Status::TypeMismatch, "type_differs", "a Python number of kind", expected, dtype));
            }
            let (candidate, reference) = (got.into(), expected.into());
            Ok(Some(Pair { origin: ValueOrigin::Output(index), dtype, shape: Vec::new(), candidate, reference }))
        }
        (expected, got) => {
            let (expected, got) = (kind_of(expected), kind_of(got));
            Err(mismatch(Status::TypeMismatch, "type_differs", "", expected, got))
        }
    }
}

fn kind_of(value: &OutputValue) -> String {
    match value {
        OutputValue::Tensor { .. } => "a plain torch.Tensor".to_owned(),
        OutputValue::Scalar { .. } => "a Python number".to_owned(),
        OutputValue::None => "None".to_owned(),
        OutputValue::Other { type_name } => format!("`{type_name}`"),
    }
}

fn scalar_bytes(value: TensorValue) -> (DType, Vec<u8>) {
    match value {
        TensorValue::Bool(value) => (DType::Bool, vec![u8::from(value)]),
        TensorValue::Int(value) => (DType::Int64, value.to_ne_bytes().to_vec()),
        TensorValue::Float(value) => (DType::Float64, value.to_ne_bytes().to_vec()),
    }
}

/// Refuses an output that is an input where the graph makes a new tensor: a write to one would change the other.
fn refuse_handed_out_inputs(reference: &Returned, candidate: &Returned) -> Result<(), Failure> {
    let extra = candidate.outputs.notes.iter().find_map(|note| match note {
        WorkerNote::AliasesInput { output, input } if !reference.outputs.notes.contains(note) => Some((output, input)),
        _ => None,
    });
    let Some((output, input)) = extra else { return Ok(()) };
    let message = format!(
        "output {output} shares its memory with input `{input}`, where the graph returns memory of its own; return a new tensor"
    );
    Err(Failure::new(Status::Integrity, "output_is_input", message).with_detail(ReasonDetail {
        output: Some(*output),
        input: Some(input.clone()),
        ..ReasonDetail::default()
    }))
}

fn refuse_extra_mutations(reference: &Returned, candidate: &Returned) -> Result<(), Failure> {
    let expected: BTreeSet<&str> = reference.outputs.mutated.iter().map(|layout| layout.name.as_str()).collect();
    match candidate.outputs.mutated.iter().find(|layout| !expected.contains(layout.name.as_str())) {
        None => Ok(()),
        Some(extra) => {
            let message = format!(
                "the candidate wrote to input `{}`, which the graph leaves as it is; allocate outputs instead",
                extra.name
            );
            let failure = Failure::new(Status::Integrity, "input_mutated", message);
            Err(failure.with_detail(ReasonDetail { input: Some(extra.name.clone()), ..ReasonDetail::default() }))
        }
    }
}

fn pair_mutations<'a>(
    reference: &'a Returned,
    candidate: &'a Returned,
    inputs: &impl SeenInputs,
    set: usize,
) -> Result<Vec<Pair<'a>>, PairError> {
    let mut pairs = Vec::new();
    for layout in &reference.outputs.mutated {
        let candidate = match candidate.outputs.mutated.iter().find(|other| other.name == layout.name) {
            Some(other) if other.nbytes == layout.nbytes => Cow::Borrowed(candidate.values(other)),
            Some(_) => {
                let message = format!("input `{}` came back with another size", layout.name);
                return Err(PairError::Failure(Failure::new(Status::Integrity, "protocol_violation", message)));
            }
            // The candidate did not write to this input. The comparison with its original value shows the difference.
            None => match inputs.input(set, &layout.name).map_err(PairError::Io)? {
                Some(content) => Cow::Owned(content),
                None => continue,
            },
        };
        pairs.push(Pair {
            origin: ValueOrigin::Input(layout.name.clone()),
            dtype: layout.dtype,
            shape: layout.shape.clone(),
            candidate,
            reference: reference.values(layout).into(),
        });
    }
    Ok(pairs)
}

/// Returns whether two calls of the same side returned the same bytes.
pub(crate) fn same_bytes(pairs: &[Pair<'_>]) -> bool {
    pairs.iter().all(|pair| pair.candidate == pair.reference)
}
