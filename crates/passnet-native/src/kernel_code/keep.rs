//! Memory that a forked process has, and accesses to other memory.

/// Pages, and their protection if it is to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keep {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) protection: Option<i32>,
}

/// Content of the bytes around tensors: not a number, as any floating-point type.
pub(super) const FILLER: u8 = 0xFF;

/// Bytes.
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
    /// Bytes on them that belong to no tensor.
    pub(super) fills: Vec<ByteRange>,
    /// These bytes get other content, so that reads of them show in results.
    pub(super) is_filled: bool,
    /// Tensors whose content has to come back.
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
    /// A system call, whose number stands for the address.
    SystemCall = 3,
}

impl Access {
    /// The kind with a number.
    pub(crate) fn of_code(code: u32) -> Self {
        match code {
            1 => Self::Write,
            2 => Self::Jump,
            3 => Self::SystemCall,
            _ => Self::Read,
        }
    }

    /// The word for it in notes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Jump => "jump",
            Self::SystemCall => "system_call",
        }
    }
}
