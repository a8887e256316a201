//! `passnet board`: a leaderboard that accepts bundles.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::Result;
use passnet_board::{Board, BoardError, State};
use passnet_dataset::open_suite;
use passnet_eval::Referee;
use passnet_run::{Selection, Suite};
use passnet_site::{Extras, Shelf, serve};

use super::{referee, stop::stop_flag};
use crate::{args::BoardArgs, failure::unfit};

/// Pause between two looks at the inbox.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Evaluates what waits; without `--once` also serves the pages, until it is interrupted.
pub(crate) fn run(args: &BoardArgs) -> Result<ExitCode> {
    let suite = open_suite(&args.hidden, &Selection::default())?;
    let referee = referee::start_for(&suite.record, &args.measure, Some(1))?;
    Board::check_referee(&referee).map_err(|error| unfit(error.to_string()))?;
    let board = Arc::new(Board::open(&args.folder)?);
    eprintln!("the public key of this board is {}", board.public_key());
    if args.once {
        let stop = stop_flag()?;
        while review(&board, &referee, &suite, &stop)? {}
        return Ok(ExitCode::SUCCESS);
    }
    let shelf = Shelf::open(&board.runs(), &Extras::default(), &|remark| eprintln!("{remark}"))?;
    let (stop, reviewed) = (AtomicBool::new(false), Arc::clone(&board));
    std::thread::spawn(move || review_forever(&reviewed, &referee, &suite, &stop));
    let (address, token) = (args.listen.address(), args.listen.token.clone());
    serve(shelf, address, token, Some(board), &|url| writeln!(io::stdout(), "{url}"))?;
    Ok(ExitCode::SUCCESS)
}

/// A failure leaves the submission in the inbox; it is tried again, since the cause may be the machine.
fn review_forever(board: &Board, referee: &Referee, suite: &Suite, stop: &AtomicBool) {
    loop {
        match review(board, referee, suite, stop) {
            Ok(true) => {}
            Ok(false) => std::thread::sleep(LOOK_EVERY),
            Err(error) => {
                tracing::error!("a submission could not be evaluated: {error}");
                std::thread::sleep(60 * LOOK_EVERY);
            }
        }
    }
}

/// Evaluates one submission; returns whether there was one.
fn review(board: &Board, referee: &Referee, suite: &Suite, stop: &AtomicBool) -> Result<bool, BoardError> {
    let reviewed = board.review_next(referee, suite, stop)?;
    if let Some((id, state)) = &reviewed {
        let outcome = match state {
            State::Shown(_) => "evaluated and shown".to_owned(),
            State::Refused { reason } => format!("not shown: {reason}"),
            State::Waiting => "still waits".to_owned(),
        };
        eprintln!("{id}: {outcome}");
    }
    Ok(reviewed.is_some())
}
