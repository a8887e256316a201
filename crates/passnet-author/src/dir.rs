//! Author `dir:PATH`: pass directories on disk.

use std::path::Path;

use fs_err as fs;
use passnet_record::{AuthorSpec, Device, ORDER_FILE, OrderError, PassDirectory};
use passnet_run::Suite;

use crate::{
    author::{Author, AuthorContext, AuthorError, Runs, TaskGraphs},
    pass_files::{PassDirError, check_pass_folder, read_pass_directory},
};

/// Pass directories on disk: `PATH/<task>` where it exists, else `PATH` itself if it is a pass directory. A task that has
/// neither gets no passes.
pub(crate) struct Dir {
    spec: AuthorSpec,
}

impl Dir {
    pub(crate) const fn new(spec: AuthorSpec) -> Self {
        Self { spec }
    }

    fn path(&self) -> &str {
        self.spec.argument().unwrap_or_default()
    }

    fn read(&self, task: &str) -> Result<PassDirectory, PassDirError> {
        let all = Path::new(self.path());
        let of_task = all.join(task);
        if of_task.is_dir() {
            read_pass_directory(&of_task)
        } else if all.join(ORDER_FILE).is_file() {
            read_pass_directory(all)
        } else {
            // Fails if the path itself does not exist.
            fs::read_dir(all)?;
            Ok(PassDirectory::empty())
        }
    }
}

impl Author for Dir {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn runs(&self) -> Runs {
        Runs::Passes
    }

    fn check(&self, _device: Device) -> Result<(), AuthorError> {
        let all = Path::new(self.path());
        check_pass_folder(all)?;
        let folders = fs::read_dir(all)?.filter_map(|entry| Some(entry.ok()?.path()));
        // Without passes, every result would be that of eager mode, and the score would say nothing about the folder.
        if folders.chain([all.to_owned()]).any(|folder| folder.join(ORDER_FILE).is_file()) {
            return Ok(());
        }
        Err(AuthorError::NoPasses(self.path().to_owned()))
    }

    fn prepare(&mut self, suite: &Suite, _context: &AuthorContext<'_>) -> Result<(), AuthorError> {
        let has_none = |task: &str| self.read(task).is_ok_and(|passes| names_no_pass(&passes));
        if suite.record.tasks.iter().all(|task| has_none(&task.id)) {
            return Err(AuthorError::NoPasses(self.path().to_owned()));
        }
        Ok(())
    }

    fn write(&self, task: &TaskGraphs<'_>) -> Result<PassDirectory, AuthorError> {
        self.read(&task.record.id).map_err(|error| match error {
            // A wrong path is a mistake of the whole command. A bad file concerns only its task.
            error @ PassDirError::Io(_) => error.into(),
            refused => AuthorError::Refused(refused.to_string()),
        })
    }
}

/// Returns whether there are no passes to apply. A damaged order file does not count: the verdicts report it.
fn names_no_pass(passes: &PassDirectory) -> bool {
    match passes.order() {
        Ok(names) => names.is_empty(),
        Err(error) => error == OrderError::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_serves_all_tasks_or_one_each() {
        let root = tempfile::tempdir().unwrap();
        let author = |path: &Path| Dir::new(AuthorSpec::new("dir", Some(path.to_string_lossy().into_owned())));
        let dir = author(root.path());
        let files = |task: &str| dir.read(task).unwrap().files().len();
        fs::create_dir(root.path().join("one")).unwrap();
        fs::write(root.path().join("one/p.py"), "").unwrap();
        assert_eq!((files("one"), files("two")), (1, 0));
        fs::write(root.path().join(ORDER_FILE), "[]").unwrap();
        assert_eq!((files("one"), files("two")), (1, 2));
        assert!(matches!(author(Path::new("/nowhere/at/all")).read("one"), Err(PassDirError::Io(_))));
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("one/link.py")).unwrap();
        assert!(matches!(dir.read("one"), Err(PassDirError::NotPlain { .. })));
    }
}
