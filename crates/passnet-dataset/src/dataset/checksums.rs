//! Checksums of the files of a table: `_SHA256SUMS`, which `sha256sum -c` reads as well.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::store::TableError;

/// Name of the file with checksums. Readers of Parquet folders skip names that begin with `_`.
const CHECKSUMS: &str = "_SHA256SUMS";

/// Records the checksums of new files, and removes those of files that no longer exist.
pub(super) fn record(folder: &Path, written: &[PathBuf]) -> Result<(), TableError> {
    let mut sums = read(folder);
    // Entries of files that other commands removed are dropped.
    sums.retain(|name, _| folder.join(name).exists());
    for path in written {
        if let Some(name) = name(path) {
            sums.insert(name.to_owned(), checksum(path)?);
        }
    }
    let mut text = String::new();
    for (name, sum) in &sums {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{sum}  {name}");
    }
    let place = folder.join(CHECKSUMS);
    if sums.is_empty() {
        return forget(folder);
    }
    let write = || -> io::Result<()> {
        // Written to a temporary file and renamed: an incomplete list would make good files look damaged.
        let mut file = NamedTempFile::with_prefix_in(".incomplete-", folder)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(&place)?;
        Ok(())
    };
    write().map_err(|source| TableError::Io { path: place.clone(), source })
}

/// Removes the checksums of a table whose files are about to be replaced.
pub(super) fn forget(folder: &Path) -> Result<(), TableError> {
    let path = folder.join(CHECKSUMS);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(TableError::Io { path, source }),
        _ => Ok(()),
    }
}

/// Returns the files whose checksum differs from the recorded one.
pub(super) fn find_altered(folder: &Path, parts: &[PathBuf]) -> Result<Vec<PathBuf>, TableError> {
    let sums = read(folder);
    let mut found = Vec::new();
    for part in parts {
        let Some(noted) = name(part).and_then(|name| sums.get(name)) else { continue };
        if checksum(part)? != *noted {
            found.push(part.clone());
        }
    }
    Ok(found)
}

/// Returns checksums by name of the file. The map is empty if the list is missing or malformed.
fn read(folder: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(folder.join(CHECKSUMS)).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once("  "));
    pairs.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect()
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn checksum(path: &Path) -> Result<String, TableError> {
    let hash = || -> io::Result<Sha256> {
        let mut file = fs::File::open(path)?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match io::Read::read(&mut file, &mut buffer)? {
                0 => return Ok(hash),
                count => hash.update(&buffer[..count]),
            }
        }
    };
    let digest = hash().map_err(|source| TableError::Io { path: path.to_owned(), source })?.finalize();
    let mut text = String::new();
    for byte in digest.iter() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
