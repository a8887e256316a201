//! `passnet env serve`: episodes for reinforcement learning.

use std::{
    ffi::OsStr,
    io::{self, Write as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{Args as _, FromArgMatches as _};
use passnet_agent::{
    Evaluator, Templates, VerdictCache,
    env::{EnvOptions, EnvServer},
    transport::{serve_http, serve_lines},
};
use passnet_dataset::open_suite;

use super::referee;
use crate::{
    args::{EnvCommand, EnvServeArgs},
    failure::usage,
    output,
};

/// Runs a subcommand.
pub(crate) fn run(command: &EnvCommand) -> Result<ExitCode> {
    let EnvCommand::Serve(args) = command;
    let server = server(args)?;
    match &args.listen {
        Some(address) => {
            let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
            output::text(&format!("http://{}", listener.local_addr()?))?;
            io::stdout().flush()?;
            serve_http(&server, &listener);
        }
        None => serve_lines(&server, io::stdin().lock(), io::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `passnet serve --env SUITE`: the same over HTTP, with the defaults of the flags of `passnet env serve`.
pub(super) fn serve_suite(suite: &Path, address: SocketAddr) -> Result<ExitCode> {
    if !address.ip().is_loopback() {
        return Err(usage(format!(
            "--host {}: the environment runs the passes that it is sent and asks nobody for a token; choose a loopback \
             address, or `passnet env serve --listen` in a network that you trust",
            address.ip()
        )));
    }
    let address = address.to_string();
    let flags = ["env serve", "--listen", &address, "--"].map(OsStr::new);
    let command = EnvServeArgs::augment_args(clap::Command::new("env serve"));
    let matches = command.try_get_matches_from(flags.into_iter().chain([suite.as_os_str()]))?;
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
    let evaluator = Evaluator::new(referee::start(&args.measure, args.evaluations)?, cache).with_cpu_precheck()?;
    let options = EnvOptions { steps: args.steps, templates, remeasure: !args.no_remeasure };
    Ok(EnvServer::new(suite, evaluator, options))
}
