//! Compiled functions of C++.

use passnet_objects::StackUse;
use pyo3::prelude::*;

use crate::{
    census,
    kernel_code::{self, Entry},
};

/// The function through which a kernel is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) entry: Entry,
    /// Stack to clear before a call; `None` for a kernel that was not judged, which is called directly.
    pub(super) stack: Option<StackUse>,
}

impl Function {
    /// Calls the function, and lets other threads of Python run meanwhile.
    ///
    /// # Safety
    ///
    /// There is a word for each of its parameters, and the memory that it touches through them is there.
    #[expect(unsafe_code, reason = "the caller vouches for the arguments")]
    pub(super) unsafe fn call(self, py: Python<'_>, words: &[u64]) {
        if census::launch() {
            // SAFETY: the caller's word.
            py.detach(|| unsafe {
                match self.stack {
                    Some(stack) => kernel_code::call(self.entry, words, stack),
                    None => (self.entry)(words.as_ptr()),
                }
            });
        }
    }
}
