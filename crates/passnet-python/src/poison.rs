//! Overwriting unused results, so that nothing can be read from their memory later.

use passnet_native::{cuda, heap::FILLER};
use pyo3::{
    intern,
    prelude::*,
    types::{PyBool, PyFloat, PyInt, PyList, PyTuple},
};

use super::tensor_fields::{PlainStorage, TensorFields, is_plain_tensor};

/// Returns the values that a call returned, as a list.
pub(super) fn values<'py>(result: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    if let Ok(tuple) = result.cast::<PyTuple>() {
        return tuple.iter().collect();
    }
    match result.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => vec![result.clone()],
    }
}

/// Memory of one tensor of a result.
struct ResultMemory {
    address: usize,
    nbytes: usize,
    element: usize,
    /// Number of references to the storage, including one that this module has.
    references: usize,
    is_on_cuda: bool,
}

impl ResultMemory {
    /// Returns the memory of a tensor of the type `torch.Tensor` itself, with almost no calls of Python.
    fn without_python(value: &Bound<'_, PyAny>) -> Option<Self> {
        let py = value.py();
        let fields = TensorFields::get(py).filter(|_| is_plain_tensor(value))?;
        let PlainStorage { address, nbytes, references, is_on_cuda } = fields.read(value)?;
        let element = value.call_method0(intern!(py, "element_size")).ok()?.extract().ok()?;
        Some(Self { address, nbytes, element, references: references + 1, is_on_cuda })
    }

    /// Returns the memory of any plain tensor on the CPU or on a CUDA device.
    fn of(value: &Bound<'_, PyAny>) -> Option<Self> {
        let py = value.py();
        let is = |name| value.getattr(name).and_then(|value| value.is_truthy()).unwrap_or(false);
        let is_on_cuda = is(intern!(py, "is_cuda"));
        if !(is_on_cuda || is(intern!(py, "is_cpu"))) {
            return None;
        }
        // Sparse tensors have no storage.
        let storage = value.call_method0(intern!(py, "untyped_storage")).ok()?;
        let count = py.import(intern!(py, "torch._C")).ok()?.getattr(intern!(py, "_storage_Use_Count")).ok()?;
        let number = |value: PyResult<Bound<'_, PyAny>>| value.ok()?.extract::<usize>().ok();
        Some(Self {
            address: number(storage.call_method0(intern!(py, "data_ptr")))?,
            nbytes: number(storage.call_method0(intern!(py, "nbytes")))?,
            element: number(value.call_method0(intern!(py, "element_size")))?,
            references: number(count.call1((storage.getattr(intern!(py, "_cdata")).ok()?,)))?,
            is_on_cuda,
        })
    }

    /// Returns whether only tensors of the result refer to the memory. An input, or a constant of the graph, has more references.
    fn is_free(&self, all: &[Self]) -> bool {
        self.references <= 1 + all.iter().filter(|other| other.address == self.address).count()
    }

    fn overwrite(&self) {
        if self.address == 0 || self.nbytes == 0 {
            return;
        }
        // Code that reads a bool expects 0 or 1.
        let byte = if self.element == 1 { 1 } else { FILLER };
        // SAFETY: the storage has `nbytes` writable bytes on its device, and only the result refers to it.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        unsafe {
            if self.is_on_cuda {
                // An error of the device is sticky: the synchronisation before the next call reports it.
                let _ = cuda::overwrite(self.address, byte, self.nbytes);
            } else {
                std::ptr::write_bytes(self.address as *mut u8, byte, self.nbytes);
            }
        }
    }
}

/// Overwrites the memory of each tensor of a result without other references. Returns true if all values are numbers, `None`, or of the
/// type `torch.Tensor` itself. Reading attributes of such values runs no code of a pass.
pub(super) fn overwrite_all(result: &Bound<'_, PyAny>) -> bool {
    let values = values(result);
    let owned: Vec<_> = values.iter().filter(|value| is_owned(value)).collect();
    let fast: Option<Vec<_>> = owned.iter().map(|value| ResultMemory::without_python(value)).collect();
    let memories = match fast {
        Some(memories) if memories.iter().all(|memory| memory.is_free(&memories)) => memories,
        // A further reference is either a Python object for the storage or another user. Python's reference count shows which.
        _ => owned.iter().filter_map(|value| ResultMemory::of(value)).collect(),
    };
    memories.iter().filter(|memory| memory.is_free(&memories)).for_each(ResultMemory::overwrite);
    values.iter().all(is_plain)
}

/// Returns whether only the result refers to a value.
fn is_owned(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: `value` is a live object.
    #[expect(unsafe_code, reason = "a count that only the interpreter's own interface has")]
    let references = unsafe { pyo3::ffi::Py_REFCNT(value.as_ptr()) };
    // One reference is in the list of values. The other is in the tuple or list of the result, or is that of the caller if the result is
    // the tensor itself.
    references == 2
}

fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    let class = value.get_type();
    value.is_none()
        || is_plain_tensor(value)
        || class.is(py.get_type::<PyInt>())
        || class.is(py.get_type::<PyFloat>())
        || class.is(py.get_type::<PyBool>())
}

/// Overwrites the memory of each tensor of a result to which only the caller has references.
#[pyfunction]
pub(super) fn overwrite(result: &Bound<'_, PyAny>) {
    overwrite_all(result);
}
