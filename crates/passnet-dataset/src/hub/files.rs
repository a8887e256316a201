//! Files of a dataset in the form that a hub needs: paths, sizes and hashes.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use fs_err as fs;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::error::HubError;
use crate::{Dataset, Table};

/// Number of bytes at the beginning of a file with which the hub distinguishes text from binary data.
const SAMPLE: usize = 512;
/// Files next to the tables.
const EXTRA: [&str; 2] = ["README.md", "known-bad.txt"];

/// A file to upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalFile {
    /// Path below the dataset's folder, parts separated by `/`.
    pub(super) path: String,
    pub(super) full: PathBuf,
    pub(super) nbytes: u64,
    /// SHA-256 of the content, which identifies it in the storage of large files.
    pub(super) sha256: String,
    /// Id of the content in git: SHA-1 of a header and the content.
    pub(super) git: String,
    /// The first bytes of the content.
    pub(super) sample: Vec<u8>,
}

/// Returns the files of all tables and the files next to them, in order. Leftovers of interrupted or repairing commands are not
/// included.
pub(super) fn local_files(dataset: &Dataset) -> Result<Vec<LocalFile>, HubError> {
    let root = dataset.root();
    let mut paths = Vec::new();
    for table in Table::ALL {
        let parts = dataset.parts(table).map_err(|error| HubError::Io {
            path: root.join(table.name()),
            source: io::Error::other(error.to_string()),
        })?;
        let sums = root.join(table.name()).join("_SHA256SUMS");
        if !parts.is_empty() && sums.is_file() {
            paths.push(sums);
        }
        paths.extend(parts);
    }
    if paths.is_empty() {
        return Err(HubError::Empty(root.to_owned()));
    }
    paths.extend(EXTRA.map(|name| root.join(name)).into_iter().filter(|path| path.is_file()));
    paths.sort();
    paths.into_iter().map(|path| describe(root, path)).collect()
}

fn describe(root: &Path, full: PathBuf) -> Result<LocalFile, HubError> {
    let read = || -> io::Result<LocalFile> {
        let mut file = fs::File::open(&full)?;
        let nbytes = file.metadata()?.len();
        let (mut sha256, mut git) = (Sha256::new(), Sha1::new());
        // Git hashes this header before the content.
        git.update(format!("blob {nbytes}\0"));
        let (mut buffer, mut sample) = (vec![0; 1 << 20], Vec::new());
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            sample.extend_from_slice(&buffer[..count.min(SAMPLE - sample.len().min(SAMPLE))]);
            sha256.update(&buffer[..count]);
            git.update(&buffer[..count]);
        }
        let below = full.strip_prefix(root).unwrap_or(&full);
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        let (sha256, git) = (hexadecimal(&sha256.finalize()), hexadecimal(&git.finalize()));
        Ok(LocalFile { path: parts.join("/"), full: full.clone(), nbytes, sha256, git, sample })
    };
    read().map_err(|source| HubError::Io { path: full.clone(), source })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl LocalFile {
    /// Reads the content. Returns an error if the content has changed since it was hashed.
    pub(super) fn content(&self) -> Result<Vec<u8>, HubError> {
        let content = fs::read(&self.full).map_err(|source| HubError::Io { path: self.full.clone(), source })?;
        // The hub stores regular files under the announced hash without checking it.
        if hexadecimal(&Sha256::digest(&content)) != self.sha256 {
            return Err(HubError::Changed(self.full.clone()));
        }
        Ok(content)
    }
}

/// Returns whether a path in a dataset's folder is that of a file with rows of a table.
pub(super) fn is_part(path: &str) -> bool {
    let of_table = |table: Table| path.strip_prefix(table.name()).and_then(|rest| rest.strip_prefix('/'));
    Table::ALL.into_iter().filter_map(of_table).any(|name| name.ends_with(".parquet") && !name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_sha256sum_and_git() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "hello\n").unwrap();
        let file = describe(root.path(), root.path().join("a")).unwrap();
        assert_eq!((file.path.as_str(), file.nbytes, file.sample.as_slice()), ("a", 6, b"hello\n".as_slice()));
        assert_eq!(file.git, "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(file.sha256, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
        std::fs::write(root.path().join("a"), "other\n").unwrap();
        assert!(matches!(file.content(), Err(HubError::Changed(_))));
    }

    #[test]
    fn only_rows_of_tables_are_parts() {
        assert!(is_part("tasks/part-00001.parquet"));
        for path in ["tasks/x/part.parquet", "other/part.parquet", "tasks/_SHA256SUMS", "tasks.parquet"] {
            assert!(!is_part(path), "{path}");
        }
    }
}
