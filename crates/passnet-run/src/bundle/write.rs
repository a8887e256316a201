//! Writes a run directory as a bundle.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use passnet_record::{BUNDLE_VERSION, BundleFile, BundleManifest, ContentId, RunEvent};

use super::format::{BundleError, LOG, MANIFEST, blob_name};
use crate::{RunLog, read_blob};

/// Compression level of zstd. It may be slow because a bundle is written once.
const LEVEL: i32 = 12;

/// Writes the bundle of a run. Equal runs give equal files. Returns the id of the bundle and the number of blobs that were missing.
///
/// # Errors
/// If the run cannot be read, or the file cannot be written. No partial file is left behind.
pub fn write(run: &Path, out: &Path) -> Result<(ContentId, usize), BundleError> {
    let log = RunLog::read(run)?;
    let mut lines = Vec::new();
    for event in &log.events {
        serde_json::to_writer(&mut lines, event).map_err(io::Error::from)?;
        lines.push(b'\n');
    }
    let mut files = vec![(LOG.to_owned(), lines)];
    let mut missing = Vec::new();
    for id in named_blobs(&log) {
        match read_blob(run, &id) {
            Some(bytes) => files.push((blob_name(&id), bytes)),
            None => missing.push(id),
        }
    }
    let entry = |(path, bytes): &(String, Vec<u8>)| BundleFile {
        path: path.clone(),
        bytes: bytes.len() as u64,
        blake3: ContentId::of(bytes),
    };
    let lost = missing.len();
    let manifest = BundleManifest {
        schema_version: BUNDLE_VERSION,
        header: log.header,
        finished: log.finished,
        files: files.iter().map(entry).collect(),
        missing,
    };
    let manifest = serde_json::to_vec(&manifest).map_err(io::Error::from)?;
    archive(out, &manifest, &files).map_err(|source| BundleError::Write { path: out.to_owned(), source })?;
    Ok((ContentId::of(&manifest), lost))
}

/// Writes the archive under a temporary name and renames it when it is complete.
fn archive(out: &Path, manifest: &[u8], files: &[(String, Vec<u8>)]) -> io::Result<()> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The temporary file is in the folder of the result, because a file can only be renamed within one file system.
    let target = tempfile::NamedTempFile::new_in(folder)?;
    let mut tar = tar::Builder::new(zstd::Encoder::new(&target, LEVEL)?);
    append(&mut tar, MANIFEST, manifest)?;
    for (path, bytes) in files {
        append(&mut tar, path, bytes)?;
    }
    tar.into_inner()?.finish()?;
    // A temporary file is private; a bundle is meant to be published.
    target.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    target.persist(out).map_err(|error| error.error)?;
    Ok(())
}

/// Returns the ids of all blobs that the log refers to, sorted.
pub(super) fn named_blobs(log: &RunLog) -> BTreeSet<ContentId> {
    let mut blobs = BTreeSet::new();
    for event in &log.events {
        match event {
            RunEvent::Passes { files, .. } => blobs.extend(files.iter().map(|file| file.blob.clone())),
            RunEvent::Verdict(verdict) => blobs.extend(verdict.timings.iter().filter_map(|timing| timing.raw.clone())),
            RunEvent::Started(_) | RunEvent::Finished { .. } => {}
        }
    }
    blobs
}

/// Appends a file without owner or date, so that equal contents give equal archives.
fn append(tar: &mut tar::Builder<impl Write>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    tar.append_data(&mut header, path, bytes)
}
