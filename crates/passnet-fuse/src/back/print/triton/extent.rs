//! Directions of a tile, and conditions on its elements.

use std::collections::BTreeSet;

use crate::front::index::Var;

/// Directions of the tile that a value varies along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) rows: bool,
    pub(super) columns: bool,
}

impl Extent {
    pub(super) const fn and(self, other: Self) -> Self {
        Self { rows: self.rows || other.rows, columns: self.columns || other.columns }
    }
}

/// A condition under which values are loaded. Number 0 stands for no condition.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadCondition {
    pub(super) name: String,
    pub(super) extent: Extent,
    /// Number of the condition that this one narrows.
    pub(super) outer: usize,
    /// Variables of this condition that the outer condition does not have.
    pub(super) vars: BTreeSet<Var>,
}
