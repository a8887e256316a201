//! Functions for the memory of containers, which C++ calls by the names of the C and C++ libraries.

use std::ffi::{c_char, c_void};

/// Memory of the containers of kernels. All of it is zero when it is allocated.
pub(super) trait MemoryFunctions {
    /// `malloc` and `operator new`. Does not return if the memory is not there.
    extern "C" fn allocate(bytes: usize) -> *mut c_void;

    /// `operator new` with an alignment, a power of two. Does not return if the memory is not there.
    extern "C" fn allocate_aligned(bytes: usize, alignment: usize) -> *mut c_void;

    /// `free` and `operator delete`.
    extern "C" fn release(memory: *mut c_void);

    /// Ends the process. The C++ library calls it where it would throw an exception, such as for a vector that is too long.
    extern "C" fn give_up(message: *const c_char) -> !;

    /// `calloc`. Fails if the product is too large.
    extern "C" fn allocate_elements(count: usize, bytes: usize) -> *mut c_void {
        Self::allocate(count.saturating_mul(bytes))
    }

    /// `aligned_alloc`.
    extern "C" fn allocate_at(alignment: usize, bytes: usize) -> *mut c_void {
        Self::allocate_aligned(bytes, alignment)
    }

    /// Returns the address of the function with a name of the C or C++ library; `None` if it is no function for memory.
    fn address(name: &str) -> Option<usize> {
        Some(match name {
            "_Znwm" | "_Znam" | "malloc" => Self::allocate as *const () as usize,
            "calloc" => Self::allocate_elements as *const () as usize,
            "_ZnwmSt11align_val_t" => Self::allocate_aligned as *const () as usize,
            "aligned_alloc" => Self::allocate_at as *const () as usize,
            "free" => Self::release as *const () as usize,
            _ if name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv") => Self::release as *const () as usize,
            _ if name.starts_with("_ZSt") => Self::give_up as *const () as usize,
            _ => return None,
        })
    }
}
