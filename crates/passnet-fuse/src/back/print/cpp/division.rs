//! Kinds of division of a stage among threads.

/// Places at which a stage can be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// The rows of the first outer loops.
    Rows { depth: usize, units: i64 },
    /// The innermost loops.
    Slices { units: i64 },
    /// Blocks of neighbouring rows.
    Columns { units: i64 },
    /// Nowhere: one part computes the whole stage.
    Whole,
}

impl Division {
    /// Returns the number of units that parts are made of.
    pub(super) const fn units(self) -> i64 {
        match self {
            Self::Rows { units, .. } | Self::Slices { units } | Self::Columns { units } => units,
            Self::Whole => 1,
        }
    }
}
