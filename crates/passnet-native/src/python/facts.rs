//! Facts about the modules of a model that are cheap to check before each call.

use pyo3::{prelude::*, types::PyDict};

/// Entries of dictionaries that have to be the same objects as when the model was captured: flags such as `training`, and
/// buffers, which `Module.to` replaces.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct ModuleFacts {
    entries: Vec<(Py<PyDict>, Py<PyAny>, Py<PyAny>)>,
}

#[pymethods]
impl ModuleFacts {
    /// `entries` are a dictionary, a key of it, and the value that is expected there.
    #[new]
    const fn new(entries: Vec<(Py<PyDict>, Py<PyAny>, Py<PyAny>)>) -> Self {
        Self { entries }
    }

    /// Returns whether all entries are the expected objects.
    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        for (dictionary, key, expected) in &self.entries {
            match dictionary.bind(py).get_item(key)? {
                Some(value) if value.is(expected) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}
