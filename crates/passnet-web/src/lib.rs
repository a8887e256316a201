//! Runs as pages.
//!
//! [`report_page`] turns one or several runs over one suite into one HTML file that needs nothing else: no fonts, scripts
//! or pictures from elsewhere. Everything is readable without scripts; with them, tables can be sorted. Text from
//! authors and workers is never trusted: it is escaped, and the page's own policy forbids it to load anything.

mod compare;
mod curves;
mod environment;
mod failures;
mod format;
mod leaderboard;
mod page;
mod tasks;

use passnet_record::{RunHeader, Verdict};
use passnet_score::ScoreReport;

pub use page::report_page;

/// One run as a report shows it: what was asked for, what came of it, and the scores.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The run's header.
    pub header: RunHeader,
    /// One verdict per graph that is done; of repeated ones the last.
    pub verdicts: Vec<Verdict>,
    /// Scores computed from them.
    pub score: ScoreReport,
}
