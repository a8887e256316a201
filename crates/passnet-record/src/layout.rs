//! Places of tensors in blocks of memory that referee and workers share.

use serde::{Deserialize, Serialize};

use crate::{Addend, DType};

/// One tensor inside a shared block of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Parameter name (inputs) or position as text (outputs).
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<u64>,
    /// First byte inside the block; a multiple of 64.
    pub offset: u64,
    /// Number of bytes, contiguous and row-major.
    pub nbytes: u64,
}

/// Source of the contents of one input in timed calls. The input is one of `windows` windows of equal length, and each window begins one
/// element after the previous one. If there is an addend, its values are added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// The first window.
    pub window: Layout,
    /// Number of windows; 1 for an input whose values do not change.
    pub windows: u64,
    /// Values that are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addend: Option<Addend>,
}

/// The windows of one pool that the calls of a block see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// Number of the window of the first call.
    pub start: u64,
    /// Number of windows from one call to the next.
    pub step: u64,
    /// Number of the first addend value of the first call.
    #[serde(default)]
    pub addend_start: u64,
    /// Number of addend values from one call to the next.
    #[serde(default)]
    pub addend_step: u64,
}
