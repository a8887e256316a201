//! Launches under symbolic tracing of `torch.fx`.

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

/// Records a call as a node of the graph that is being traced, if an argument is a proxy. Returns whether it was recorded.
///
/// This is called only after a call has failed, so that other calls take no extra time.
pub(super) fn record(callee: &Bound<'_, PyAny>, arguments: &Bound<'_, PyTuple>) -> PyResult<bool> {
    let py = callee.py();
    let proxy = py.import("torch.fx")?.getattr("Proxy")?;
    for argument in arguments {
        if argument.is_instance(&proxy)? {
            let node = ("call_function", callee, arguments, PyDict::new(py));
            argument.getattr("tracer")?.call_method1("create_proxy", node)?;
            return Ok(true);
        }
    }
    Ok(false)
}
