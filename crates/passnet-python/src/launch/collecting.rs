//! Collection of launches: they are passed to a collector and not made, to find the kernels that a function needs before it is called.

use std::cell::RefCell;

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

thread_local! {
    static COLLECTOR: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Begins a collection in this thread: instead of a launch of a Triton kernel, `collector(function, arguments, named)` is called.
/// Functions with plans run their Python code meanwhile. `None` ends the collection.
#[pyfunction]
#[pyo3(signature = (collector))]
pub(crate) fn collect_launches(collector: Option<Py<PyAny>>) {
    COLLECTOR.set(collector);
}

pub(super) fn is_collecting() -> bool {
    COLLECTOR.with_borrow(Option::is_some)
}

/// Passes a launch to the collector of this thread. Returns false if there is no collector.
pub(super) fn collected(
    py: Python<'_>,
    function: &Py<PyAny>,
    arguments: &Bound<'_, PyTuple>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<bool> {
    // The collector is not called while it is borrowed: it is Python code, which may end the collection.
    let Some(collector) = COLLECTOR.with_borrow(|collector| collector.as_ref().map(|found| found.clone_ref(py))) else {
        return Ok(false);
    };
    collector.call1(py, (function, arguments, named))?;
    Ok(true)
}
