//! Tensors that share memory.

use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyTuple, PyType},
};

use super::tensor_fields::TensorFields;

/// Memory from one address up to another.
type Range = (usize, usize);

/// Returns whether one of the values at the places `written`, in ascending order, shares a storage, or memory that several storages have,
/// with another value. Values that are no tensors with a storage share nothing.
///
/// # Errors
/// If there is no value at one of the places.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python's arguments are converted to a value")]
pub(super) fn share_memory(values: &Bound<'_, PyTuple>, written: Vec<usize>) -> PyResult<bool> {
    let fields = TensorFields::get(values.py());
    let mut ranges = Vec::with_capacity(written.len());
    for &place in &written {
        ranges.extend(range(fields, &values.get_item(place)?)?);
    }
    let Some(ranges) = Written::of(ranges) else { return Ok(true) };
    for (place, value) in values.iter().enumerate() {
        if written.binary_search(&place).is_err() && range(fields, &value)?.is_some_and(|other| ranges.meets(other)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Ranges that do not meet each other, in order.
struct Written(Vec<Range>);

impl Written {
    /// Returns `None` if some of the ranges meet.
    fn of(mut ranges: Vec<Range>) -> Option<Self> {
        ranges.retain(|(start, end)| start < end);
        ranges.sort_unstable();
        let is_separate = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        is_separate.then_some(Self(ranges))
    }

    /// Returns whether a range that is not empty meets one of these.
    fn meets(&self, (start, end): Range) -> bool {
        let first = self.0.partition_point(|&(_, last)| last <= start);
        start < end && self.0.get(first).is_some_and(|&(begin, _)| begin < end)
    }
}

/// Returns the memory of the storage of a tensor.
fn range(fields: Option<TensorFields>, value: &Bound<'_, PyAny>) -> PyResult<Option<Range>> {
    if !is_tensor(value)? {
        return Ok(None);
    }
    if let Some(fields) = fields {
        return Ok(fields.memory(value));
    }
    // Sparse tensors have no storage. The address of a storage's object takes the place of its memory.
    let py = value.py();
    let storage = value.call_method0(intern!(py, "untyped_storage")).ok();
    let address = storage.map(|storage| storage.getattr(intern!(py, "_cdata"))?.extract::<usize>()).transpose()?;
    Ok(address.map(|address| (address, address + 1)))
}

fn is_tensor(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static PARAMETER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (py, of) = (value.py(), value.get_type());
    let tensor = TENSOR.import(py, "torch", "Tensor")?;
    // Python takes longer to decide this, so first the usual types.
    Ok(of.is(tensor) || of.is(PARAMETER.import(py, "torch.nn", "Parameter")?) || value.is_instance(tensor)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_written_memory_must_not_meet_other_memory() {
        let cases: [(&[Range], &[Range], bool); 9] = [
            (&[], &[(0, 9)], false),
            (&[(8, 16)], &[], false),
            (&[(8, 16)], &[(16, 24), (0, 8), (9, 9)], false),
            (&[(8, 16)], &[(8, 16)], true),
            (&[], &[(8, 16), (8, 16)], false),
            (&[(12, 16)], &[(8, 32)], true),
            (&[(40, 50), (8, 32)], &[(33, 34), (9, 10)], true),
            (&[(8, 16), (12, 24)], &[], true),
            (&[(20, 24), (8, 8), (0, 4)], &[(4, 20)], false),
        ];
        for (written, others, expected) in cases {
            let found =
                Written::of(written.to_vec()).is_none_or(|written| others.iter().any(|&other| written.meets(other)));
            assert_eq!(found, expected, "{written:?} {others:?}");
        }
    }
}
