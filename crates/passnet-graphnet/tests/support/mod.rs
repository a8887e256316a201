//! Public samples for tests: read from an archive, never unpacked to disk.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The folder of public data, or `None` after saying why the test is skipped.
fn data_dir() -> Option<PathBuf> {
    let default = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let dir = env::var_os("PASSNET_SHARED_DATA").map_or_else(default, PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no public data at {}; set PASSNET_SHARED_DATA", dir.display());
    None
}

/// Files of one sample by name.
pub(crate) type Files = BTreeMap<String, String>;

/// Calls `visit(name, files)` for every sample of an archive whose position in the archive is a multiple of the stride;
/// with `PASSNET_FULL=1` for every sample. Returns whether there is an archive.
pub(crate) fn for_each_sample(archive: &str, stride: usize, mut visit: impl FnMut(&str, Files)) -> bool {
    let Some(path) = data_dir().map(|dir| dir.join(archive)) else { return false };
    let stride = if env::var_os("PASSNET_FULL").is_some() { 1 } else { stride };
    let mut archive = open(&path);
    let (mut current, mut files, mut position) = (String::new(), Files::new(), 0);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let Some((folder, file)) = path.rsplit_once('/').filter(|(_, file)| !file.is_empty()) else { continue };
        let Some((_, folder)) = folder.split_once('/') else { continue };
        if folder != current {
            if !files.is_empty() {
                visit(&current, std::mem::take(&mut files));
            }
            folder.clone_into(&mut current);
            position += 1;
        }
        if position % stride == 0 {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.insert(file.to_owned(), text);
        }
    }
    if !files.is_empty() {
        visit(&current, files);
    }
    true
}

/// A golden file.
pub(crate) fn golden(name: &str) -> Option<serde_json::Value> {
    let file = File::open(data_dir()?.join("goldens").join(name)).unwrap();
    Some(serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap())
}

/// The `index.json` of an archive.
pub(crate) fn index(archive: &str) -> Option<serde_json::Value> {
    let mut archive = open(&data_dir()?.join(archive));
    let mut entries = archive.entries().unwrap().map(Result::unwrap);
    let entry = entries.find(|entry| entry.path().unwrap().ends_with("index.json")).unwrap();
    Some(serde_json::from_reader(entry).unwrap())
}

fn open(path: &Path) -> tar::Archive<impl Read + use<>> {
    let mut decoder = zstd::Decoder::new(File::open(path).unwrap()).unwrap();
    decoder.window_log_max(27).unwrap();
    tar::Archive::new(decoder)
}
