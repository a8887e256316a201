//! The pass directory that a model works on.
//!
//! It is kept in memory and copied for evaluation, so that no path, link or race can lead out of it: a path is looked up among
//! names and never passed to the system.

use std::collections::BTreeMap;

use passnet_record::{FilePathError, PassDirectory};

/// Maximum number of files.
const MAX_FILES: usize = 64;
/// Maximum bytes of one file.
const MAX_FILE: usize = 256 << 10;
/// Maximum length of a file name.
const MAX_NAME: usize = 80;
/// Path of the directory, as the model sees it.
pub(crate) const ROOT: &str = "/passes";

/// Error of an edit; the files are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// A path that is not a plain name below [`ROOT`].
    #[error("`{0}` is not in the pass directory; files are plain names such as `{ROOT}/fuse_relu.py`, without folders")]
    Outside(String),
    /// A name that no pass directory can have.
    #[error(transparent)]
    Path(#[from] FilePathError),
    /// The file does not exist.
    #[error("there is no file `{name}`; there {present}")]
    Missing {
        /// Name of the file.
        name: String,
        /// Description of the existing files.
        present: String,
    },
    /// A limit is exceeded.
    #[error("{what} is too large: {found}, at most {limit}")]
    TooLarge {
        /// Name of the quantity.
        what: &'static str,
        /// Value found.
        found: usize,
        /// Maximum.
        limit: usize,
    },
    /// The text is not valid source.
    #[error("the text contains a NUL character; write UTF-8 text without it")]
    Binary,
    /// The text to replace does not occur exactly once.
    #[error("`old_str` occurs {0} times in the file and must occur exactly once; nothing was changed")]
    NotOnce(usize),
    /// The line does not exist.
    #[error("line {line} is not in the file, which has {lines}")]
    NoLine {
        /// Requested line.
        line: i64,
        /// Number of lines of the file.
        lines: usize,
    },
}

/// Files by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    files: BTreeMap<String, String>,
    /// The same files, in the form in which they are evaluated.
    passes: PassDirectory,
}

impl Workspace {
    /// Creates a workspace with files.
    ///
    /// # Errors
    /// If a name cannot be in a pass directory.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Result<Self, FilePathError> {
        let files: BTreeMap<String, String> = files.into_iter().collect();
        Ok(Self { passes: PassDirectory::new(files.clone())?, files })
    }

    /// Returns the files.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Returns the current files as a pass directory.
    pub fn passes(&self) -> PassDirectory {
        self.passes.clone()
    }

    /// Returns whether a path names the directory itself.
    pub fn is_root(path: &str) -> bool {
        let path = path.trim().trim_end_matches('/');
        path.is_empty() || path == "." || path == ROOT || path == ROOT.trim_start_matches('/')
    }

    /// Returns the name of a path's file: `/passes/a.py`, `passes/a.py`, `./a.py` and `a.py` are the same.
    fn name(path: &str) -> Result<String, EditError> {
        let trimmed = path.trim();
        let below = [ROOT, ROOT.trim_start_matches('/'), "."]
            .into_iter()
            .find_map(|root| trimmed.strip_prefix(root)?.strip_prefix('/'))
            .unwrap_or(trimmed);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if below.is_empty() || below.len() > MAX_NAME || below.starts_with('.') || !below.chars().all(plain) {
            return Err(EditError::Outside(path.chars().take(2 * MAX_NAME).collect()));
        }
        Ok(below.to_owned())
    }

    /// Lists the directory.
    pub fn list(&self) -> String {
        if self.files.is_empty() {
            return format!("{ROOT} is empty");
        }
        let lines = self
            .files
            .iter()
            .map(|(name, text)| format!("{name}  {} bytes, {} lines", text.len(), text.lines().count()));
        format!("{ROOT}:\n{}", lines.collect::<Vec<_>>().join("\n"))
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    /// Fails if the file does not exist.
    pub fn read(&self, path: &str) -> Result<&str, EditError> {
        let name = Self::name(path)?;
        match self.files.get(&name) {
            Some(text) => Ok(text),
            None => {
                let names: Vec<&str> = self.files.keys().map(String::as_str).collect();
                let present =
                    if names.is_empty() { "is none yet".to_owned() } else { format!("are {}", names.join(", ")) };
                Err(EditError::Missing { name, present })
            }
        }
    }

    /// Writes a file; an existing one is replaced.
    ///
    /// # Errors
    /// Fails if the path or the text is not acceptable.
    pub fn write(&mut self, path: &str, text: String) -> Result<(), EditError> {
        let name = Self::name(path)?;
        if text.len() > MAX_FILE {
            return Err(EditError::TooLarge { what: "the file", found: text.len(), limit: MAX_FILE });
        }
        if text.contains('\0') {
            return Err(EditError::Binary);
        }
        let count = self.files.len() + usize::from(!self.files.contains_key(&name));
        if count > MAX_FILES {
            return Err(EditError::TooLarge { what: "the number of files", found: count, limit: MAX_FILES });
        }
        let mut files = self.files.clone();
        files.insert(name, text);
        *self = Self::new(files)?;
        Ok(())
    }

    /// Replaces a text that occurs exactly once.
    ///
    /// # Errors
    /// Fails if it does not occur exactly once.
    pub fn replace(&mut self, path: &str, old: &str, new: &str) -> Result<(), EditError> {
        let text = self.read(path)?;
        // The empty text occurs everywhere.
        let count = if old.is_empty() { 0 } else { text.matches(old).count() };
        if count != 1 {
            return Err(EditError::NotOnce(count));
        }
        let text = text.replacen(old, new, 1);
        self.write(path, text)
    }

    /// Inserts lines after a line; 0 puts them first.
    ///
    /// # Errors
    /// Fails if the line does not exist.
    pub fn insert(&mut self, path: &str, line: i64, added: &str) -> Result<(), EditError> {
        let text = self.read(path)?;
        let lines = text.lines().count();
        let after =
            usize::try_from(line).ok().filter(|&line| line <= lines).ok_or(EditError::NoLine { line, lines })?;
        let mut all: Vec<&str> = text.lines().collect();
        all.splice(after..after, added.lines());
        // Python files end with a line break, whether or not the model wrote one.
        let text = all.join("\n") + "\n";
        self.write(path, text)
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// Fails if the file does not exist.
    pub fn delete(&mut self, path: &str) -> Result<(), EditError> {
        self.read(path)?;
        let mut files = self.files.clone();
        files.remove(&Self::name(path)?);
        *self = Self::new(files)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out() {
        let mut workspace = Workspace::default();
        for path in [
            "../x.py",
            "/etc/passwd",
            "/passes/../x.py",
            "a/b.py",
            "..",
            ".hidden",
            "a\0b",
            "x\u{202e}y.py",
            "/passes//etc",
        ] {
            assert!(matches!(workspace.write(path, String::new()), Err(EditError::Outside(_))), "{path}");
            assert!(workspace.read(path).is_err(), "{path}");
        }
        for path in ["a.py", "/passes/a.py", "passes/a.py", "./a.py", " a.py "] {
            workspace.write(path, "x = 1\n".to_owned()).unwrap();
        }
        assert_eq!(workspace.files().len(), 1);
        assert!(Workspace::is_root("/passes/") && Workspace::is_root("") && !Workspace::is_root("a.py"));
    }

    #[test]
    fn edits_do_what_they_say_or_nothing() {
        let mut workspace = Workspace::new([("a.py".to_owned(), "one\ntwo\ntwo\n".to_owned())]).unwrap();
        assert_eq!(workspace.replace("a.py", "two", "x"), Err(EditError::NotOnce(2)));
        assert_eq!(workspace.replace("a.py", "", "x"), Err(EditError::NotOnce(0)));
        workspace.replace("a.py", "one", "1").unwrap();
        workspace.insert("a.py", 0, "zero").unwrap();
        workspace.insert("a.py", 4, "end\nof it").unwrap();
        assert_eq!(workspace.read("a.py").unwrap(), "zero\n1\ntwo\ntwo\nend\nof it\n");
        assert!(workspace.insert("a.py", 9, "x").is_err() && workspace.insert("a.py", -1, "x").is_err());
        assert_eq!(workspace.write("b.py", "\0".to_owned()), Err(EditError::Binary));
        assert!(workspace.write("b.py", "x".repeat(MAX_FILE + 1)).is_err());
        workspace.delete("a.py").unwrap();
        assert!(workspace.read("a.py").unwrap_err().to_string().contains("is none yet"));
    }
}
