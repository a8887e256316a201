//! A leaderboard that accepts submissions.
//!
//! ```text
//! bundle ─► inbox ─► passes of each task ─► referee on hidden graphs and seeds ─► private log
//!                                                                                   │ without hidden graphs
//!                                             pages ◄── runs/ + signed result ◄─────┘
//! ```
//!
//! A [`Board`] is a folder. It accepts bundles ([`Board::accept`]), evaluates their passes on a hidden suite
//! ([`Board::review_next`]), and signs the results that it shows ([`SignedResult`]). [`submit`] sends a bundle to a
//! board, over HTTP or into a folder.
//!
//! The crate never runs a pass itself and never uses a measurement from a bundle: passes run in the workers of the referee. A board
//! refuses a referee without a complete sandbox.
//!
//! ```no_run
//! use passnet_board::Board;
//!
//! let board = Board::open("board".as_ref())?;
//! let id = board.accept(&std::fs::read("fuse.pnb")?)?;
//! println!("{:?}", board.state(&id)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod error;
mod limits;
mod redact;
mod review;
mod signature;
mod store;
mod watch;

pub use self::{
    client::{Destination, SubmitError, submit, wait},
    error::{BoardError, SubmissionRefusal},
    limits::{Limits, MAX_BUNDLE},
    signature::{SignatureError, verify},
    store::Board,
};
