//! Tuning options of a kernel: they change its speed, not its results. A cost model or a measurement sets them.

use std::fmt;

use passnet_graph::Target;
use serde::{Deserialize, Serialize};

/// Tuning options of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Config {
    /// Options of C++.
    Nests(Nests),
    /// Options of Triton.
    Tiles(Tiles),
}

/// Tuning options of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Nests {
    /// Write inner loops with vectors. Otherwise the compiler may vectorise them.
    pub vectors: bool,
    /// Keep values that several levels of a row use in memory. Otherwise they are computed again.
    pub keeps_rows: bool,
}

impl Default for Nests {
    fn default() -> Self {
        Self { vectors: true, keeps_rows: true }
    }
}

/// Powers of two by which tiles differ from those of the cost model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tiles {
    /// More elements in a program; fewer where negative.
    pub elements: i8,
    /// More warps; fewer where negative.
    pub warps: i8,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nests(Nests { vectors, keeps_rows }) => {
                let loops = if *vectors { "vectors" } else { "loops for the compiler" };
                let rows = if *keeps_rows { "rows kept" } else { "rows computed again" };
                write!(f, "{loops}, {rows}")
            }
            Self::Tiles(Tiles { elements, warps }) => {
                write!(f, "2^{elements} times the elements and 2^{warps} times the warps")
            }
        }
    }
}

impl Config {
    /// Returns the choice of the cost model.
    pub fn default_for(target: Target) -> Self {
        match target {
            Target::Cpu => Self::Nests(Nests::default()),
            Target::Cuda => Self::Tiles(Tiles::default()),
        }
    }

    /// Options of loops; the default where the configuration is for tiles.
    pub(crate) fn nests(self) -> Nests {
        match self {
            Self::Nests(nests) => nests,
            Self::Tiles(_) => Nests::default(),
        }
    }

    /// Options of tiles; the default where the configuration is for loops.
    pub(crate) fn tiles(self) -> Tiles {
        match self {
            Self::Tiles(tiles) => tiles,
            Self::Nests(_) => Tiles::default(),
        }
    }

    /// Returns all options but the default.
    pub(crate) fn others(target: Target) -> Vec<Self> {
        match target {
            Target::Cpu => {
                let others = [(true, false), (false, true), (false, false)];
                others.map(|(vectors, keeps_rows)| Self::Nests(Nests { vectors, keeps_rows })).to_vec()
            }
            Target::Cuda => {
                let others = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (2, 1), (-1, -1)];
                others.map(|(elements, warps)| Self::Tiles(Tiles { elements, warps })).to_vec()
            }
        }
    }
}
