//! Findings of the watch over replacement functions.

use std::fmt;

/// Observation of the watch over replacement functions. All but [`WatchFinding::MakesTensors`] break a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchFinding {
    /// `makes_tensors`: the function launched kernels and returned tensors that are not its inputs. Most functions do this.
    MakesTensors,
    /// `no_kernel:FUNCTION`: a function returned new tensors without launching a kernel.
    NoKernel {
        /// Name of the function.
        function: String,
    },
    /// `vendor_kernel:KERNEL`: a function ran a kernel of a vendor's library.
    VendorKernel {
        /// Name of the kernel.
        kernel: String,
    },
    /// `out_of_bounds`: a kernel wrote past the end of a tensor.
    OutOfBounds,
    /// `out_of_bounds:KERNEL:ARGUMENT:OFFSET:NBYTES:ACCESS`: a kernel accessed memory outside of an argument, or wrote to an argument
    /// that is `const` in its signature.
    StrayAccess {
        /// Name of the kernel.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// Distance in bytes from the first byte of the argument.
        offset: i64,
        /// Size of the argument in bytes.
        nbytes: u64,
        /// True for a write.
        is_write: bool,
    },
    /// `writes_input:KERNEL:ARGUMENT:OFFSET`: a kernel wrote to an input that the graph does not change.
    WritesInput {
        /// Name of the kernel.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// Distance in bytes from the first byte of the argument.
        offset: i64,
    },
    /// `out_of_bounds:KERNEL:PLACE:ACCESS`: a kernel accessed memory or code far from all of its arguments, or made a system call.
    FarAccess {
        /// Name of the kernel.
        kernel: String,
        /// Name of the memory: a file, or a description of the area.
        place: String,
        access: FarAccessKind,
    },
    /// Any other text is the name of an operator of PyTorch that a function called.
    Operator {
        /// Name of the operator, e.g. `aten.mm`.
        name: String,
    },
}

/// Kind of an access far from all arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FarAccessKind {
    /// Memory was read.
    Read,
    /// Memory was written to.
    Write,
    /// Execution continued at the address.
    Jump,
    SystemCall,
}

impl FarAccessKind {
    const NAMES: [(Self, &str); 4] =
        [(Self::Read, "read"), (Self::Write, "write"), (Self::Jump, "jump"), (Self::SystemCall, "system_call")];
}

impl fmt::Display for WatchFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakesTensors => f.write_str("makes_tensors"),
            Self::NoKernel { function } => write!(f, "no_kernel:{function}"),
            Self::VendorKernel { kernel } => write!(f, "vendor_kernel:{kernel}"),
            Self::OutOfBounds => f.write_str("out_of_bounds"),
            Self::StrayAccess { kernel, argument, offset, nbytes, is_write } => {
                let access = if *is_write { "write" } else { "read" };
                write!(f, "out_of_bounds:{kernel}:{argument}:{offset}:{nbytes}:{access}")
            }
            Self::WritesInput { kernel, argument, offset } => write!(f, "writes_input:{kernel}:{argument}:{offset}"),
            Self::FarAccess { kernel, place, access } => {
                let name =
                    FarAccessKind::NAMES.iter().find(|(known, _)| known == access).map_or("read", |named| named.1);
                write!(f, "out_of_bounds:{kernel}:{place}:{name}")
            }
            Self::Operator { name } => f.write_str(name),
        }
    }
}

impl WatchFinding {
    pub(crate) fn read(text: &str) -> Self {
        match text.split_once(':').unwrap_or((text, "")) {
            ("makes_tensors", "") => Self::MakesTensors,
            ("no_kernel", function) => Self::NoKernel { function: function.to_owned() },
            ("vendor_kernel", kernel) => Self::VendorKernel { kernel: kernel.to_owned() },
            ("out_of_bounds", "") => Self::OutOfBounds,
            // An access with unreadable details still counts: the access decides the verdict, and the details only explain it.
            ("out_of_bounds", rest) => Self::stray(rest).unwrap_or(Self::OutOfBounds),
            ("writes_input", rest) => Self::write_to_input(rest).unwrap_or(Self::OutOfBounds),
            _ => Self::Operator { name: text.to_owned() },
        }
    }

    fn write_to_input(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split(':').collect();
        let [kernel, argument, offset] = parts[..] else { return None };
        let offset = offset.parse().ok()?;
        Some(Self::WritesInput { kernel: kernel.to_owned(), argument: argument.to_owned(), offset })
    }

    fn stray(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split(':').collect();
        if let [kernel, place, access] = parts[..] {
            let access = FarAccessKind::NAMES.iter().find(|(_, name)| *name == access)?.0;
            return Some(Self::FarAccess { kernel: kernel.to_owned(), place: place.to_owned(), access });
        }
        let [kernel, argument, offset, nbytes, access @ ("read" | "write")] = parts[..] else { return None };
        Some(Self::StrayAccess {
            kernel: kernel.to_owned(),
            argument: argument.to_owned(),
            offset: offset.parse().ok()?,
            nbytes: nbytes.parse().ok()?,
            is_write: access == "write",
        })
    }
}
