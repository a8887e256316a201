//! Tasks of the repository; `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command for developers")]

mod attacks;
mod bench;
mod command;
mod demo;
mod disk;
mod environment;
mod published;
mod test;
mod tidy;
mod wheel;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

const HELP: &str = "\
Usage: cargo xtask <task>

  demo [--device D] [--full]
                      build, set up Python, run the bundled suite with every built-in author, print the leaderboard;
                      one graph of each task, or all
  test                formatting, lints, tidy, all Rust and Python tests, the attack suite with all layers on
  attacks [FLAGS]     the attack suite; flags are those of `passnet attacks`: --once, --quick, --json, --filter NAME, --device cuda
  tidy [PATH ...]     the invariants of ARCHITECTURE.md and STYLE.md, of the whole repository or below the paths
  bench parse|eval|lint|sandbox|pages
                      benchmarks that print figures (and ratios to the obvious alternative)
  site                the site of all published runs in docs/results, as target/published/site and packed
  setup               only make the Python environment and the extension module
  wheel               build the Python wheel into target/wheels

Environment: PASSNET_PYTHON names an existing Python with PyTorch to use instead of making one in target/venv.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let root = repository_root()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["demo", flags @ ..] => demo::demo(&root, flags),
        ["test"] => test::test(&root),
        ["attacks", flags @ ..] => attacks::attacks(&root, flags),
        ["tidy", scopes @ ..] => tidy::tidy(&root, scopes),
        ["bench", "parse"] => bench::parse(&root),
        ["bench", "eval"] => bench::eval(&root),
        ["bench", "lint"] => bench::lint(&root),
        ["bench", "sandbox"] => bench::sandbox(&root),
        ["bench", "pages"] => bench::pages(&root),
        ["site"] => published::site(&root),
        ["setup"] => environment::Environment::prepare(&root, &[], environment::BuildProfile::Release).map(|_| ()),
        ["wheel"] => wheel::wheel(&root),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        other => bail!("unknown task `{}`\n\n{HELP}", other.join(" ")),
    }
}

/// Returns the folder above `xtask/`.
fn repository_root() -> Result<PathBuf> {
    // Cargo sets the variable for a command that it runs. The folder of the build is another one where two clones share a target folder.
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    Ok(manifest.parent().context("xtask lies in the repository")?.to_owned())
}
