//! `passnet submit`: hands a bundle to a leaderboard.

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use passnet_board::{Destination, SubmitError, submit, wait};

use crate::{
    failure::{BAD, usage},
    output,
};
use passnet_flags::SubmitArgs;

/// Submits, and with `--wait` prints the signed result.
pub(crate) fn run(args: &SubmitArgs) -> Result<ExitCode> {
    let to = Destination::parse(&args.to);
    if args.wait.is_some() && matches!(to, Destination::Folder(_)) {
        return Err(usage("--wait asks a board over HTTP; a folder is evaluated by `passnet board DIR --once`"));
    }
    let id = match submit(&args.bundle, &to, args.token.as_deref()) {
        Err(error @ (SubmitError::NoBoard { .. } | SubmitError::Directory { .. } | SubmitError::Missing { .. })) => {
            return Err(usage(error.to_string()));
        }
        submitted => submitted?,
    };
    let (Some(limit), Destination::Url(url)) = (args.wait, &to) else {
        eprintln!("submitted to {}; the id is", args.to);
        output::text(id.as_str())?;
        return Ok(ExitCode::SUCCESS);
    };
    eprintln!("submitted to {} as {id}; waiting for its evaluation …", args.to);
    match wait(url, &id, args.token.as_deref(), args.key.as_deref(), Instant::now() + limit)? {
        Ok(statement) => {
            output::text(&serde_json::to_string_pretty(&statement)?)?;
            eprintln!(
                "the signature is valid{}",
                if args.key.is_some() { "" } else { "; compare the key (--key) to know whose" }
            );
            Ok(ExitCode::SUCCESS)
        }
        Err(reason) => {
            eprintln!("error: the board refused the submission: {reason}");
            Ok(ExitCode::from(BAD))
        }
    }
}
