//! The directories of the attack suite.

use std::path::{Path, PathBuf};

use fs_err as fs;
use passnet_record::{
    SCHEMA_VERSION, SuiteManifest, SuiteTask,
    attack::{AttackMeta, DeviceRequirement},
};

use crate::AttackError;

/// An attack or an honest pass directory.
pub(crate) struct AttackEntry {
    /// Path of its folder in the suite: `FAMILY/NAME`, or `honest/NAME`.
    pub(crate) name: String,
    pub(crate) meta: AttackMeta,
    /// Files of the pass directory: all files but `meta.json`, by path relative to the directory.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl AttackEntry {
    /// Reads a directory. `root` is the directory of the suite.
    fn read(directory: &Path, root: &Path) -> Result<Self, AttackError> {
        let path = directory.join("meta.json");
        let malformed = |message: String| AttackError::Entry { path: path.clone(), message };
        let meta: AttackMeta =
            serde_json::from_str(&fs::read_to_string(&path)?).map_err(|error| malformed(error.to_string()))?;
        if meta.schema_version != SCHEMA_VERSION {
            return Err(malformed(format!("schema_version {}, but this reads {SCHEMA_VERSION}", meta.schema_version)));
        }
        let mut files = Vec::new();
        let mut open = vec![directory.to_owned()];
        while let Some(current) = open.pop() {
            for item in fs::read_dir(&current)? {
                let item = item?.path();
                if item.is_dir() {
                    open.push(item);
                } else if item != path {
                    files.push((relative(&item, directory), fs::read(&item)?));
                }
            }
        }
        // Folders list their files in the order of the file system.
        files.sort_unstable();
        Ok(Self { name: relative(directory, root), meta, files })
    }

    /// Returns whether the entry is an honest pass directory, which must not be rejected.
    pub(crate) fn is_honest(&self) -> bool {
        self.meta.expect.is_none()
    }

    /// Returns whether the entry is for the given kind of device.
    pub(crate) fn runs_on(&self, gpu: bool) -> bool {
        match self.meta.runs_on {
            DeviceRequirement::Cpu => !gpu,
            DeviceRequirement::Gpu => gpu,
            DeviceRequirement::Both => true,
        }
    }

    pub(crate) fn task<'s>(&self, suite: &'s SuiteManifest) -> Result<&'s SuiteTask, AttackError> {
        let found = suite.tasks.iter().find(|task| task.id == self.meta.task);
        found.ok_or_else(|| AttackError::Entry {
            path: PathBuf::from(&self.name),
            message: format!("there is no task `{}`", self.meta.task),
        })
    }

    fn matches(&self, filter: &str) -> bool {
        let last = self.name.rsplit('/').next().unwrap_or_default();
        let names = [self.name.as_str(), last, self.meta.id.as_str()];
        self.meta.family == filter || names.iter().any(|name| name.starts_with(filter))
    }
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns all attacks, then all honest passes, sorted by path. An entry is a folder with a `meta.json`, at any depth.
pub(crate) fn read_all(directory: &Path, filters: &[String]) -> Result<Vec<AttackEntry>, AttackError> {
    let mut folders = Vec::new();
    find(directory, &mut folders)?;
    folders.sort_unstable();
    let honest = directory.join("honest");
    let (mut attacks, mut passes) = (Vec::new(), Vec::new());
    for folder in folders {
        let entry = AttackEntry::read(&folder, directory)?;
        if entry.is_honest() != folder.starts_with(&honest) {
            let message = "attacks, and only those, say what to expect".to_owned();
            return Err(AttackError::Entry { path: folder, message });
        }
        if entry.is_honest() { &mut passes } else { &mut attacks }.push(entry);
    }
    attacks.extend(passes);
    // Each filter must match an entry, because a typo in one of several filters would silently run fewer attacks.
    if let Some(filter) = filters.iter().find(|filter| !attacks.iter().any(|entry| entry.matches(filter))) {
        return Err(AttackError::NoMatch { directory: directory.to_owned(), filter: filter.clone() });
    }
    attacks.retain(|entry| filters.is_empty() || filters.iter().any(|filter| entry.matches(filter)));
    Ok(attacks)
}

/// Finds the folders below a folder that have a `meta.json`. All files in such a folder belong to its entry.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), AttackError> {
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        if path.join("meta.json").is_file() {
            found.push(path);
        } else if path.is_dir() {
            find(&path, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTACK: &str = r#"{"schema_version": 1, "id": "A1", "family": "timing", "title": "t", "task": "k",
        "expect": {"status": "integrity"}}"#;
    const HONEST: &str = r#"{"schema_version": 1, "title": "t", "task": "k"}"#;

    fn add(root: &Path, path: &str, meta: &str) {
        fs::create_dir_all(root.join(path).join("kernels")).unwrap();
        fs::write(root.join(path).join("meta.json"), meta).unwrap();
        fs::write(root.join(path).join("kernels/k.cpp"), "").unwrap();
    }

    #[test]
    fn entries_are_found_at_any_depth() {
        let root = tempfile::tempdir().unwrap();
        add(root.path(), "timing/slow-clock", ATTACK);
        add(root.path(), "A0", ATTACK);
        add(root.path(), "honest/relu", HONEST);
        fs::create_dir_all(root.path().join("tasks/k/000")).unwrap();
        let names = |filters: &[&str]| -> Vec<String> {
            let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
            read_all(root.path(), &filters).unwrap().into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), ["A0", "timing/slow-clock", "honest/relu"]);
        assert_eq!(names(&["slow"]), ["timing/slow-clock"]);
        assert_eq!(names(&["timing"]), ["A0", "timing/slow-clock"]);
        assert_eq!(names(&["honest/"]), ["honest/relu"]);
        let typo = read_all(root.path(), &["slow".to_owned(), "honset".to_owned()]);
        assert!(typo.err().unwrap().to_string().contains("the filter `honset`"));
        let entry = &read_all(root.path(), &["slow".to_owned()]).unwrap()[0];
        assert_eq!(entry.files[0].0, "kernels/k.cpp");
        add(root.path(), "honest/attack", ATTACK);
        assert!(read_all(root.path(), &[]).is_err());
    }
}
