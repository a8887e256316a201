//! Tensors that share memory.

use passnet_native::ranges::{MemoryRange, SeparateRanges};
use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyTuple, PyType},
};

use super::tensor_fields::TensorFields;

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
    let Some(ranges) = SeparateRanges::of(ranges) else { return Ok(true) };
    for (place, value) in values.iter().enumerate() {
        if written.binary_search(&place).is_err() && range(fields, &value)?.is_some_and(|other| ranges.meets(other)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the memory of the storage of a tensor.
fn range(fields: Option<TensorFields>, value: &Bound<'_, PyAny>) -> PyResult<Option<MemoryRange>> {
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
