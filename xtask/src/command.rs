//! Commands that the tasks run, with their titles and times.

use std::{
    path::Path,
    process::{Command, ExitStatus},
    time::Instant,
};

use anyhow::{Context, Result, bail};

/// Returns the cargo that runs this task, in the root of the repository.
pub(crate) fn cargo(root: &Path) -> Command {
    // Cargo names itself in `CARGO`. Another one on the `PATH` could have another toolchain and would build all again.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Returns cargo as [`cargo`] does, with Clippy as the compiler of the workspace. A warning ends the build.
///
/// `cargo clippy` checks all dependencies and the workspace, and builds nothing that a later build can use. On two cores, this takes
/// minutes. It sets the same two variables.
pub(crate) fn linting_cargo(root: &Path) -> Command {
    let mut command = cargo(root);
    command
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    command
}

/// Builds `passnet` and the extension module with the cargo of the tests or of all other tasks. Crates that measure are optimised in this
/// profile, so one build serves all. A crate that is built alone has other features of shared dependencies, which would be compiled again.
pub(crate) fn build_workspace(mut cargo: Command) -> Result<()> {
    step("build passnet", cargo.args(["build", "--workspace"]))
}

/// Runs a command and prints its title and time. Fails if the command fails.
pub(crate) fn step(title: &str, command: &mut Command) -> Result<()> {
    eprintln!("== {title}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ended(title, command, status, start)
}

/// Runs a command at the same time as others, like [`step`], and prints its output when it has ended.
pub(crate) fn step_in_background(title: &str, command: &mut Command) -> Result<()> {
    eprintln!("== {title}, in the background");
    let start = Instant::now();
    // Collected and printed at the end, because lines of two tasks would mix.
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    eprintln!("== {title}\n{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ended(title, command, output.status, start)
}

fn ended(title: &str, command: &Command, status: ExitStatus, start: Instant) -> Result<()> {
    if !status.success() {
        bail!("{title}: {:?} ended with {status}", command.get_program());
    }
    eprintln!("== {title}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
