//! Manifest of a bundle: a run in one file (`docs/reference/bundle.md`).

use serde::{Deserialize, Serialize};

use crate::{ContentId, RunHeader};

/// Version of [`BundleManifest`].
pub const BUNDLE_VERSION: u32 = 1;

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFile {
    pub path: String,
    pub bytes: u64,
    pub blake3: ContentId,
}

/// Manifest, which is the first entry of a bundle and lists all other entries. The BLAKE3 hash of its bytes is the id of the bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundleManifest {
    pub schema_version: u32,
    pub header: RunHeader,
    pub finished: bool,
    pub files: Vec<BundleFile>,
    /// Blobs that the log names and that were missing in the run directory.
    pub missing: Vec<ContentId>,
}
