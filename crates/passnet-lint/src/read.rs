//! Reading of a pass directory from disk, in the form that [`lint_dir`](super::lint_dir) takes.

use std::{io, path::Path};

use fs_err as fs;

use super::{
    directory::{MAX_FILES, lint_dir},
    finding::Finding,
    order::ORDER_FILE,
    rule::Violation,
    rules::{TooLarge, UnexpectedFile},
    source::{MAX_FILE_BYTES, locate},
};

/// Manifest of a pass library.
const MANIFEST: &str = "manifest.json";

/// A file of a pass directory.
#[derive(Clone, Debug)]
pub struct PassFile {
    /// Name relative to the directory.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Reads a pass directory or a pass library and checks its passes. Folders of byte code that an import left behind are findings
/// too, because Python could run the byte code instead of the text that was checked.
///
/// # Errors
/// If the directory or one of its files cannot be read.
pub fn read_dir(directory: &Path) -> io::Result<(Vec<PassFile>, Vec<Finding>)> {
    let mut files = Vec::new();
    let mut findings = Vec::new();
    for (count, entry) in fs::read_dir(directory)?.enumerate() {
        if count >= MAX_FILES {
            let limit = format!("{MAX_FILES} files");
            findings.push(whole("", &TooLarge { subject: "the directory".to_owned(), limit }));
            break;
        }
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // `metadata` would follow a link to a file outside the directory.
        let metadata = fs::symlink_metadata(entry.path())?;
        // `passnet optimize` writes a manifest next to the passes of a library. Workers do not get it, so it is not checked.
        if name == MANIFEST && metadata.is_file() {
            continue;
        }
        let unexpected = if metadata.is_symlink() {
            Some("a symbolic link")
        } else if metadata.is_dir() {
            Some("a folder")
        } else if !metadata.is_file() {
            Some("not a regular file")
        } else if name != ORDER_FILE && !name.ends_with(".py") {
            Some("no Python file")
        } else {
            None
        };
        if let Some(what) = unexpected {
            findings.push(whole(&name, &UnexpectedFile { subject: format!("{name} ({what})") }));
        } else if metadata.len() > MAX_FILE_BYTES as u64 {
            let limit = format!("{} KiB", MAX_FILE_BYTES / 1024);
            findings.push(whole(&name, &TooLarge { subject: "the size of the file".to_owned(), limit }));
        } else {
            files.push(PassFile { name, bytes: fs::read(entry.path())? });
        }
    }
    // The operating system lists files in any order, and findings must not depend on it.
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let borrowed: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice())).collect();
    findings.extend(lint_dir(&borrowed));
    findings.sort();
    Ok((files, findings))
}

fn whole(file: &str, violation: &impl Violation) -> Finding {
    locate(file, "", Default::default(), violation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_library_is_read_without_its_manifest() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(ORDER_FILE), "[]").unwrap();
        fs::write(root.path().join(MANIFEST), "{}").unwrap();
        let (files, findings) = read_dir(root.path()).unwrap();
        assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), [ORDER_FILE]);
        assert!(findings.iter().all(|finding| finding.file != MANIFEST));
        // Only a file, not a folder, of that name is a manifest.
        fs::remove_file(root.path().join(MANIFEST)).unwrap();
        fs::create_dir(root.path().join(MANIFEST)).unwrap();
        assert!(read_dir(root.path()).unwrap().1.iter().any(|finding| finding.rule == UnexpectedFile::ID));
    }
}
