//! Overwriting unused results, so that nothing can be read from their memory later.

use pyo3::{
    intern,
    prelude::*,
    types::{PyBool, PyFloat, PyInt, PyList, PyTuple},
};

use crate::cuda;

/// Byte that outputs are overwritten with: not a number, as any floating-point type.
const POISON: u8 = 0xFF;

/// Values that a call returned, as a list.
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
    /// References to the storage, one of them this program's own.
    references: usize,
    is_on_cuda: bool,
}

impl ResultMemory {
    /// Returns the memory of a plain tensor on the CPU or on a CUDA device that nothing but its result refers to.
    fn of(value: &Bound<'_, PyAny>) -> Option<Self> {
        let py = value.py();
        // SAFETY: `value` is a live object.
        #[expect(unsafe_code, reason = "a count that only the interpreter's own interface has")]
        let references = unsafe { pyo3::ffi::Py_REFCNT(value.as_ptr()) };
        let is = |name| value.getattr(name).and_then(|value| value.is_truthy()).unwrap_or(false);
        let is_on_cuda = is(intern!(py, "is_cuda"));
        // One reference here, and one in the tuple or list, or the caller's if the result is the tensor itself.
        if references != 2 || !(is_on_cuda || is(intern!(py, "is_cpu"))) {
            return None;
        }
        // Sparse tensors have none.
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

    fn overwrite(&self) {
        // A bool is 0 or 1 to any code that reads it.
        let byte = if self.element == 1 { 1 } else { POISON };
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

/// Overwrites the memory of each tensor of a result without other references. Returns true if all values are of the type
/// `torch.Tensor` itself, of numbers, or `None`: reading their attributes runs no code of a pass.
pub(super) fn overwrite_all(result: &Bound<'_, PyAny>) -> bool {
    let values = values(result);
    let memories: Vec<ResultMemory> = values.iter().filter_map(ResultMemory::of).collect();
    for memory in &memories {
        let sharing = memories.iter().filter(|other| other.address == memory.address).count();
        // An input, or a constant of the graph, has more references than those of the result.
        if memory.address != 0 && memory.nbytes > 0 && memory.references <= sharing + 1 {
            memory.overwrite();
        }
    }
    values.iter().all(is_plain)
}

fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    let is_tensor = || py.import(intern!(py, "torch"))?.getattr(intern!(py, "Tensor"));
    let class = value.get_type();
    value.is_none()
        || is_tensor().is_ok_and(|tensor| class.is(&tensor))
        || class.is(py.get_type::<PyInt>())
        || class.is(py.get_type::<PyFloat>())
        || class.is(py.get_type::<PyBool>())
}

/// Overwrites the memory of each tensor of a result that only the caller holds.
#[pyfunction]
pub(super) fn overwrite(result: &Bound<'_, PyAny>) {
    overwrite_all(result);
}
