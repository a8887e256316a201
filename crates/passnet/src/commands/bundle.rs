//! `passnet bundle`: a run as one file, and its verification.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use passnet_run::{archive::load_run, bundle};

use super::report::print_leaderboard;
use crate::{
    failure::{BAD, usage},
    output,
};
use passnet_flags::BundleArgs;

/// Writes or verifies a bundle.
pub(crate) fn run(args: &BundleArgs) -> Result<ExitCode> {
    if args.verify { verify(args) } else { write(args) }
}

fn write(args: &BundleArgs) -> Result<ExitCode> {
    if !args.input.is_dir() {
        return Err(usage(format!("{}: not a run directory; `passnet bench run` writes runs", args.input.display())));
    }
    let out = args.out.clone().unwrap_or_else(|| default_name(&args.input));
    let (id, missing) = bundle::write(&args.input, &out)?;
    if missing > 0 {
        eprintln!("{missing} blobs of the log are missing from the run directory and from the bundle");
    }
    eprintln!("wrote {}; publish it with its id:", out.display());
    output::text(id.as_str())?;
    Ok(ExitCode::SUCCESS)
}

/// `runs/demo` becomes `demo.pnb`.
fn default_name(run: &Path) -> PathBuf {
    let name = run.canonicalize().ok().and_then(|path| path.file_name().map(|name| name.to_owned()));
    let mut name = name.unwrap_or_else(|| "run".into());
    name.push(".");
    name.push(bundle::EXTENSION);
    name.into()
}

fn verify(args: &BundleArgs) -> Result<ExitCode> {
    let path = &args.input;
    let verified = bundle::read(path).with_context(|| path.display().to_string())?;
    print_leaderboard(&[load_run(path)?])?;
    output::text(&format!("\n{verified}"))?;
    match &args.expect {
        Some(expected) if expected != verified.id.as_str() => {
            eprintln!("error: the id is not {expected}; this bundle is different or was changed");
            return Ok(ExitCode::from(BAD));
        }
        Some(_) => {
            eprintln!("the bundle has this id and is unchanged; a hash cannot show that its author measured honestly")
        }
        None => {
            eprintln!("the bundle is consistent; use --expect ID with the published id to detect changes")
        }
    }
    Ok(ExitCode::SUCCESS)
}
