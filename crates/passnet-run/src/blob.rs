//! Blobs: files of a run directory that are named by their content.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::ContentId;

/// Largest blob that is read, in bytes. Pages show runs of other people, whose files may have any size and must not fill the memory.
const MAX_BLOB: u64 = 64 << 20;

/// Returns the path of a blob in a run directory.
pub fn blob_path(directory: &Path, id: &ContentId) -> PathBuf {
    let (first, rest) = id.as_str().split_at_checked(2).unwrap_or(("", id.as_str()));
    directory.join("blobs").join(first).join(rest)
}

/// Writes bytes as a blob of a run directory, unless the blob already exists.
pub(crate) fn put_blob(directory: &Path, bytes: &[u8]) -> io::Result<ContentId> {
    let id = ContentId::of(bytes);
    let path = blob_path(directory, &id);
    // The name is the hash of the content, so a file of this name already has it.
    if !path.exists() {
        write_whole(&path, bytes)?;
    }
    Ok(id)
}

/// Writes a file so that it is either complete or absent.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    // The content reaches the disk before the rename: after a power failure, a file with its final name must be complete.
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads a blob of a run directory. Returns `None` if it is missing, too large, or does not match its name.
pub fn read_blob(directory: &Path, id: &ContentId) -> Option<Vec<u8>> {
    let path = blob_path(directory, id);
    // `symlink_metadata` does not follow links, so a run directory from elsewhere cannot show other files of this
    // machine.
    let fits = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BLOB);
    let bytes = if fits { fs::read(&path).ok()? } else { return None };
    (ContentId::of(&bytes) == *id).then_some(bytes)
}
