//! Broken rules, and the files that are checked.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// One broken rule at one place.
pub(super) struct BrokenRule {
    pub(super) rule: &'static str,
    pub(super) file: PathBuf,
    /// 1-based; 0 where the violation concerns the whole file.
    pub(super) line: usize,
    pub(super) message: String,
}

impl BrokenRule {
    pub(super) fn new(rule: &'static str, file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { rule, file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {} [{}]", self.message, self.rule)
    }
}

/// A tracked text file.
pub(super) struct TextFile {
    /// Relative to the root of the repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl TextFile {
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found == extension)
    }
}
