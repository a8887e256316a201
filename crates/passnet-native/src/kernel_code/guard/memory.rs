//! Memory of arguments, and accesses outside of it.

use crate::kernel_code::keep::Access;

/// Place of tensors in a guarded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardPlace {
    /// Copies whose first byte follows a closed page. If the number of bytes is not a multiple of [`ALIGNMENT`], there is a gap at the
    /// other end.
    Start,
    /// Copies whose last byte precedes a closed page.
    End,
    /// The tensors themselves, at the same addresses as in timed calls.
    Home,
    /// The tensors themselves, like [`GuardPlace::Home`]. The bytes around them are also those of timed calls, so that the kernel cannot
    /// detect the check.
    Hidden,
}

/// Copies have the same address as the tensor modulo this number of bytes. It is the alignment of PyTorch's memory, which kernels may
/// rely on.
pub const ALIGNMENT: usize = 64;

/// Memory of a tensor argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMemory {
    /// Place of the parameter.
    pub parameter: usize,
    /// Address of the first byte.
    pub address: usize,
    /// Number of bytes from the first to the last element.
    pub nbytes: usize,
    /// True if the kernel may write to it.
    pub is_written: bool,
}

/// An access outside the memory of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrayAccess {
    /// An access near an argument, or a write to a read-only argument.
    Near {
        /// Place of the parameter whose memory is nearest.
        parameter: usize,
        /// Distance in bytes from the first byte of the tensor.
        offset: i64,
        /// Number of bytes of the tensor.
        nbytes: usize,
        /// True for a write. Within the tensor, this means a write to an input.
        is_write: bool,
    },
    /// An access to any other memory.
    Far {
        /// Name of the memory.
        place: String,
        /// Kind of the access.
        access: Access,
    },
}
