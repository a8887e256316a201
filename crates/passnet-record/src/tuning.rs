//! Tuning options of kernels, and their measurements (`docs/reference/fuse.md`). The options change the speed of a kernel, not its results.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::ContentId;

/// Tuning options of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelConfig {
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
    /// Store values that several levels of a row use in memory. Otherwise the values are computed again.
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
    /// Power of two by which a program has more elements; negative for fewer.
    pub elements: i8,
    /// Power of two by which a program has more warps; negative for fewer.
    pub warps: i8,
}

impl fmt::Display for KernelConfig {
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

/// Identity of a kernel: equal keys mean equal code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelKey {
    /// Hash of the code in the default configuration, without its sizes and with the types of its tensors.
    pub code: ContentId,
    /// Sizes in the code, in the order in which they occur.
    pub sizes: Vec<i64>,
}

/// Identity of a measurement: the kernel, and all conditions that could make another configuration better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuningKey {
    pub kernel: KernelKey,
    /// Name of the accelerator, else of the CPU.
    pub device: String,
    /// Versions of PassNet and of the compilers of kernels.
    pub versions: BTreeMap<String, String>,
}

/// A measured configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredConfig {
    /// Configuration of the kernel.
    pub config: KernelConfig,
    /// Speed-up of its graph over eager mode.
    pub speedup: f64,
}

/// Content of one file of the tuning database: the measurements of one kernel on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningRecord {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    pub key: TuningKey,
    /// The configuration to use.
    pub best: KernelConfig,
    /// All measured configurations, that of the cost model first.
    pub measured: Vec<MeasuredConfig>,
}
