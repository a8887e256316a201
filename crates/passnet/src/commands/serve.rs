//! `passnet serve`: the pages of a folder of runs, for a browser; with `--env` the training environment instead.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::Result;
use passnet_site::{Shelf, serve};

use passnet_flags::ServeArgs;

/// Serves until it is interrupted.
pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode> {
    let address = args.listen.address();
    if let Some(suite) = &args.env {
        return super::env::serve_suite(suite, address, args.fleet.as_deref(), &args.env_flags);
    }
    let shelf = Shelf::open(&args.runs, &args.extra.extras(), &|remark| eprintln!("{remark}"))?;
    serve(shelf.with_live(), address, args.listen.token.clone(), None, &|url| writeln!(io::stdout(), "{url}"))?;
    Ok(ExitCode::SUCCESS)
}
