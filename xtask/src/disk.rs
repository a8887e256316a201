//! Disk space: a run that would fill the disk is refused before it begins, and not after half an hour.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use fs_err as fs;

const GB: u64 = 1_000_000_000;
/// PyTorch with its CUDA libraries and the other packages, installed.
const PACKAGES: u64 = 6 * GB;
/// Their downloads until they are unpacked.
const DOWNLOADS: u64 = 3 * GB;
/// Builds of `cargo xtask test`, and the intermediate results that cargo keeps to build faster after a change.
const TEST_BUILDS: u64 = 4 * GB;
const INCREMENTAL: u64 = 3 * GB;
/// Builds of `cargo xtask demo`: the command and the extension module.
pub(crate) const DEMO_BUILDS: u64 = 3 * GB;

/// Bytes that will be written below a folder.
struct Need {
    what: &'static str,
    folder: PathBuf,
    bytes: u64,
}

/// Bytes of the builds of `cargo xtask test`.
pub(crate) fn test_builds() -> u64 {
    let is_incremental = std::env::var_os("CARGO_INCREMENTAL").is_none_or(|value| value != "0");
    TEST_BUILDS + if is_incremental { INCREMENTAL } else { 0 }
}

/// Refuses to begin if packages in the folder `venv` and so many bytes of builds in `target` do not fit on the disk.
pub(crate) fn require(venv: &Path, target: &Path, builds: u64) -> Result<()> {
    let builds = builds.saturating_sub(size(&target.join("debug")));
    let needs = [
        Need { what: "packages", folder: venv.to_owned(), bytes: PACKAGES },
        Need { what: "downloads until they are unpacked", folder: std::env::temp_dir(), bytes: DOWNLOADS },
        Need { what: "builds", folder: target.to_owned(), bytes: builds },
    ];
    check(&needs)
}

/// Checks the needs of each file system.
fn check(needs: &[Need]) -> Result<()> {
    for need in needs {
        let disk = Disk::of(&need.folder)?;
        let mut here = Vec::new();
        for other in needs {
            if Disk::of(&other.folder)?.device == disk.device {
                here.push((other.what, other.bytes));
            }
        }
        if let Some(lack) = lack(&here, disk.free) {
            bail!(
                "the disk of {} is too full: {lack}. Free some, or set PASSNET_PYTHON to an interpreter that has PyTorch",
                need.folder.display()
            );
        }
    }
    Ok(())
}

/// Returns what does not fit into so many free bytes; `None` if all fits.
///
/// Downloads are gone when the builds reach their full size, so that the larger of the two counts.
fn lack(needs: &[(&str, u64)], free: u64) -> Option<String> {
    let of = |name: &str| needs.iter().filter(|(what, _)| what.starts_with(name)).map(|(_, bytes)| bytes).sum::<u64>();
    let sum = of("packages") + of("downloads").max(of("builds"));
    let gigabytes = |bytes: u64| bytes as f64 / GB as f64;
    let parts: Vec<String> = needs
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(what, bytes)| format!("{:.0} GB of {what}", gigabytes(*bytes)))
        .collect();
    (free < sum).then(|| {
        format!("{:.1} GB are free, about {:.0} GB are needed ({})", gigabytes(free), gigabytes(sum), parts.join(", "))
    })
}

/// The file system of a folder that may not exist yet.
struct Disk {
    device: u64,
    free: u64,
}

impl Disk {
    fn of(folder: &Path) -> Result<Self> {
        let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        let device = fs::metadata(existing)?.dev();
        Ok(Self { device, free: free_bytes(existing)? })
    }
}

/// Returns whether pip has the space for its own copy of the downloads, which would be the third on this disk.
///
/// # Errors
/// If the packages do not fit.
pub(crate) fn room_for_copies(venv: &Path) -> Result<bool> {
    check(&[
        Need { what: "packages", folder: venv.to_owned(), bytes: PACKAGES },
        Need { what: "downloads until they are unpacked", folder: std::env::temp_dir(), bytes: DOWNLOADS },
    ])?;
    Ok(free_bytes(venv)? >= 2 * (PACKAGES + DOWNLOADS))
}

/// Bytes that an ordinary user may still write on the file system that holds `path`.
fn free_bytes(path: &Path) -> Result<u64> {
    let system =
        rustix::fs::statvfs(path).with_context(|| format!("cannot ask for the free space of {}", path.display()))?;
    Ok(system.f_bavail * system.f_frsize)
}

/// Bytes of the files below a folder; files that vanish meanwhile count as 0.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let entries = entries.filter_map(Result::ok);
    entries
        .map(|entry| entry.metadata().map_or(0, |found| if found.is_dir() { size(&entry.path()) } else { found.len() }))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_builds_have_to_fit() {
        let needs = [("packages", PACKAGES), ("downloads until they are unpacked", DOWNLOADS), ("builds", 5 * GB)];
        assert_eq!(lack(&needs, 11 * GB), None);
        let said = lack(&needs, 10 * GB).expect("one gigabyte is missing");
        assert!(said.contains("10.0 GB are free, about 11 GB are needed"), "{said}");
        assert!(said.contains("6 GB of packages") && said.contains("5 GB of builds"), "{said}");
        // Builds that exist need no more space.
        let built = [needs[0], needs[1], ("builds", 0)];
        assert_eq!(lack(&built, 9 * GB), None);
        assert!(lack(&built, 9 * GB - 1).is_some_and(|said| !said.contains("builds")));
    }

    #[test]
    fn the_space_of_a_folder_that_does_not_exist_is_that_of_its_parent() {
        let folder = std::env::temp_dir().join("no/such/folder");
        let need = |bytes| [Need { what: "builds", folder: folder.clone(), bytes }];
        assert!(check(&need(0)).is_ok());
        let error = check(&need(u64::MAX)).expect_err("no disk has so much");
        assert!(error.to_string().contains("no/such/folder is too full"), "{error}");
    }

    #[test]
    fn the_size_of_a_folder_includes_those_below() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(size(sources) > size(&sources.join("src")));
        assert_eq!(size(&sources.join("no such folder")), 0);
    }
}
