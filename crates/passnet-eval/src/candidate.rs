//! What is evaluated: an author's code for one task.

use std::{
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_python::lint::ORDER_FILE;
use passnet_record::{AuthorSpec, CandidateSpec, ContentId, ExecutionPath};

/// Largest accepted pass directory, in bytes of all its files.
const MAX_PASS_BYTES: u64 = 16 << 20;

/// Why a pass directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PassDirError {
    /// The system refused, or there is no such directory.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// More bytes than a pass directory may have.
    #[error("{path}: a pass directory may have {MAX_PASS_BYTES} bytes, this one has more")]
    TooLarge {
        /// The directory.
        path: PathBuf,
    },
    /// A link, device or other thing that is neither file nor directory.
    #[error("{path}: only plain files and directories may be in a pass directory")]
    NotPlain {
        /// The offending entry.
        path: PathBuf,
    },
}

/// The files of a pass directory as they were when it was read. What is evaluated is a copy of these, so that nothing
/// written to the directory later counts.
#[derive(Clone, Debug)]
pub struct PassDirectory {
    files: Vec<(String, Vec<u8>)>,
    id: ContentId,
}

impl PassDirectory {
    /// Reads all files, sorted by path; `__pycache__` is left out.
    ///
    /// # Errors
    /// Where the directory cannot be read, is too large, or holds links.
    pub fn read(directory: &Path) -> Result<Self, PassDirError> {
        let mut files = Vec::new();
        let mut open = vec![directory.to_owned()];
        let mut total = 0;
        while let Some(current) = open.pop() {
            for entry in fs::read_dir(&current)? {
                let path = entry?.path();
                let kind = fs::symlink_metadata(&path)?;
                if kind.is_dir() {
                    if path.file_name().is_some_and(|name| name != "__pycache__") {
                        open.push(path);
                    }
                    continue;
                }
                if !kind.is_file() {
                    return Err(PassDirError::NotPlain { path });
                }
                total += kind.len();
                if total > MAX_PASS_BYTES {
                    return Err(PassDirError::TooLarge { path: directory.to_owned() });
                }
                let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().into_owned();
                files.push((name, fs::read(&path)?));
            }
        }
        files.sort_unstable();
        let id = ContentId::of_parts(files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]));
        Ok(Self { files, id })
    }

    /// One of files that were written in memory.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self::of_bytes(files.into_iter().map(|(name, text)| (name, text.into_bytes())))
    }

    /// As [`Self::new`], of files that need not be text.
    pub fn of_bytes(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_unstable();
        let id = ContentId::of_parts(files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]));
        Self { files, id }
    }

    /// One without files.
    pub fn empty() -> Self {
        Self { files: Vec::new(), id: ContentId::of_parts([]) }
    }

    /// Path and content of each file, sorted by path.
    pub fn files(&self) -> &[(String, Vec<u8>)] {
        &self.files
    }

    /// Identity of the whole.
    pub fn id(&self) -> &ContentId {
        &self.id
    }

    /// Writes a copy into a fresh directory.
    pub(crate) fn write_to(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        for (name, bytes) in &self.files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }
}

/// What an author offers for one task.
#[derive(Clone, Debug)]
pub enum Candidate {
    /// The graph itself.
    Eager,
    /// The path of passes without any.
    Noop,
    /// TorchInductor in a mode.
    Inductor {
        /// The `mode` argument of `torch.compile`.
        mode: String,
    },
    /// Passes.
    Passes(PassDirectory),
    /// A pass directory that is not one, and why.
    Refused(String),
}

impl Candidate {
    /// What an author of the command line offers for a task. A `dir:` author has either one pass directory for all tasks
    /// or a directory with one per task; a task that is missing there gets no passes.
    ///
    /// # Errors
    /// Where the system refuses to read a pass directory. One that holds what it must not is [`Self::Refused`]: that
    /// concerns its task alone.
    pub fn of(author: &AuthorSpec, task: &str) -> Result<Self, PassDirError> {
        Ok(match author {
            AuthorSpec::Eager => Self::Eager,
            AuthorSpec::Noop => Self::Noop,
            // Their passes depend on the graphs; the run has them written before.
            AuthorSpec::Fuse | AuthorSpec::Llm { .. } => Self::Passes(PassDirectory::empty()),
            AuthorSpec::Inductor { mode } => Self::Inductor { mode: mode.clone() },
            AuthorSpec::Dir { path } => {
                let (all, of_task) = (Path::new(path), Path::new(path).join(task));
                let passes = if of_task.is_dir() {
                    PassDirectory::read(&of_task)
                } else if all.join(ORDER_FILE).is_file() {
                    PassDirectory::read(all)
                } else {
                    // Fails where the path as a whole is wrong.
                    fs::read_dir(all)?;
                    Ok(PassDirectory::empty())
                };
                match passes {
                    Ok(passes) => Self::Passes(passes),
                    Err(error @ PassDirError::Io(_)) => return Err(error),
                    Err(refused) => Self::Refused(refused.to_string()),
                }
            }
        })
    }

    /// Its part of a content key.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Eager => "eager".to_owned(),
            Self::Noop => "noop".to_owned(),
            Self::Inductor { mode } => format!("inductor:{mode}"),
            Self::Passes(passes) => passes.id().to_string(),
            Self::Refused(why) => format!("refused:{why}"),
        }
    }

    /// Whether it brings code that is not trusted.
    pub(crate) const fn is_foreign(&self) -> bool {
        matches!(self, Self::Passes(_))
    }

    /// How it is run on the paths asked for; on the ones it has where those are none.
    pub(crate) fn routes(&self, paths: &[ExecutionPath], passes: &str) -> Vec<Route> {
        let on = |path, spec, control| Route { path, spec, control };
        let (direct, compiled) = (ExecutionPath::Direct, ExecutionPath::Compiled);
        let passes = |compiled| CandidateSpec::Passes { dir: passes.to_owned(), compiled };
        let all = match self {
            Self::Eager => vec![on(direct, CandidateSpec::Eager, None)],
            Self::Noop => vec![
                on(direct, CandidateSpec::Eager, None),
                on(compiled, CandidateSpec::Control, Some(CandidateSpec::Control)),
            ],
            Self::Inductor { mode } => {
                vec![on(compiled, CandidateSpec::Inductor { mode: mode.clone() }, Some(CandidateSpec::Control))]
            }
            Self::Refused(_) => Vec::new(),
            Self::Passes(_) => {
                vec![on(direct, passes(false), None), on(compiled, passes(true), Some(CandidateSpec::Control))]
            }
        };
        let asked: Vec<Route> =
            paths.iter().filter_map(|path| all.iter().find(|route| route.path == *path).cloned()).collect();
        if asked.is_empty() { all } else { asked }
    }
}

/// One way of running a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) path: ExecutionPath,
    pub(crate) spec: CandidateSpec,
    /// The same path without rewriting; `None` where that is eager mode itself.
    pub(crate) control: Option<CandidateSpec>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_directory_is_what_its_files_are() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("kernels/__pycache__")).unwrap();
        fs::write(root.path().join("a.py"), "a").unwrap();
        fs::write(root.path().join("kernels/k.cu"), "k").unwrap();
        fs::write(root.path().join("kernels/__pycache__/k.pyc"), "x").unwrap();
        let passes = PassDirectory::read(root.path()).unwrap();
        let names: Vec<&str> = passes.files().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a.py", "kernels/k.cu"]);
        let copy = tempfile::tempdir().unwrap();
        passes.write_to(&copy.path().join("passes")).unwrap();
        assert_eq!(PassDirectory::read(&copy.path().join("passes")).unwrap().id(), passes.id());
        fs::write(root.path().join("a.py"), "b").unwrap();
        assert_ne!(PassDirectory::read(root.path()).unwrap().id(), passes.id());
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("link.py")).unwrap();
        assert!(matches!(PassDirectory::read(root.path()), Err(PassDirError::NotPlain { .. })));
    }

    #[test]
    fn a_directory_serves_all_tasks_or_one_each() {
        let root = tempfile::tempdir().unwrap();
        let author = AuthorSpec::Dir { path: root.path().to_string_lossy().into_owned() };
        let files = |task: &str| match Candidate::of(&author, task).unwrap() {
            Candidate::Passes(passes) => passes.files().len(),
            other => panic!("{other:?}"),
        };
        fs::create_dir(root.path().join("one")).unwrap();
        fs::write(root.path().join("one/p.py"), "").unwrap();
        assert_eq!((files("one"), files("two")), (1, 0));
        fs::write(root.path().join(ORDER_FILE), "[]").unwrap();
        assert_eq!((files("one"), files("two")), (1, 2));
        assert!(Candidate::of(&AuthorSpec::Dir { path: "/nowhere/at/all".to_owned() }, "one").is_err());
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("one/link.py")).unwrap();
        assert!(matches!(Candidate::of(&author, "one").unwrap(), Candidate::Refused(why) if why.contains("link.py")));
    }

    #[test]
    fn routes_follow_the_settings_where_the_author_has_them() {
        let both = [ExecutionPath::Compiled, ExecutionPath::Direct];
        let paths = |candidate: Candidate, paths: &[ExecutionPath]| -> Vec<ExecutionPath> {
            candidate.routes(paths, "/p").iter().map(|route| route.path).collect()
        };
        assert_eq!(paths(Candidate::Noop, &both), both);
        assert_eq!(paths(Candidate::Eager, &both), [ExecutionPath::Direct]);
        let inductor = Candidate::Inductor { mode: "default".to_owned() };
        assert_eq!(paths(inductor, &[ExecutionPath::Direct]), [ExecutionPath::Compiled]);
    }
}
