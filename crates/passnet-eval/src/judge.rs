//! Comparison of the candidate's values with the reference's.

use std::{borrow::Cow, collections::BTreeSet, io};

use passnet_record::{DType, OutputComparison, OutputValue, Remark, Status, TensorValue, WorkerNote};
use serde_json::json;

use crate::{
    block::InputBlock,
    compare::{Comparison, compare, loosely_close},
    failure::Failure,
    inputs::Content,
    worker::Returned,
};

/// One value of both sides, of the same type and shape.
pub(crate) struct Pair<'a> {
    /// `output 0`, or ``mutated input `x` ``.
    label: String,
    dtype: DType,
    shape: Vec<u64>,
    candidate: Cow<'a, [u8]>,
    reference: Cow<'a, [u8]>,
}

impl Pair<'_> {
    /// True if the reference's value has the bytes of an input of its type and shape.
    pub(crate) fn is_input(&self, inputs: &InputBlock) -> io::Result<bool> {
        for layout in inputs.layouts(0).filter(|layout| layout.dtype == self.dtype && layout.shape == self.shape) {
            if inputs.read(&layout)? == *self.reference {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Error of pairing values.
#[derive(Debug)]
pub(crate) enum PairError {
    /// They differ in number, type or shape.
    Failure(Failure),
    /// The inputs could not be read back.
    Io(io::Error),
}

/// The values that a call returned and changed, in the order in which they are reported: outputs by position, then the
/// inputs that the reference changes. `None` on both sides is no value.
pub(crate) fn pair<'a>(
    reference: &'a Returned,
    candidate: &'a Returned,
    inputs: &InputBlock,
    set: usize,
    guard_inputs: bool,
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
    if guard_inputs {
        refuse_extra_mutations(reference, candidate).map_err(PairError::Failure)?;
        refuse_handed_out_inputs(reference, candidate).map_err(PairError::Failure)?;
    }
    pairs.extend(pair_mutations(reference, candidate, inputs, set)?);
    Ok(pairs)
}

fn pair_values<'a>(
    index: usize,
    (reference, expected): (&'a Returned, &'a OutputValue),
    (candidate, got): (&'a Returned, &'a OutputValue),
) -> Result<Option<Pair<'a>>, Failure> {
    let mismatch = |status, code: &str, what: &str, expected: String, got: String| {
        let message = format!("output {index}: expected {what} {expected}, got {got}");
        Failure::new(status, code, message).with_detail(json!({"output": index, "expected": expected, "got": got}))
    };
    match (expected, got) {
        (OutputValue::None, OutputValue::None) => Ok(None),
        (
            OutputValue::Tensor { layout: expected, device: expected_device, .. },
            OutputValue::Tensor { layout: got, device: got_device, .. },
        ) => {
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
                label: format!("output {index}"),
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
            Ok(Some(Pair { label: format!("output {index}"), dtype, shape: Vec::new(), candidate, reference }))
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

/// An output that is an input, where the graph makes a new tensor: what is written to the one shows in the other.
fn refuse_handed_out_inputs(reference: &Returned, candidate: &Returned) -> Result<(), Failure> {
    let extra = candidate.outputs.notes.iter().find_map(|note| match note {
        WorkerNote::AliasesInput { output, input } if !reference.outputs.notes.contains(note) => Some((output, input)),
        _ => None,
    });
    let Some((output, input)) = extra else { return Ok(()) };
    let message = format!(
        "output {output} shares its memory with input `{input}`, where the graph returns memory of its own; return a new tensor"
    );
    Err(Failure::new(Status::Integrity, "output_is_input", message)
        .with_detail(json!({"output": output, "input": input})))
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
            Err(failure.with_detail(json!({"input": extra.name})))
        }
    }
}

fn pair_mutations<'a>(
    reference: &'a Returned,
    candidate: &'a Returned,
    inputs: &InputBlock,
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
            // Not written to: compared with what the input held, it shows as a difference.
            None => match inputs.layouts(set).find(|input| input.name == layout.name) {
                Some(input) => Cow::Owned(inputs.read(&input).map_err(PairError::Io)?),
                None => continue,
            },
        };
        pairs.push(Pair {
            label: format!("mutated input `{}`", layout.name),
            dtype: layout.dtype,
            shape: layout.shape.clone(),
            candidate,
            reference: reference.values(layout).into(),
        });
    }
    Ok(pairs)
}

/// Agreement over the rounds that count.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    outputs: Vec<Tallied>,
}

#[derive(Debug)]
struct Tallied {
    label: String,
    dtype: DType,
    shape: Vec<u64>,
    worst: Comparison,
}

impl Tally {
    /// Adds one round.
    pub(crate) fn add(&mut self, pairs: &[Pair<'_>], correct_at: i32) {
        for (index, pair) in pairs.iter().enumerate() {
            let comparison = compare(pair.dtype, &pair.candidate, &pair.reference, correct_at);
            match self.outputs.get_mut(index) {
                Some(tallied) => tallied.worst = tallied.worst.clone().worst_of(comparison),
                None => self.outputs.push(Tallied {
                    label: pair.label.clone(),
                    dtype: pair.dtype,
                    shape: pair.shape.clone(),
                    worst: comparison,
                }),
            }
        }
    }

    /// Smallest tolerance at which everything was close; `None` if at none.
    pub(crate) fn tolerance(&self) -> Option<i32> {
        self.outputs
            .iter()
            .map(|tallied| tallied.worst.tolerance)
            .try_fold(i32::MIN, |worst, t| Some(worst.max(t?)))
            .map(|t| t.max(crate::compare::FIRST_TOLERANCE))
    }

    /// The report per output.
    pub(crate) fn report(&self) -> Vec<OutputComparison> {
        let outputs = self.outputs.iter().enumerate().map(|(index, tallied)| OutputComparison {
            index,
            dtype: tallied.dtype,
            shape: tallied.shape.clone(),
            tolerance: tallied.worst.tolerance,
            equal: tallied.worst.equal,
            max_abs_diff: tallied.worst.max_abs_diff,
            max_rel_diff: tallied.worst.max_rel_diff,
            worst_index: tallied.worst.worst.as_ref().map(|worst| worst.index),
            mismatched: tallied.worst.mismatched,
        });
        outputs.collect()
    }

    /// The failure, if some output is not close at the demanded tolerance.
    pub(crate) fn failure(&self, correct_at: i32) -> Option<Failure> {
        let bad = self.outputs.iter().find(|tallied| tallied.worst.tolerance.is_none_or(|t| t > correct_at))?;
        let Comparison { mismatched, non_finite, worst, tolerance, .. } = &bad.worst;
        let total: u64 = bad.shape.iter().product();
        let bound = passnet_score::tolerance(bad.dtype, correct_at)
            .map_or("exact equality".to_owned(), |(rtol, atol)| format!("rtol {rtol:.1e} and atol {atol:.1e}"));
        let mut message = format!(
            "{} ({} {:?}): {mismatched} of {total} elements are not within {bound} (t = {correct_at})",
            bad.label, bad.dtype, bad.shape
        );
        if let Some(worst) = worst {
            let place = unravel(worst.index, &bad.shape);
            message.push_str(&format!("; worst at {place:?}: got {}, expected {}", worst.candidate, worst.reference));
        }
        match tolerance {
            Some(t) => message.push_str(&format!(". It is close from t = {t} on")),
            None => message.push_str(". It is close at no tolerance"),
        }
        let (status, code) = if *non_finite > 0 {
            message.push_str(&format!("; {non_finite} elements are NaN or infinite where the reference is finite"));
            (Status::NonFinite, "non_finite")
        } else {
            (Status::Accuracy, "output_differs")
        };
        Some(Failure::new(status, code, message))
    }
}

/// Judges a round of adversarial inputs.
pub(crate) fn judge_loosely(pairs: &[Pair<'_>], content: Content) -> Result<(), Failure> {
    for pair in pairs {
        if let Err(bad) = loosely_close(pair.dtype, &pair.candidate, &pair.reference) {
            let place = unravel(bad.index, &pair.shape);
            let message = format!(
                "{} ({} {:?}) is wrong for `{content}` inputs: at {place:?} got {}, expected {} (allowed difference {:.1e}); \
                 the rewrite must hold for all inputs, not only for those like the sample's",
                pair.label, pair.dtype, pair.shape, bad.candidate, bad.reference, bad.allowed
            );
            let (status, code) = if bad.non_finite {
                (Status::NonFinite, "adversarial_non_finite")
            } else {
                (Status::Accuracy, "adversarial_differs")
            };
            return Err(Failure::new(status, code, message).with_detail(json!({"content": content.name()})));
        }
    }
    Ok(())
}

/// Judges outputs of a timed call: close at `at`, or not comparable because the reference itself is not finite there.
pub(crate) fn judge_timed(pairs: &[Pair<'_>], at: i32) -> Result<(), Failure> {
    for pair in pairs {
        let comparison = compare(pair.dtype, &pair.candidate, &pair.reference, at);
        let own = compare(pair.dtype, &pair.reference, &pair.reference, at);
        if comparison.tolerance.is_none_or(|t| t > at) && own.equal {
            let worst = comparison.worst.map(|worst| {
                let place = unravel(worst.index, &pair.shape);
                format!("; worst at {place:?}: got {}, expected {}", worst.candidate, worst.reference)
            });
            let message = format!(
                "{} ({} {:?}) of a timed call is wrong although checked calls were right{}: timed calls must do the same work",
                pair.label,
                pair.dtype,
                pair.shape,
                worst.unwrap_or_default()
            );
            return Err(Failure::new(Status::Integrity, "timed_output_differs", message));
        }
    }
    Ok(())
}

/// True if two calls of the same side returned the same bytes.
pub(crate) fn same_bytes(pairs: &[Pair<'_>]) -> bool {
    pairs.iter().all(|pair| pair.candidate == pair.reference)
}

/// Index per dimension of a flat row-major index.
fn unravel(mut index: u64, shape: &[u64]) -> Vec<u64> {
    let mut place = vec![0; shape.len()];
    for (position, &extent) in place.iter_mut().zip(shape).rev() {
        *position = index % extent.max(1);
        index /= extent.max(1);
    }
    place
}

/// Remarks on returned values that do not change the verdict: stride, aliasing.
pub(crate) fn remarks(reference: &Returned, candidate: &Returned) -> BTreeSet<Remark> {
    let mut notes = BTreeSet::new();
    for (index, values) in reference.outputs.values.iter().zip(&candidate.outputs.values).enumerate() {
        if let (OutputValue::Tensor { stride: a, .. }, OutputValue::Tensor { stride: b, .. }) = values
            && a != b
        {
            notes.insert(Remark::StrideDiffers { output: index });
        }
    }
    let is_alias =
        |note: &&WorkerNote| matches!(note, WorkerNote::AliasesInput { .. } | WorkerNote::AliasesOutput { .. });
    let extra = candidate.outputs.notes.iter().filter(is_alias).filter(|note| !reference.outputs.notes.contains(note));
    notes.extend(extra.cloned().map(Remark::Worker));
    notes
}

#[cfg(test)]
mod tests;
