//! One module per subcommand. Each takes its flags and returns the exit code.

mod agent;
mod attacks;
pub(crate) mod authors;
mod bench;
mod bisect;
mod board;
mod bundle;
mod compare;
mod dataset;
mod doctor;
mod env;
mod eval;
mod extract;
mod fleet;
mod fuse;
mod lint;
mod match_judge;
mod matches;
mod new;
mod optimize;
mod plot;
mod referee;
mod report;
mod score;
mod serve;
mod site;
mod stop;
mod study;
mod submit;
mod traj;
mod tuning;

use std::process::ExitCode;

use anyhow::Result;

use crate::help;
use passnet_flags::{BenchCommand, Command};

/// Runs a subcommand.
pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Extract(args) => extract::run(&args),
        Command::Dataset(command) => dataset::run(&command),
        Command::Eval(args) => eval::run(&args),
        Command::Bench(BenchCommand::Run(args)) => bench::run(&args),
        Command::Fleet(command) => fleet::run(&command),
        Command::Bisect(args) => bisect::run(&args),
        Command::Agent(command) => agent::run(&command),
        Command::Traj(command) => traj::run(&command),
        Command::Env(command) => env::run(&command),
        Command::Fuse(args) => fuse::run(&args),
        Command::Match(args) => matches::run(&args),
        Command::Optimize(args) => optimize::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Site(args) => site::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Submit(args) => submit::run(&args),
        Command::Board(args) => board::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Attacks(args) => attacks::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::New(args) => new::run(&args),
        Command::Completions { shell } => help::completions(shell),
        Command::Man => help::manual(),
    }
}
