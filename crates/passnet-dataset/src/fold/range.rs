use serde::{Deserialize, Serialize};

/// A half-open range of op indices of one graph; in JSON a pair `[start, end]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct OpRange {
    /// Index of the first op.
    pub start: u32,
    /// Index after the last op.
    pub end: u32,
}

impl OpRange {
    /// Returns the range `start..end`; an `end` before `start` gives an empty range.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Returns the number of ops.
    pub fn len(self) -> u32 {
        self.end - self.start
    }

    /// Returns whether the range holds no op.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the same range as indices into a slice.
    pub fn indices(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<(u32, u32)> for OpRange {
    fn from((start, end): (u32, u32)) -> Self {
        Self::new(start, end)
    }
}

impl From<OpRange> for (u32, u32) {
    fn from(range: OpRange) -> Self {
        (range.start, range.end)
    }
}

/// Number of ops that a subgraph may have: at least `min` and less than `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBounds {
    min: u32,
    max: u32,
}

/// Error: size bounds that admit no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no size is at least {min} and below {max}; use a minimum of at least 1 and a larger maximum")]
pub struct BoundsError {
    min: u32,
    max: u32,
}

impl SizeBounds {
    /// From 4 to 63 ops, the bounds of the published classical subgraphs.
    pub const DEFAULT: Self = Self { min: 4, max: 64 };

    /// Returns bounds that admit the sizes `min..max`.
    ///
    /// # Errors
    /// If `min` is zero or no size is within the bounds.
    pub fn new(min: u32, max: u32) -> Result<Self, BoundsError> {
        if min == 0 || max <= min { Err(BoundsError { min, max }) } else { Ok(Self { min, max }) }
    }

    /// Returns the smallest admitted size.
    pub fn min(self) -> u32 {
        self.min
    }

    /// Returns the smallest size that is too large.
    pub fn max(self) -> u32 {
        self.max
    }

    /// Returns whether a subgraph of `size` ops is admitted.
    pub fn admit(self, size: u32) -> bool {
        (self.min..self.max).contains(&size)
    }
}
