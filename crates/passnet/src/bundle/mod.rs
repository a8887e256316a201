//! Result bundles: a finished run in one file that names itself by its content. `docs/bundle.md` is the format.

mod read;
mod write;

use std::collections::BTreeMap;

use passnet_eval::RunLog;
use passnet_record::{ContentId, RunHeader};
use serde::{Deserialize, Serialize};

pub(crate) use self::{read::read, write::write};

/// Extension of bundles.
pub(crate) const EXTENSION: &str = "pnb";
/// Version of the format.
const SCHEMA_VERSION: u32 = 1;
/// First entry of the archive.
const MANIFEST: &str = "manifest.json";
/// Second entry of the archive.
const LOG: &str = "run.jsonl";
/// Most bytes of all entries together, and of the manifest alone.
const MAX_BYTES: u64 = 1 << 30;
const MAX_MANIFEST: u64 = 64 << 20;

/// Why a file is no bundle to be believed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    /// The system refused, or the file is no archive.
    #[error("not a readable bundle: {0}")]
    Io(#[from] std::io::Error),
    /// The manifest is not one.
    #[error("{MANIFEST}: {0}")]
    Manifest(String),
    /// The archive holds something that it should not, or lacks something.
    #[error("entry `{entry}`: {what}")]
    Entry {
        /// Its path, as far as it can be shown.
        entry: String,
        /// What is wrong.
        what: String,
    },
    /// The log is not one, or contradicts what lies beside it.
    #[error("{LOG}: {0}")]
    Log(String),
    /// More than any run needs.
    #[error("it unpacks to more than {} MiB; no run is that large", MAX_BYTES >> 20)]
    TooLarge,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileEntry {
    path: String,
    bytes: u64,
    blake3: ContentId,
}

/// First entry of a bundle: what else is in it. The BLAKE3 hash of its bytes is the id of the bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Manifest {
    schema_version: u32,
    header: RunHeader,
    finished: bool,
    files: Vec<FileEntry>,
    /// Blobs that the log names and the run directory no longer had.
    missing: Vec<ContentId>,
}

/// A verified bundle.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// The hash of its manifest, and by that of everything in it.
    pub(crate) id: ContentId,
    pub(crate) log: RunLog,
    pub(crate) blobs: BTreeMap<ContentId, Vec<u8>>,
    /// Blobs that the log names and the bundle lacks, as its manifest says.
    pub(crate) missing: usize,
    /// Timings whose medians were computed again from the trial times, and agreed.
    pub(crate) recomputed: usize,
}

/// Path of a blob in a bundle, the same as in a run directory.
fn blob_name(id: &ContentId) -> String {
    let (first, rest) = id.as_str().split_at_checked(2).unwrap_or(("", id.as_str()));
    format!("blobs/{first}/{rest}")
}
