//! Back end: planned regions as the files of a pass.

pub(crate) mod emit;
pub(crate) mod print;
pub(crate) mod tuning;
