//! Facts about the modules of a model and other Python objects that are cheap to check before each call.

use pyo3::{
    prelude::*,
    types::{PyDict, PyString},
};

type Expected<T, K> = (Py<T>, Py<K>, Py<PyAny>);

/// Objects that have to be the same as when a model was captured, and lengths of containers.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct ModuleFacts {
    entries: Vec<Expected<PyDict, PyAny>>,
    members: Vec<Expected<PyAny, PyString>>,
    items: Vec<Expected<PyAny, PyAny>>,
    sizes: Vec<(Py<PyAny>, usize)>,
}

#[pymethods]
impl ModuleFacts {
    /// `entries` are a dictionary, a key of it, and the value that is expected there; `members` an object, the name of an
    /// attribute and its value; `items` a sequence, a place and its value; `sizes` a container and its length.
    #[new]
    const fn new(
        entries: Vec<Expected<PyDict, PyAny>>,
        members: Vec<Expected<PyAny, PyString>>,
        items: Vec<Expected<PyAny, PyAny>>,
        sizes: Vec<(Py<PyAny>, usize)>,
    ) -> Self {
        Self { entries, members, items, sizes }
    }

    /// Returns whether all is as expected. An attribute or item that is gone is not.
    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        for (container, size) in &self.sizes {
            if container.bind(py).len()? != *size {
                return Ok(false);
            }
        }
        for (dictionary, key, expected) in &self.entries {
            match dictionary.bind(py).get_item(key)? {
                Some(value) if value.is(expected) => {}
                _ => return Ok(false),
            }
        }
        for (object, name, expected) in &self.members {
            match object.bind(py).getattr(name) {
                Ok(value) if value.is(expected) => {}
                _ => return Ok(false),
            }
        }
        for (sequence, place, expected) in &self.items {
            match sequence.bind(py).get_item(place) {
                Ok(value) if value.is(expected) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}
