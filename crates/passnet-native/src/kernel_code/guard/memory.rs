//! Memory of arguments, and accesses outside of it.

use crate::kernel_code::keep::Access;

/// Place of tensors in a guarded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardPlace {
    /// Copies: the first byte follows a closed page. Bytes that are not a multiple of [`ALIGNMENT`] leave a gap at the other end.
    Start,
    /// Copies: the last byte precedes a closed page.
    End,
    /// The tensors themselves, where they are in timed calls too.
    Home,
    /// The tensors themselves, like [`GuardPlace::Home`], and nothing shows it: the bytes around them are those of timed calls.
    Hidden,
}

/// Copies have the address of the tensor modulo this: that of PyTorch's own memory, which kernels may rely on.
pub const ALIGNMENT: usize = 64;

/// Memory of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMemory {
    /// Place of the parameter.
    pub parameter: usize,
    /// Address of the first byte.
    pub address: usize,
    /// Bytes from the first to the last element.
    pub nbytes: usize,
    /// True if the kernel may write to it.
    pub is_written: bool,
}

/// An access outside the memory of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrayAccess {
    /// Near an argument, or a write to one that is only read.
    Near {
        /// Place of the parameter whose memory is nearest.
        parameter: usize,
        /// Bytes from the first byte of its tensor.
        offset: i64,
        /// Bytes of the tensor.
        nbytes: usize,
        /// True for a write, which within the tensor is one to an input.
        is_write: bool,
    },
    /// Elsewhere.
    Far {
        /// Name of the memory.
        place: String,
        /// Kind of the access.
        access: Access,
    },
}
