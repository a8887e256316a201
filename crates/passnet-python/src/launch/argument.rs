//! Conversion of Python arguments to words of a launch.

use passnet_native::cuda::Grid;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::PyTuple,
};

/// Kind of a parameter, which determines how an argument is passed to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pointer,
    Integer,
    Float,
    Double,
}

impl Kind {
    /// Parses the codes `*`, `i`, `f` and `d`.
    pub(super) fn parse(code: char) -> PyResult<Self> {
        match code {
            '*' => Ok(Self::Pointer),
            'i' => Ok(Self::Integer),
            'f' => Ok(Self::Float),
            'd' => Ok(Self::Double),
            other => Err(PyValueError::new_err(format!("`{other}` is no kind of argument"))),
        }
    }
}

pub(super) fn address(tensor: &Bound<'_, PyAny>) -> PyResult<u64> {
    tensor.call_method0(intern!(tensor.py(), "data_ptr"))?.extract()
}

/// Returns the bits of a signed or unsigned integer.
pub(super) fn integer(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract::<i64>().map(i64::cast_unsigned).or_else(|_| value.extract::<u64>())
}

/// Returns the value of a kernel's parameter in the low bytes of a word.
pub(super) fn word(kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match kind {
        Kind::Pointer => address(value),
        Kind::Integer => integer(value),
        Kind::Float => Ok(u64::from((value.extract::<f64>()? as f32).to_bits())),
        Kind::Double => Ok(value.extract::<f64>()?.to_bits()),
    }
}

pub(super) fn grid_of(value: &Bound<'_, PyAny>) -> PyResult<Grid> {
    let sizes = value.cast::<PyTuple>().map_err(|_| PyTypeError::new_err("a grid is a tuple of one to three sizes"))?;
    if !(1..=3).contains(&sizes.len()) {
        return Err(PyValueError::new_err("a grid has one to three sizes"));
    }
    let mut grid = [1; 3];
    for (size, value) in grid.iter_mut().zip(sizes.iter()) {
        *size = value.extract()?;
    }
    Ok(grid)
}

/// Returns the current stream of PyTorch, found by PyTorch's function.
pub(super) fn current_stream(function: &Py<PyAny>, py: Python<'_>, device: i32) -> PyResult<usize> {
    function.bind(py).call1((device,))?.extract()
}
