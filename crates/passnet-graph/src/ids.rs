use std::{fmt, ops::Range};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $letter:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the number as an index into a vector.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    )+};
}

ids! {
    /// Number of a value: inputs are numbered first (0, 1, ...), then nodes in program order.
    ValueId "%";
    /// Number of a node: its position in program order, counted from 0. It is also called the op index.
    NodeId "n";
    /// Number of a distinct callee of the graph.
    OpId "op";
    /// Number of a string of the graph.
    StrId "s";
}

/// Range of the graph's argument pool with the elements of a list, tuple or slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArgRange {
    /// Position of the first element.
    pub start: u32,
    /// Number of elements.
    pub len: u32,
}

impl ArgRange {
    /// Returns the range as vector indices.
    pub const fn indices(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }
}
