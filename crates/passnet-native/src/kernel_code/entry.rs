//! The calling convention of kernels.

/// The function through which a kernel is called: it takes the kernel's arguments as words in memory.
pub type Entry = unsafe extern "C" fn(*const u64);
