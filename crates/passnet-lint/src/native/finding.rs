//! Findings in a source.

use crate::rules::{NativeCall, NativeInclude, NativeState};

/// A finding of a scan.
pub(in super::super) enum ScanFinding {
    Include(NativeInclude),
    Call(NativeCall),
    State(NativeState),
}

/// A place in the source: byte offset and length.
pub(in super::super) type Span = (usize, usize);
