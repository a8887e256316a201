use crate::ContentId;

/// Name of the file that lists the passes of a pass directory in their order of application, as a JSON array of rule
/// names (file stems).
pub const ORDER_FILE: &str = "sorted_output_pass_rule_names.json";

/// File of a pass library that describes its passes and their measurements. It is not part of the pass directory.
pub const LIBRARY_MANIFEST: &str = "manifest.json";

/// Version of the format of a pass directory. It is raised when the meaning of [`ORDER_FILE`] or of a pass file changes.
pub const PASS_DIRECTORY_VERSION: u32 = 1;

/// Content of a pass directory: files by relative path, sorted by path, with one id for the whole.
///
/// Paths are relative, have `/` as separator, and contain neither empty, `.` or `..` components nor NUL characters. A
/// directory written below some folder therefore stays below it.
///
/// ```
/// use passnet_record::{ORDER_FILE, PassDirectory};
///
/// let passes = PassDirectory::new([("fuse.py", "# ..."), (ORDER_FILE, r#"["fuse"]"#)])?;
/// assert_eq!(passes.order()?, ["fuse"]);
/// assert_eq!(passes.file("fuse.py"), Some(b"# ...".as_slice()));
/// assert!(PassDirectory::new([("../fuse.py", "")]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassDirectory {
    files: Vec<(String, Vec<u8>)>,
    id: ContentId,
}

/// Error for a path that cannot be in a pass directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilePathError {
    /// The path is absolute or empty, or a component leads out of the directory.
    #[error("`{}` is not a relative path of plain names separated by `/`", .0.escape_debug())]
    NotPlain(String),
    /// Two files have the same path.
    #[error("file `{0}` is given twice")]
    Duplicate(String),
}

/// Error for a missing or malformed [`ORDER_FILE`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The file does not exist.
    #[error("there is no `{ORDER_FILE}`")]
    Missing,
    /// The file is not a JSON array of strings.
    #[error("`{ORDER_FILE}` is not a JSON array of strings: {0}")]
    Malformed(String),
}

impl PassDirectory {
    /// Creates a directory from paths and contents in any order.
    ///
    /// # Errors
    /// If a path is not plain or occurs twice.
    pub fn new<P: Into<String>, B: Into<Vec<u8>>>(
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Result<Self, FilePathError> {
        let mut files: Vec<(String, Vec<u8>)> =
            files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect();
        // Files are sorted because the id must not depend on the order in which a folder lists its files. `file` also relies on the
        // order.
        files.sort_unstable();
        if let Some((path, _)) = files.iter().find(|(path, _)| !is_plain(path)) {
            return Err(FilePathError::NotPlain(path.clone()));
        }
        if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(FilePathError::Duplicate(pair[0].0.clone()));
        }
        let id = ContentId::of_parts(files.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes]));
        Ok(Self { files, id })
    }

    /// Returns a pass directory without files.
    pub fn empty() -> Self {
        Self { files: Vec::new(), id: ContentId::of_parts([]) }
    }

    /// Returns the path and content of each file, sorted by path.
    pub fn files(&self) -> &[(String, Vec<u8>)] {
        &self.files
    }

    /// Returns the content of one file.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let index = self.files.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()?;
        Some(&self.files[index].1)
    }

    /// Returns the id of all paths and contents.
    pub fn id(&self) -> &ContentId {
        &self.id
    }

    /// Returns the rule names in [`ORDER_FILE`], in order of application. The names are not checked against the files.
    ///
    /// # Errors
    /// If the file is missing or not a JSON array of strings.
    pub fn order(&self) -> Result<Vec<String>, OrderError> {
        let bytes = self.file(ORDER_FILE).ok_or(OrderError::Missing)?;
        // Names are not checked here, because the lint reports a name without a file, with a place and a rule.
        serde_json::from_slice(bytes).map_err(|error| OrderError::Malformed(error.to_string()))
    }
}

impl Default for PassDirectory {
    fn default() -> Self {
        Self::empty()
    }
}

/// Returns whether a path stays below the folder that it is joined to.
fn is_plain(path: &str) -> bool {
    // The operating system ends a path at a NUL, so a file could get a different name from the one that was checked.
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for path in ["", "/a.py", "a//b.py", "../a.py", "a/../b.py", "./a.py", "a/", "a\0b"] {
            let error = PassDirectory::new([(path, "")]).unwrap_err();
            assert_eq!(error, FilePathError::NotPlain(path.to_owned()));
        }
        assert!(PassDirectory::new([("kernels/k.cu", ""), ("a.py", "")]).is_ok());
        let twice = PassDirectory::new([("a.py", "1"), ("a.py", "2")]).unwrap_err();
        assert_eq!(twice, FilePathError::Duplicate("a.py".to_owned()));
    }

    #[test]
    fn the_id_depends_on_paths_and_contents_and_not_on_order() {
        let id = |files: &[(&str, &str)]| PassDirectory::new(files.iter().copied()).unwrap().id().clone();
        assert_eq!(id(&[("a", "1"), ("b", "2")]), id(&[("b", "2"), ("a", "1")]));
        assert_ne!(id(&[("a", "1"), ("b", "2")]), id(&[("a", "2"), ("b", "1")]));
        assert_eq!(id(&[]), *PassDirectory::empty().id());
    }

    #[test]
    fn the_order_file_is_a_list_of_names() {
        let order = |text: &str| PassDirectory::new([(ORDER_FILE, text)]).unwrap().order();
        assert_eq!(order(r#"["b", "a"]"#).unwrap(), ["b", "a"]);
        assert!(matches!(order(r#"{"a": 1}"#), Err(OrderError::Malformed(_))));
        assert_eq!(PassDirectory::empty().order(), Err(OrderError::Missing));
    }
}
