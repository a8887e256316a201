//! Leaderboards: groups of comparable runs, with ranks.

use passnet_record::{RunHeader, Status};
use passnet_score::{Interval, scored_path};

use std::sync::Arc;

use crate::view::RunView;

/// Conditions that all runs of a board share. Runs under different conditions have no common rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conditions {
    pub(crate) suite: usize,
    /// Accelerator, or the CPU if there is none.
    pub(crate) device: String,
    /// Path of the scored measurements: `direct`, `compiled`, or both.
    pub(crate) path: String,
    /// Tolerance t at which a graph has to be correct.
    pub(crate) correct_at: i32,
    /// Mode of the measurement: `sound` or `paper`.
    pub(crate) mode: String,
}

impl Conditions {
    /// Returns path, tolerance and mode for people.
    pub(crate) fn in_words(&self) -> String {
        let mode = if self.mode == "sound" { String::new() } else { format!(", {} mode", self.mode) };
        format!("{} path, correct at t = {}{mode}", self.path, self.correct_at.to_string().replace('-', "−"))
    }

    /// Returns whether two boards can differ in the path only.
    pub(crate) fn is_same_but_for_path(&self, other: &Self) -> bool {
        *self == Self { path: self.path.clone(), ..other.clone() }
    }
}

/// A run on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranked {
    pub(crate) run: usize,
    /// Rank from 1, equal for runs that the intervals of their scores do not separate; `None` for a run that is unfinished or
    /// covers fewer graphs than others on the board. Only the current runs of other authors count.
    pub(crate) rank: Option<usize>,
    /// The run stands for its author on the board: the latest with a rank, or the latest if none has one.
    pub(crate) is_current: bool,
}

/// Runs under the same conditions, best first.
#[derive(Clone, Debug)]
pub(crate) struct Standings {
    pub(crate) conditions: Conditions,
    pub(crate) rows: Vec<Ranked>,
}

impl Standings {
    /// Returns one run of each author, best first; those without a rank are last.
    pub(crate) fn current(&self) -> impl Iterator<Item = &Ranked> {
        self.rows.iter().filter(|row| row.is_current)
    }

    /// Returns the number of authors that have a rank.
    pub(crate) fn ranked_authors(&self) -> usize {
        self.current().filter(|row| row.rank.is_some()).count()
    }
}

/// Groups runs into boards. `suites` has the runs of each suite, best first. Boards with more ranked authors come first, then those
/// with more graphs.
pub(crate) fn all_standings<'a>(
    runs: &[Arc<RunView>],
    suites: impl IntoIterator<Item = &'a [usize]>,
) -> Vec<Standings> {
    let mut all_standings: Vec<Standings> = Vec::new();
    for (suite, of_suite) in suites.into_iter().enumerate() {
        let start = all_standings.len();
        for &run in of_suite {
            let conditions = conditions(suite, &runs[run]);
            let row = Ranked { run, rank: None, is_current: false };
            match all_standings[start..].iter_mut().find(|standings| standings.conditions == conditions) {
                Some(standings) => standings.rows.push(row),
                None => all_standings.push(Standings { conditions, rows: vec![row] }),
            }
        }
    }
    for standings in &mut all_standings {
        rank(runs, &mut standings.rows);
        // Runs without a rank are not better than those below them.
        standings.rows.sort_by_key(|row| (!row.is_current, row.rank.is_none()));
    }
    let graphs = |standings: &Standings| standings.rows.iter().map(|row| runs[row.run].header.graphs).max();
    all_standings.sort_by_key(|standings| {
        std::cmp::Reverse((standings.ranked_authors(), graphs(standings), standings.rows.len()))
    });
    all_standings
}

fn conditions(suite: usize, run: &RunView) -> Conditions {
    let settings = &run.header.settings;
    Conditions {
        suite,
        device: device_of(&run.header),
        path: path_of(run),
        correct_at: settings.correct_at,
        mode: settings.mode.name().to_owned(),
    }
}

/// Returns the accelerator of a run, or its CPU if there is none.
pub(crate) fn device_of(header: &RunHeader) -> String {
    // Logs of the first versions have no fingerprint.
    let name = if header.fingerprint.device.is_empty() { &header.fingerprint.cpu } else { &header.fingerprint.device };
    if name.is_empty() { header.settings.device.to_string() } else { name.clone() }
}

/// Returns the path on which the scored measurements of a run were made: `direct`, `compiled`, or `direct and compiled`.
pub(crate) fn path_of(run: &RunView) -> String {
    scored_path(&run.verdicts, &run.header.settings)
}

/// Assigns ranks: 1 plus the number of other authors whose current run is certainly better, i.e. has an interval that lies above.
fn rank(runs: &[Arc<RunView>], rows: &mut [Ranked]) {
    let graphs = rows.iter().map(|row| runs[row.run].header.graphs).max().unwrap_or_default();
    let eligible = |row: &Ranked| runs[row.run].is_complete() && runs[row.run].header.graphs == graphs;
    let intervals: Vec<Option<Interval>> =
        rows.iter().map(|row| eligible(row).then(|| certain_interval(&runs[row.run])).flatten()).collect();
    let authors: Vec<String> = rows.iter().map(|row| runs[row.run].author_name()).collect();
    // Of runs that began in the same second, the better one, which comes first.
    let order = |at: usize| (intervals[at].is_some(), &runs[rows[at].run].header.started, std::cmp::Reverse(at));
    let is_current =
        |at: usize| !(0..rows.len()).any(|other| authors[other] == authors[at] && order(other) > order(at));
    let current: Vec<bool> = (0..rows.len()).map(is_current).collect();
    for (at, row) in rows.iter_mut().enumerate() {
        row.is_current = current[at];
        // Overlapping intervals share a rank, so the order within it is not a claim.
        let is_better = |other: usize, own: Interval| {
            current[other]
                && authors[other] != authors[at]
                && intervals[other].is_some_and(|other| other.low > own.high)
        };
        row.rank = intervals[at].map(|own| 1 + (0..authors.len()).filter(|&other| is_better(other, own)).count());
    }
}

/// Returns the interval of a run's sound score; a score without one is its own interval. `None` without a sound score.
pub(crate) fn score_interval(run: &RunView) -> Option<Interval> {
    let sound = run.score.sound.as_ref()?;
    Some(sound.interval.unwrap_or(Interval { low: sound.score, high: sound.score }))
}

/// Returns the interval that ranks depend on: that of the sound score, and all numbers for a score without one. A score over one task has
/// no interval, so it is certainly better than no other.
fn certain_interval(run: &RunView) -> Option<Interval> {
    let sound = run.score.sound.as_ref()?;
    Some(sound.interval.unwrap_or(Interval { low: 0.0, high: f64::INFINITY }))
}

/// Change of an author since its previous run on the same board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Movement {
    pub(crate) previous: usize,
    /// Difference of the sound scores.
    pub(crate) change: f64,
    /// The intervals of the two scores do not overlap.
    pub(crate) is_certain: bool,
}

/// Compares a run with the last one of the same author on the board that began earlier; `None` if there is none. Both must have a
/// rank: the scores of runs that are unfinished or cover fewer graphs are of other graphs, and their difference would look like a
/// change of the author.
pub(crate) fn movement(runs: &[Arc<RunView>], standings: &Standings, run: usize) -> Option<Movement> {
    let ranked = || standings.rows.iter().filter(|row| row.rank.is_some()).map(|row| row.run);
    ranked().find(|&other| other == run)?;
    let is_earlier = |other: &RunView| {
        other.author_name() == runs[run].author_name() && other.header.started < runs[run].header.started
    };
    let previous = ranked()
        .filter(|&other| is_earlier(&runs[other]))
        .max_by(|&a, &b| runs[a].header.started.cmp(&runs[b].header.started))?;
    let score = |run: usize| Some(runs[run].score.sound.as_ref()?.score);
    let (now, before) = (certain_interval(&runs[run])?, certain_interval(&runs[previous])?);
    Some(Movement {
        previous,
        change: score(run)? - score(previous)?,
        is_certain: now.low > before.high || before.low > now.high,
    })
}

/// Graphs of a run: all that count, and the parts that each contain the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub(crate) graphs: usize,
    /// Graphs for which a pass was handed in, i.e. matched.
    pub(crate) covered: usize,
    pub(crate) correct: usize,
    /// Correct graphs whose speed-up against eager is certainly above 1.
    pub(crate) faster: usize,
}

/// Counts the parts of a run's graphs.
pub(crate) fn coverage(run: &RunView) -> Coverage {
    let tally = &run.score.tally;
    let unmatched = run.verdicts.iter().filter(|verdict| verdict.status == Status::NoMatch).count();
    let is_faster = |verdict: &&passnet_record::Verdict| {
        let timing = verdict.scored_timing().filter(|_| verdict.status == Status::Correct);
        timing.is_some_and(|timing| timing.stable && timing.speedup.low > 1.0)
    };
    Coverage {
        graphs: tally.graphs,
        // Saturating, because an unfinished log may count graphs that have no verdict yet.
        covered: tally.graphs.saturating_sub(unmatched),
        correct: tally.correct,
        faster: run.verdicts.iter().filter(is_faster).count(),
    }
}
