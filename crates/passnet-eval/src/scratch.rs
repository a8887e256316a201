//! Directories that exist as long as an evaluation.

use std::{io, path::Path};

use passnet_record::PassDirectory;

const PREFIX: &str = "passnet-scratch-";

/// A new directory. Dropping the value deletes the directory in the background, so that no evaluation waits for the disk.
#[derive(Debug)]
pub(crate) struct Scratch(Option<tempfile::TempDir>);

impl Scratch {
    /// Creates a directory. Its name has the id of this process, so that [`sweep`] can recognise directories of dead processes.
    pub(crate) fn new() -> io::Result<Self> {
        let prefix = format!("{PREFIX}{}-", std::process::id());
        tempfile::Builder::new().prefix(&prefix).tempdir().map(|directory| Self(Some(directory)))
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), tempfile::TempDir::path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let directory = self.0.take();
        // If no thread can start, the closure and its directory are dropped here. If the process ends meanwhile, a later process deletes
        // the remaining files.
        let _ = std::thread::Builder::new().spawn(move || drop(directory));
    }
}

/// Deletes the directories of processes that were killed.
pub(crate) fn sweep() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        if let Some((owner, _)) = owner
            && owner.parse::<u32>().is_ok()
            && !Path::new("/proc").join(owner).exists()
        {
            // This fails for directories of another user, or if another process deletes the directory at the same time. Both are
            // harmless.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes a copy of a pass directory into a fresh directory.
pub(crate) fn write_pass_directory(passes: &PassDirectory, directory: &Path) -> io::Result<()> {
    fs_err::create_dir_all(directory)?;
    for (name, bytes) in passes.files() {
        let path = directory.join(name);
        fs_err::create_dir_all(path.parent().unwrap_or(directory))?;
        fs_err::write(path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_dead_left_is_swept() {
        let mine = Scratch::new().unwrap();
        let dead = std::env::temp_dir().join(format!("{PREFIX}4294967295-x"));
        std::fs::create_dir_all(dead.join("inner")).unwrap();
        sweep();
        assert!(mine.path().exists() && !dead.exists());
    }
}
