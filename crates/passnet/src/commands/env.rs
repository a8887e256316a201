//! `passnet env serve`: episodes for reinforcement learning.

mod fleet;

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, Result};
use clap::{Args as _, FromArgMatches as _};
use passnet_agent::{
    Evaluator, Templates, VerdictCache,
    env::{EnvOptions, EnvServer},
    transport::{serve_http, serve_lines},
};
use passnet_dataset::open_suite;
use passnet_record::fleet::{FleetClient, Priority};
use passnet_run::Suite;

use self::fleet::FleetDevices;
use super::referee;
use crate::{
    failure::{unfit, usage},
    output,
};
use passnet_flags::{EnvCommand, EnvServeArgs};

/// Runs a subcommand.
pub(crate) fn run(command: &EnvCommand) -> Result<ExitCode> {
    let EnvCommand::Serve(args) = command;
    // Before the referee starts, so that a wrong address is reported immediately.
    let listener = args.listen.as_deref().map(listen).transpose()?;
    let server = server(args)?;
    match listener {
        Some(listener) => {
            output::text(&format!("http://{}", listener.local_addr()?))?;
            // A parent reads the address from a pipe, which is not flushed at the end of a line.
            io::stdout().flush()?;
            serve_http(&server, &listener);
        }
        None => serve_lines(&server, io::stdin().lock(), io::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn listen(address: &str) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => usage(format!("--listen {address}: {error}; write HOST:PORT")),
        _ => unfit(format!("cannot listen on {address}: {error}")),
    })
}

/// `passnet serve --env SUITE [--fleet] [-- FLAGS]`: the same over HTTP, with these flags of `passnet env serve`.
pub(super) fn serve_suite(
    suite: &Path,
    address: SocketAddr,
    fleet: Option<&str>,
    more: &[OsString],
) -> Result<ExitCode> {
    if !address.ip().is_loopback() {
        return Err(usage(format!(
            "--host {}: the environment runs all passes that it receives and has no token; choose a loopback \
             address, or `passnet env serve --listen` in a network that you trust",
            address.ip()
        )));
    }
    let address = address.to_string();
    let fleet = fleet.map(|fleet| OsString::from(format!("--fleet={fleet}")));
    let flags = ["env serve", "--listen", &address].map(OsStr::new).into_iter().chain(fleet.as_deref());
    // The suite comes after `--`, so that a path that begins with `-` is not read as a flag.
    let flags = flags.chain(more.iter().map(OsString::as_os_str)).chain([OsStr::new("--"), suite.as_os_str()]);
    let command = EnvServeArgs::augment_args(clap::Command::new("env serve"));
    let matches = command.try_get_matches_from(flags)?;
    run(&EnvCommand::Serve(EnvServeArgs::from_arg_matches(&matches)?))
}

fn server(args: &EnvServeArgs) -> Result<EnvServer> {
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let templates = match &args.prompts {
        Some(directory) => Templates::read(directory).with_context(|| directory.display().to_string())?,
        None => Templates::default(),
    };
    let cache = match &args.cache {
        Some(path) => VerdictCache::open(path)?,
        None => VerdictCache::default(),
    };
    let evaluator = match &args.fleet.fleet {
        Some(address) => on_fleet(args, address, &suite, cache)?,
        None => Evaluator::new(referee::start(&args.measure, args.evaluations)?, cache),
    };
    let options = EnvOptions { steps: args.steps, templates, remeasure: !args.no_remeasure };
    let evaluator = evaluator.with_cpu_precheck()?.with_profile_tools(args.tools.profile_tools);
    Ok(EnvServer::new(suite, evaluator, options))
}

/// Returns the evaluator on the devices of a fleet. This machine needs PyTorch, for types and the CPU pre-check, but no device.
fn on_fleet(args: &EnvServeArgs, address: &str, suite: &Suite, cache: VerdictCache) -> Result<Evaluator> {
    let settings = referee::settings_of(&args.measure, None);
    let devices = FleetDevices::start(args, address, suite, &settings)?;
    let referee = referee::start_for_authors(settings)?.keyed_as(devices.machine().clone());
    let client = FleetClient { name: "server".to_owned(), priority: Priority::Training };
    Ok(Evaluator::new(referee, cache).on_devices(Arc::new(devices), client))
}
