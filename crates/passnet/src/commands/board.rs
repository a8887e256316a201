//! `passnet board`: a leaderboard that accepts bundles.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Result;
use passnet_board::{Board, Limits};
use passnet_dataset::open_suite;
use passnet_run::Selection;
use passnet_site::{Extras, Shelf, SubmitterAddress, serve};

use super::{referee, stop::stop_flag};
use crate::failure::{check_folder, unfit};
use passnet_flags::BoardArgs;

/// Evaluates waiting submissions. Without `--once`, also serves the pages until it is interrupted.
pub(crate) fn run(args: &BoardArgs) -> Result<ExitCode> {
    check_folder(&args.folder)?;
    let suite = open_suite(&args.hidden, &Selection::default())?;
    let referee = referee::start_for(&suite.record, &args.measure, Some(1))?;
    // Checked before the board is opened, so that a referee that must not judge never changes the board's folder.
    Board::check_referee(&referee).map_err(|error| unfit(error.to_string()))?;
    let limits = Limits::new(args.uploads, args.window, args.max_bundle, args.queue);
    let board = Arc::new(Board::open(&args.folder)?.with_limits(limits));
    eprintln!("the public key of this board is {}", board.public_key());
    if args.once {
        let stop = stop_flag()?;
        board.review_all(&referee, &suite, &stop, &|line| eprintln!("{line}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let shelf = Shelf::open(&board.runs(), &Extras::default(), &|remark| eprintln!("{remark}"))?.with_submissions();
    let reviewed = Arc::clone(&board);
    std::thread::spawn(move || reviewed.review_forever(&referee, &suite, &|line| eprintln!("{line}")));
    let (address, token) = (args.listen.address(), args.listen.token.clone());
    serve(shelf, address, token, Some((board, SubmitterAddress::behind_proxy(args.forwarded))), &|url| {
        writeln!(io::stdout(), "{url}")
    })?;
    Ok(ExitCode::SUCCESS)
}
