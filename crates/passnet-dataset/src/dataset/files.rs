//! Names of the files of a table.

use std::path::{Path, PathBuf};

/// Begins the name of a complete file, of one that waits for the others that replace a table with it, and of one that was
/// replaced though not all of its rows could be read.
pub(super) const PART: &str = "part-";
pub(super) const WAITING: &str = "waiting-";
pub(super) const DAMAGED: &str = "damaged-";

pub(super) fn part_path(folder: &Path, prefix: &str, number: u32) -> PathBuf {
    folder.join(format!("{prefix}{number:05}.parquet"))
}

/// Returns the number of a file of a table; `None` for other files.
pub(crate) fn part_number(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix(PART)?.strip_suffix(".parquet")?.parse().ok()
}
