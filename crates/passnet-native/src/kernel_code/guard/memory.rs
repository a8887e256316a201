//! Memory of arguments, and accesses outside of it.

/// The end of its pages at which a copy lies. Bytes that are not a multiple of [`ALIGNMENT`] leave a gap at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first byte follows a closed page.
    Start,
    /// The last byte precedes a closed page.
    End,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayAccess {
    /// Place of the parameter whose memory is nearest.
    pub parameter: usize,
    /// Bytes from the first byte of its tensor.
    pub offset: i64,
    /// Bytes of the tensor.
    pub nbytes: usize,
    /// True for a write, which within the tensor is one to an input.
    pub is_write: bool,
}
