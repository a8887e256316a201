//! The `passnet` command: flags, output, exit codes.
//!
//! A subcommand has its flags in `passnet-flags`, and one short function in `commands/` that calls the libraries and prints. This is the
//! only crate that prints and that decides exit codes. It never computes a result itself: a function that other programs could
//! use belongs in a library.
//!
//! ```console
//! $ passnet eval suites/demo/bert-linear-gelu --author eager
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one crate that prints")]

mod commands;
mod environment;
mod failure;
mod help;
mod log;
mod output;
mod progress;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = help::parse();
    log::set_up(&arguments.verbosity);
    match commands::run(arguments.command) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
