//! Commands that the tasks run, with their titles and times.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, ExitStatus, Stdio},
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

/// Runs a command like [`step`], and keeps the lines that a reader needs if it fails.
///
/// The outputs of other tasks follow, and logs often keep only the end. So the error has these lines again.
pub(crate) fn step_before_others(title: &str, command: &mut Command) -> Result<()> {
    eprintln!("== {title}");
    let start = Instant::now();
    let (output, input) = std::io::pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    let child = command.spawn();
    // The command has copies of the pipe's end. They would keep it open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let kept = print_and_keep(output, &mut std::io::stderr())?;
    ended(title, command, child.wait()?, start).map_err(|error| error.context(kept))
}

/// Number of lines at the end of an output that are kept.
const CLOSING_LINES: usize = 25;

/// Copies an output to `shown` until it ends. Returns the names of the tests of Rust that failed, and the closing lines.
fn print_and_keep(output: impl Read, shown: &mut impl Write) -> Result<String> {
    let mut failed = Vec::new();
    let mut closing = VecDeque::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(shown, "{line}")?;
        if line.ends_with("... FAILED") {
            failed.push(line.clone());
        }
        closing.push_back(line);
        if closing.len() > CLOSING_LINES {
            closing.pop_front();
        }
    }
    Ok(failed.into_iter().chain(closing).collect::<Vec<_>>().join("\n"))
}

fn ended(title: &str, command: &Command, status: ExitStatus, start: Instant) -> Result<()> {
    if !status.success() {
        bail!("{title}: {:?} ended with {status}", command.get_program());
    }
    eprintln!("== {title}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_and_the_end_are_kept() {
        let output = format!("test a ... FAILED\n{}last\n", "line\n".repeat(40));
        let mut shown = Vec::new();
        let kept = print_and_keep(output.as_bytes(), &mut shown).unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), output);
        assert_eq!(kept, format!("test a ... FAILED\n{}last", "line\n".repeat(CLOSING_LINES - 1)));
    }

    #[test]
    fn an_error_has_the_end_of_the_output() {
        let error = step_before_others("a task", Command::new("sh").args(["-c", "echo last >&2; exit 3"])).unwrap_err();
        assert_eq!(format!("{error:#}"), "last: a task: \"sh\" ended with exit status: 3");
    }
}
