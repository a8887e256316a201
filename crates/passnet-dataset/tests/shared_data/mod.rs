//! Folder of optional public test data, shared by the tests of this crate.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

/// The folder of optional data: `PASSNET_SHARED_DATA`, else `../shared/data` next to the repository.
fn folder() -> PathBuf {
    std::env::var_os("PASSNET_SHARED_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}

#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn read(name: &str) -> Option<Vec<u8>> {
    let path = folder().join(name);
    let content = std::fs::read(&path).ok();
    if content.is_none() {
        println!("skipped: {} is absent; set PASSNET_SHARED_DATA", path.display());
    }
    content
}

/// Reads a golden file (gzip where the name says so); `None`, with the reason printed, where the data is absent.
pub(crate) fn golden<T: DeserializeOwned>(name: &str) -> Option<T> {
    let bytes = read(&format!("goldens/{name}"))?;
    let text = if name.ends_with(".gz") {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text).expect("golden files are gzip");
        text
    } else {
        bytes
    };
    Some(serde_json::from_slice(&text).expect("golden files have the type asked for"))
}

/// Unpacks a `.tar.zst` archive; `None`, with the reason printed, where the data is absent.
pub(crate) fn unpack(name: &str, folder: &Path) -> Option<()> {
    let bytes = read(name)?;
    let mut decoder = zstd::Decoder::new(bytes.as_slice()).expect("the archive is zstd");
    decoder.window_log_max(27).expect("27 is a valid window");
    tar::Archive::new(decoder).unpack(folder).expect("the archive is a tar");
    Some(())
}
