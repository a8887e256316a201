//! The `passnet` command: flags, output, exit codes. Everything else is in the libraries.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one crate that prints")]

mod args;
mod commands;
mod environment;
mod failure;
mod help;
mod output;
mod progress;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = help::parse();
    output::set_up_logging(&arguments.verbosity);
    match commands::run(arguments.command) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
