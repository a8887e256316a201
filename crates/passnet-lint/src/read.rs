//! From a directory on disk to what [`lint_dir`](super::lint_dir) takes.

use std::{io, path::Path};

use fs_err as fs;

use super::{
    directory::{MAX_FILES, ORDER_FILE, lint_dir},
    finding::Finding,
    rule::Violation,
    rules::{TooLarge, UnexpectedFile},
    source::{MAX_FILE_BYTES, locate},
};

/// A file of a pass directory.
#[derive(Clone, Debug)]
pub struct PassFile {
    /// Name relative to the directory.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Reads a pass directory and checks it. Folders of byte code that importing left behind are findings like any other: a
/// cached module is not what was read.
///
/// Errors: the directory or a file of it cannot be read.
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
        let metadata = fs::symlink_metadata(entry.path())?;
        let unexpected = if metadata.is_symlink() {
            Some("a symbolic link")
        } else if metadata.is_dir() {
            Some("a folder")
        } else if !metadata.is_file() {
            Some("not a regular file")
        } else if name != ORDER_FILE && !name.ends_with(".py") {
            Some("neither Python nor the order file")
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
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let borrowed: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice())).collect();
    findings.extend(lint_dir(&borrowed));
    findings.sort();
    Ok((files, findings))
}

fn whole(file: &str, violation: &impl Violation) -> Finding {
    locate(file, "", Default::default(), violation)
}
