//! Findings in formats for people and for programs.

mod sarif;
mod text;

use serde::Serialize;

pub use self::{sarif::sarif, text::text};
use super::finding::Finding;

/// Version of the layout of [`JsonReport`].
pub const SCHEMA_VERSION: u32 = 1;

/// Findings as a JSON document.
#[derive(Debug, Serialize)]
pub struct JsonReport<'a> {
    /// Layout of this document.
    pub schema_version: u32,
    /// Findings in the order of files and lines.
    pub findings: &'a [Finding],
}

impl<'a> JsonReport<'a> {
    /// Returns the document for these findings.
    pub fn new(findings: &'a [Finding]) -> Self {
        Self { schema_version: SCHEMA_VERSION, findings }
    }
}
