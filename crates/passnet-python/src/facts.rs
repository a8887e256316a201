//! Facts about the modules of a model and other Python objects that are cheap to check before each call.

use pyo3::{
    prelude::*,
    types::{PyDict, PyString, PyTuple, PyType},
};

type Expected<T, K> = (Py<T>, Py<K>, Py<PyAny>);

/// Facts that have to be the same as when a model was captured: identities of objects, and lengths, keys and members of containers.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct ModuleFacts {
    entries: Vec<Expected<PyDict, PyAny>>,
    members: Vec<Expected<PyAny, PyString>>,
    items: Vec<Expected<PyAny, PyAny>>,
    sizes: Vec<(Py<PyAny>, usize)>,
    keys: Vec<(Py<PyDict>, Py<PyTuple>)>,
    members_of: Vec<(Py<PyAny>, Py<PyAny>, bool)>,
    calls: Vec<(Py<PyAny>, Py<PyAny>)>,
    classes: Vec<(Py<PyAny>, Py<PyType>)>,
}

#[pymethods]
impl ModuleFacts {
    /// `entries` are a dictionary, a key of it, and the value that is expected there; `members` an object, the name of an
    /// attribute and its value; `items` a sequence, a place and its value; `sizes` a container and its length; `keys` a
    /// dictionary and its first keys; `members_of` a container, an object, and whether it is in the container; `calls` a
    /// function and the object that it returns; `classes` an object and its class.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "one list for each kind of fact")]
    const fn new(
        entries: Vec<Expected<PyDict, PyAny>>,
        members: Vec<Expected<PyAny, PyString>>,
        items: Vec<Expected<PyAny, PyAny>>,
        sizes: Vec<(Py<PyAny>, usize)>,
        keys: Vec<(Py<PyDict>, Py<PyTuple>)>,
        members_of: Vec<(Py<PyAny>, Py<PyAny>, bool)>,
        calls: Vec<(Py<PyAny>, Py<PyAny>)>,
        classes: Vec<(Py<PyAny>, Py<PyType>)>,
    ) -> Self {
        Self { entries, members, items, sizes, keys, members_of, calls, classes }
    }

    /// Returns whether all facts hold. A missing attribute or item means false.
    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        for (object, expected) in &self.classes {
            if !object.bind(py).get_type().is(expected) {
                return Ok(false);
            }
        }
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
        for (dictionary, expected) in &self.keys {
            let (dictionary, expected) = (dictionary.bind(py), expected.bind(py));
            // Keys are compared by identity, because a comparison by value could run Python code that changes the dictionary.
            if dictionary.len() < expected.len()
                || dictionary.iter().zip(expected.iter()).any(|((key, _), known)| !key.is(&known))
            {
                return Ok(false);
            }
        }
        for (container, object, expected) in &self.members_of {
            if container.bind(py).contains(object)? != *expected {
                return Ok(false);
            }
        }
        for (function, expected) in &self.calls {
            match function.bind(py).call0() {
                Ok(value) if value.is(expected) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}
