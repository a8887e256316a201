//! Leftovers of a command that was interrupted. The next command that writes to the table removes them.

use std::{io, path::Path};

use fs_err as fs;

use super::{files::WAITING, replacement};
use crate::store::{INCOMPLETE, TableError};

/// Completes a replacement that had begun, and removes incomplete files. A file that another process is writing is locked and
/// stays.
pub(super) fn clear(folder: &Path) -> Result<(), TableError> {
    if !folder.is_dir() {
        return Ok(());
    }
    replacement::resume(folder)?;
    let io = |source| TableError::Io { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(WAITING) || (name.starts_with(INCOMPLETE) && is_free(&path)) {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(TableError::Io { path, source }),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns whether no process holds the lock of a file.
fn is_free(path: &Path) -> bool {
    std::fs::File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}
