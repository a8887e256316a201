//! Entries of a bundle, and its errors.

use std::{collections::BTreeMap, path::PathBuf};

use passnet_record::ContentId;

use crate::{RunLog, StoreError};

/// Extension of bundles.
pub const EXTENSION: &str = "pnb";
/// First entry of the archive.
pub(super) const MANIFEST: &str = "manifest.json";
/// Second entry of the archive.
pub(super) const LOG: &str = "run.jsonl";
/// Largest number of bytes of all entries together, and of the manifest alone. Bundles come from other people, and a small bundle can
/// unpack to any size.
pub(super) const MAX_BYTES: u64 = 1 << 30;
pub(super) const MAX_MANIFEST: u64 = 64 << 20;

/// An error of reading or writing a bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file operation failed, or the file is not an archive.
    #[error("not a readable bundle: {0}")]
    Io(#[from] std::io::Error),
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] StoreError),
    /// The bundle cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// The bundle, or its folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The manifest is malformed or inconsistent.
    #[error("{MANIFEST}: {0}")]
    Manifest(String),
    /// The archive has an entry that it should not have, or lacks an entry.
    #[error("entry `{entry}`: {what}")]
    Entry {
        /// Path of the entry, shortened for messages.
        entry: String,
        what: String,
    },
    /// The log is malformed, or contradicts the other entries.
    #[error("{LOG}: {0}")]
    Log(String),
    /// The bundle is larger than the limit, which is more than any run needs.
    #[error("it unpacks to more than {} MiB, the limit for a bundle", .most >> 20)]
    TooLarge {
        /// The limit in bytes.
        most: u64,
    },
}

/// A verified bundle.
#[derive(Debug)]
pub struct Bundle {
    /// The hash of the manifest, which has the hashes of all other entries.
    pub id: ContentId,
    pub log: RunLog,
    /// The blobs, by the hash of their content.
    pub blobs: BTreeMap<ContentId, Vec<u8>>,
    /// Number of blobs that the log names and the bundle lacks, according to its manifest.
    pub missing: usize,
    /// Number of timings whose medians were computed again from the trial times and agreed.
    pub recomputed: usize,
}

/// Returns the path of a blob in a bundle, the same as in a run directory.
pub(super) fn blob_name(id: &ContentId) -> String {
    let (first, rest) = id.as_str().split_at_checked(2).unwrap_or(("", id.as_str()));
    format!("blobs/{first}/{rest}")
}
