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
    /// A value: inputs are numbered first (0, 1, ...), then nodes in program order.
    ValueId "%";
    /// A node: its position in program order, counted from 0. Also called the op index.
    NodeId "n";
    /// A distinct callee of the graph.
    OpId "op";
    /// A string of the graph.
    StrId "s";
}

/// Elements of a list, tuple or slice: a range of the graph's argument pool.
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
