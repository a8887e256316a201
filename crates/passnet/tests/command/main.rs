//! The command from end to end. All tests are in one program, because tests of different programs do not run in parallel, and most
//! of the time is spent on loading PyTorch, on compilers, and on waiting for the core that measures.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why, and one says how long it waited")]

mod agent;
mod authored;
mod bisect;
mod board;
mod cli;
mod confirm;
mod dataset;
mod doctor;
mod documents;
mod environment;
mod interrupt;
mod lessons;
mod matches;
mod messages;
mod new;
mod optimize;
mod paddle;
mod paths;
mod suites;
mod tables;
mod tuning;
mod upload;
mod workers;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns whether a test has to be left out because it takes minutes, and says so.
fn is_left_out() -> bool {
    let is_left_out = std::env::var_os("PASSNET_LONG_TESTS").is_none();
    if is_left_out {
        println!("skipped: takes minutes; set PASSNET_LONG_TESTS=1 to run it");
    }
    is_left_out
}

/// Returns whether there is a Python with PyTorch for a test, and says so if there is none.
fn has_torch() -> bool {
    let found = std::env::var_os("PASSNET_PYTHON").is_some();
    if !found {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
    }
    found
}

/// The command, to be run in the repository.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passnet"));
    command.args(arguments).current_dir(repository());
    command
}

/// Runs `passnet fuse` on a task folder of `home`, with a cache there. Returns its messages.
fn fuse(home: &Path, task: &str, out: &str, flags: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_passnet"))
        .arg("fuse")
        .args([&home.join(task), Path::new("--out"), &home.join(out)])
        .args(flags)
        .env("PASSNET_CACHE", home.join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

fn passnet(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}
