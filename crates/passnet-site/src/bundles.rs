//! Runs as bundles, for readers who want the raw data.

use std::path::{Path, PathBuf};

use fs_err as fs;
use passnet_run::bundle;

use crate::SiteError;

/// Returns the bundle of a run directory; of a bundle, itself.
pub(crate) fn bundle_bytes(run: &Path) -> Result<Vec<u8>, SiteError> {
    if run.is_file() {
        return Ok(fs::read(run)?);
    }
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("run.pnb");
    bundle::write(run, &out)?;
    Ok(fs::read(out)?)
}

/// Writes the bundle of each run below a site's folder, at its path.
pub(crate) fn write_bundles<'a>(
    folder: &Path,
    runs: impl Iterator<Item = (String, &'a PathBuf)>,
) -> Result<(), SiteError> {
    for (path, run) in runs {
        let out = folder.join(path);
        fs::create_dir_all(out.parent().unwrap_or(folder))?;
        fs::write(out, bundle_bytes(run)?)?;
    }
    Ok(())
}
