//! `passnet dataset`: stages over a dataset on disk.

mod build_suites;
mod found;
mod helpers;
mod inspect;
mod tables;
mod upload;

use std::process::ExitCode;

use anyhow::Result;

pub(super) use self::{
    build_suites::build_with,
    found::{report_failures, with_table},
    helpers::{PoolRunner, count_with, counting_limits, pool},
    tables::print_transfer,
};
use passnet_flags::DatasetCommand;

/// Runs one stage. Exits with 1 if some data could not be used.
pub(crate) fn run(command: &DatasetCommand) -> Result<ExitCode> {
    match command {
        DatasetCommand::Import(args) => tables::import(args),
        DatasetCommand::Dedup(args) => tables::run_dedup(args),
        DatasetCommand::Fold(args) => tables::fold(args),
        DatasetCommand::Curate(args) => tables::run_curate(args),
        DatasetCommand::Prune(args) => tables::run_prune(args),
        DatasetCommand::Revise(args) => tables::run_revise(args),
        DatasetCommand::Withhold(args) => tables::run_withhold(args),
        DatasetCommand::Leaks(args) => inspect::run_leaks(args),
        DatasetCommand::Stats(args) => inspect::run_stats(args),
        DatasetCommand::Show(args) => inspect::show(args),
        DatasetCommand::Query(args) => inspect::run_query(args),
        DatasetCommand::Export(args) => tables::run_export(args),
        DatasetCommand::Annotate(args) => helpers::run_annotate(args),
        DatasetCommand::Kernels(args) => helpers::run_kernels(args),
        DatasetCommand::Card(args) => inspect::run_card(args),
        DatasetCommand::Upload(args) => upload::run(args),
        DatasetCommand::BuildSuites(args) => build_suites::run(args),
    }
}
