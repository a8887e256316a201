//! Findings as data: the problem, its place, and how to fix it.

use serde::Serialize;

/// A place in a file. Lines and columns count from 1; columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// A violation of a rule at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// File name, relative to the pass directory.
    pub file: String,
    /// Position of the first character.
    pub start: Position,
    /// Position behind the last character. Equal to `start` if the finding is about the whole file.
    pub end: Position,
    /// Rule id, e.g. `PN201`.
    pub rule: &'static str,
    /// Rule name, e.g. `import-not-allowed`.
    pub name: &'static str,
    pub message: String,
    /// Instruction that says how to fix the problem.
    pub help: &'static str,
}
