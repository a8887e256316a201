//! `passnet bundle`: a run as one file, and its verification.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use passnet_record::counted;
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
        let missing = counted(missing, "blob");
        eprintln!("left out {missing} of the log: the run directory does not have them");
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
    if !path.exists() || path.is_dir() {
        let (path, what) = (path.display(), if path.is_dir() { "this is a folder" } else { "there is no such file" });
        return Err(usage(format!("{path}: {what}; name a bundle (`passnet bundle RUN --out run.pnb` makes one)")));
    }
    let verified = bundle::read(path).with_context(|| {
        format!(
            "{}: the bundle is damaged, or no bundle; get it again, or pack it again with `passnet bundle RUN`",
            path.display()
        )
    })?;
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
