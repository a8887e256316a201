//! Compiled functions of C++.

use std::cell::Cell;

use passnet_native::{
    census,
    kernel_code::{self, Entry, Range},
};
use passnet_objects::StackUse;
use pyo3::prelude::*;

/// The function through which a kernel is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) entry: Entry,
    /// Stack to clear before a call; `None` for a kernel that was not judged, which is called directly.
    pub(super) stack: Option<StackUse>,
    /// The parameters that are a range, if the signature has a range.
    pub(super) range: Option<Range>,
}

thread_local! {
    /// True once PyTorch has set the number of threads that this thread may use.
    static KNOWS_THREADS: Cell<bool> = const { Cell::new(false) };
}

/// Makes PyTorch set the number of threads of a parallel loop in this thread. PyTorch does this when it is first asked for the number.
fn set_threads(py: Python<'_>) -> PyResult<()> {
    if !KNOWS_THREADS.get() {
        py.import("torch")?.call_method0("get_num_threads")?;
        KNOWS_THREADS.set(true);
    }
    Ok(())
}

impl Function {
    /// Calls the function, and lets other threads of Python run meanwhile.
    ///
    /// # Errors
    ///
    /// If the kernel has a range and PyTorch's number of threads cannot be read.
    ///
    /// # Safety
    ///
    /// There must be a word for each parameter, and the memory that the function accesses through them must be valid.
    #[expect(unsafe_code, reason = "the caller vouches for the arguments")]
    pub(super) unsafe fn call(self, py: Python<'_>, words: &[u64]) -> PyResult<()> {
        if self.begin(py)? {
            // SAFETY: the caller guarantees the requirements.
            unsafe { self.run(py, words) }
        }
        Ok(())
    }

    /// Counts a launch and prepares it. Returns whether the launch should be made.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub(super) fn begin(self, py: Python<'_>) -> PyResult<bool> {
        if !census::launch() {
            return Ok(false);
        }
        if self.range.is_some() {
            set_threads(py)?;
        }
        Ok(true)
    }

    /// Calls the function for a launch that was begun.
    ///
    /// # Safety
    ///
    /// As [`call`](Self::call).
    #[expect(unsafe_code, reason = "the caller vouches for the arguments")]
    pub(super) unsafe fn run(self, py: Python<'_>, words: &[u64]) {
        // SAFETY: the caller guarantees the requirements.
        py.detach(|| unsafe {
            match (self.range, self.stack.filter(|_| kernel_code::hides_state())) {
                (Some(range), stack) => kernel_code::call_split(self.entry, words, stack, range),
                (None, Some(stack)) => kernel_code::call(self.entry, words, stack),
                (None, None) => (self.entry)(words.as_ptr()),
            }
        });
    }
}
