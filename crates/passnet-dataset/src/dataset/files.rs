//! Names of the files of a table.

use std::path::{Path, PathBuf};

/// Prefixes of file names: of a complete file; of a new file that waits until all files of a replacement are complete; and of a
/// replaced file in which some rows could not be read.
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
