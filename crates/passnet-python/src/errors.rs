//! Errors of the native code as exceptions of Python.

use passnet_native::cuda::CudaError;
use pyo3::{PyErr, exceptions::PyRuntimeError};

/// Returns the exception for an error of the CUDA driver.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn cuda_error(error: CudaError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
