//! Pages as a browser and hostile clients meet them: the real command over the logs of a real run.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

mod browser;
mod devtools;
mod live;
mod publish;
mod screenshots;
mod server;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn passnet(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_passnet")).args(arguments).current_dir(root()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// The published logs: four runs over two suites.
fn runs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let archive = std::fs::File::open(root().join("docs/results/h200-runs.tar.gz")).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(folder.path()).unwrap();
    folder
}
