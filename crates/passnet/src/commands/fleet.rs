//! `passnet fleet`: runs over the devices of a cluster.

mod dataset;
mod simulate;

use std::{
    env,
    io::{self, BufReader},
    process::ExitCode,
    sync::atomic::AtomicBool,
};

use anyhow::Result;
use passnet_dataset::open_suite;
use passnet_eval::{Submission, run::Progress};
use passnet_fleet::{
    AuthorRun, BridgeConfig, Cluster, FleetError, FleetOptions, FleetProgress, FleetRun, HealthPolicy, MetricsFiles,
    Policy, serve_helpers, serve_station,
};
use passnet_record::{AuthorSpec, Device, RunSettings, counted};
use passnet_run::{FLEET_METRICS, Suite, archive::score_run, remove_run};
use passnet_services::Interpreter;

use super::{
    authors::{check_author, create, write_submission},
    bench::run_directory,
    referee,
    report::print_leaderboard,
    stop::stop_flag,
};
use crate::{
    failure::{interrupted, unfit, usage},
    progress::ProgressLine,
};
use passnet_flags::{FleetArgs, FleetCommand, FleetRunArgs, StationArgs};

/// Cores of a station with a GPU: one for each evaluation that runs at the same time.
const GPU_CORES: usize = 4;

/// Runs a subcommand.
pub(crate) fn run(command: &FleetCommand) -> Result<ExitCode> {
    match command {
        FleetCommand::Run(args) => run_suite(args),
        FleetCommand::Simulate(args) => simulate::run(args),
        FleetCommand::Dataset(args) => dataset::run(args).map_err(|error| match error.downcast() {
            Ok(error) => fleet_failure(error),
            Err(error) => error,
        }),
        FleetCommand::Shard { folder, cores } => dataset::run_task(folder, *cores),
        FleetCommand::Station => station(),
        FleetCommand::Helper => helper(),
    }
}

fn station() -> Result<ExitCode> {
    let start = |settings: RunSettings, jobs| referee::start_with(settings, jobs).map_err(|error| error.to_string());
    serve_station(BufReader::new(io::stdin()), io::stdout(), &start)?;
    Ok(ExitCode::SUCCESS)
}

fn helper() -> Result<ExitCode> {
    serve_helpers(BufReader::new(io::stdin()), io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn run_suite(args: &FleetRunArgs) -> Result<ExitCode> {
    for author in &args.authors {
        check_author(author, args.measure.device)?;
    }
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let settings = referee::settings_of(&args.measure, suite.record.weights);
    let authors = submissions(args, &suite, &settings)?;
    // After the passes are written, so that a failing author does not delete the old run.
    if args.fresh {
        authors.iter().try_for_each(|author| remove_run(&author.directory))?;
    }
    let stop = stop_flag()?;
    let options = options(&args.fleet, settings.device)?;
    let names = args.authors.iter().map(ToString::to_string).collect();
    let line = ProgressLine::of_authors(suite.graphs().count(), names);
    let of_runs = authors.iter().map(|author| author.directory.join(FLEET_METRICS));
    let metrics = MetricsFiles::new(of_runs.chain(args.fleet.metrics.clone()).collect());
    let progress = |event: FleetProgress<'_>| match event {
        FleetProgress::Verdict { author, verdict, reused, done, total } => {
            line.show_of(author, &Progress::Done { verdict, reused, done, total });
        }
        FleetProgress::State { counts, graphs, stations } => metrics.show(&counts, graphs, stations),
        FleetProgress::Note(text) => tracing::warn!("{text}"),
    };
    let run = FleetRun {
        suite: &suite,
        authors: &authors,
        settings: &settings,
        options: &options,
        stop: &stop,
        progress: &progress,
    };
    let outcome = run.run();
    line.finish();
    let outcome = outcome.map_err(fleet_failure)?;
    let complete = outcome.complete;
    let scored = outcome.runs.into_iter().filter(|(_, verdicts)| !verdicts.is_empty());
    let scored = scored.map(|(header, verdicts)| score_run(header, verdicts)).collect::<Result<Vec<_>, _>>()?;
    if !scored.is_empty() {
        print_leaderboard(&scored)?;
    }
    if complete {
        let places: Vec<String> = authors.iter().map(|author| author.directory.display().to_string()).collect();
        eprintln!("run complete in {} ({} reused)", places.join(", "), counted(outcome.reused, "verdict"));
        return Ok(ExitCode::SUCCESS);
    }
    interrupted()
}

/// Lets each author write its passes on this machine, as in `bench run`.
fn submissions(args: &FleetRunArgs, suite: &Suite, settings: &RunSettings) -> Result<Vec<AuthorRun>> {
    let metadata = args.metadata.metadata().map_err(|error| usage(error.to_string()))?;
    let referee = referee::start_for_authors(settings.clone())?;
    let stop = AtomicBool::new(false);
    let one = |author: &AuthorSpec| -> Result<AuthorRun> {
        let name = run_directory(suite, author, settings.device);
        let directory = match &args.out {
            Some(out) if args.authors.len() == 1 => out.clone(),
            Some(out) => out.join(name.file_name().unwrap_or_default()),
            None => name,
        };
        let submission = write_submission(create(author)?.as_mut(), suite, &referee, &directory, &stop)?;
        let submission = Submission { metadata: metadata.clone(), ..submission };
        Ok(AuthorRun { submission, directory })
    };
    args.authors.iter().map(one).collect()
}

/// Returns the options of a run's fleet.
fn options(args: &FleetArgs, device: Device) -> Result<FleetOptions> {
    fleet_options(&args.address, &args.stations, args.jobs, device)
}

/// Returns the options of a fleet at an address.
pub(super) fn fleet_options(
    address: &str,
    args: &StationArgs,
    jobs: Option<usize>,
    device: Device,
) -> Result<FleetOptions> {
    let cores = args.cores.unwrap_or(if device.is_cpu() { 0 } else { GPU_CORES });
    let health = HealthPolicy { every: args.check_every, ..HealthPolicy::of(device) };
    let command = env::current_exe()?;
    let cluster = Cluster { address, device, stations_per_node: args.stations_per_node, cores, command: &command };
    Ok(FleetOptions {
        policy: Policy { health, silence: args.silence, ..Policy::default() },
        jobs,
        cores,
        patience: args.patience,
        bridge: BridgeConfig::of_cluster(Interpreter::find(), &cluster),
    })
}

/// Returns the error of a fleet, with the exit code of an unfit environment where it is one.
pub(super) fn fleet_failure(error: FleetError) -> anyhow::Error {
    match error {
        error @ (FleetError::Unreachable { .. } | FleetError::NoStation { .. }) => unfit(error.to_string()),
        error => error.into(),
    }
}
