//! Memory for the inputs of timed calls.

use passnet_native::input_memory;
use pyo3::prelude::*;

/// Memory of a set of inputs in host memory.
#[pyclass(frozen, module = "passnet._native")]
pub(super) struct InputMemory(input_memory::InputMemory);

#[pymethods]
impl InputMemory {
    /// Memory for inputs of these sizes in bytes.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python")]
    fn new(sizes: Vec<usize>) -> PyResult<Self> {
        Ok(Self(input_memory::InputMemory::new(&sizes)?))
    }

    /// Returns the address of each input.
    fn addresses(&self) -> Vec<usize> {
        self.0.addresses()
    }
}

impl InputMemory {
    /// Returns whether nothing has written next to an input since the last time.
    pub(super) fn margins_are_intact(&self) -> bool {
        self.0.margins_are_intact()
    }
}
