//! Memory that a forked process keeps, and kinds of accesses to other memory.

/// Pages that a forked process keeps, with their new protection if it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keep {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) protection: Option<i32>,
}

/// Content of the bytes around tensors, which is NaN in every floating-point type.
pub(super) const FILLER: u8 = 0xFF;

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteRange {
    pub(super) start: usize,
    pub(super) bytes: usize,
}

/// Memory of tensors that a forked process can reach.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// Pages.
    pub(super) memory: Vec<Keep>,
    /// Bytes on these pages that belong to no tensor.
    pub(super) fills: Vec<ByteRange>,
    /// True if these bytes are overwritten, so that reads of them affect results.
    pub(super) is_filled: bool,
    /// Tensors whose content is copied back to the parent.
    pub(super) results: Vec<ByteRange>,
}

/// Kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Memory was read.
    Read = 0,
    /// Memory was written to.
    Write = 1,
    /// Execution continued at an address that has no code of the kernel.
    Jump = 2,
    /// A system call was made. Its number is reported in place of the address.
    SystemCall = 3,
}

impl Access {
    /// Returns the kind with a number.
    pub(crate) fn of_code(code: u32) -> Self {
        match code {
            1 => Self::Write,
            2 => Self::Jump,
            3 => Self::SystemCall,
            _ => Self::Read,
        }
    }

    /// Returns the word for the kind in notes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Jump => "jump",
            Self::SystemCall => "system_call",
        }
    }
}
