//! The progress of a run, on stderr.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use passnet_eval::run::Progress;
use passnet_record::{GraphId, Status, counted};

/// Time between two lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Returns a bar of so many steps.
pub(crate) fn bar(steps: usize, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A bar with counts by status and the time left. If stderr is not a terminal, a line every ten seconds.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    counts: Mutex<StatusCounts>,
    lines: ProgressLines,
}

/// Numbers of graphs by author and status.
#[derive(Debug)]
struct StatusCounts {
    authors: Vec<AuthorCounts>,
}

#[derive(Debug)]
struct AuthorCounts {
    name: String,
    /// The last status of each graph. A graph whose verdict is in doubt gets a second one.
    statuses: BTreeMap<GraphId, Status>,
    counts: BTreeMap<&'static str, usize>,
}

impl StatusCounts {
    fn new(names: Vec<String>) -> Self {
        let author = |name| AuthorCounts { name, statuses: BTreeMap::new(), counts: BTreeMap::new() };
        Self { authors: names.into_iter().map(author).collect() }
    }

    fn add(&mut self, author: usize, graph: &GraphId, status: Status) {
        let Some(author) = self.authors.get_mut(author) else { return };
        if let Some(before) = author.statuses.insert(graph.clone(), status)
            && let Some(count) = author.counts.get_mut(before.name())
        {
            *count -= 1;
        }
        *author.counts.entry(status.name()).or_default() += 1;
    }
}

impl fmt::Display for StatusCounts {
    /// Writes `5 correct, 1 accuracy`. With several authors, each part begins with the name of its author.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, author) in self.authors.iter().enumerate() {
            if self.authors.len() > 1 {
                write!(f, "{}{}: ", if place > 0 { "; " } else { "" }, author.name)?;
            }
            let counts = author.counts.iter().filter(|(_, count)| **count > 0);
            let counts: Vec<String> = counts.map(|(status, count)| format!("{count} {status}")).collect();
            f.write_str(&if counts.is_empty() { "none".to_owned() } else { counts.join(", ") })?;
        }
        Ok(())
    }
}

/// Lines on stderr in place of a bar.
#[derive(Debug)]
pub(crate) struct ProgressLines {
    begin: Instant,
    last: Mutex<Instant>,
}

impl ProgressLines {
    /// Starts counting time.
    pub(crate) fn new() -> Self {
        let begin = Instant::now();
        Self { begin, last: Mutex::new(begin) }
    }

    /// Writes a line if stderr is not a terminal, [`LINE_EVERY`] has passed since the last line, and `--quiet` is not given.
    pub(crate) fn show(&self, text: &dyn Fn() -> String) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Logs of continuous integration have no terminal, and one line for each graph would fill them.
        if last.elapsed() >= LINE_EVERY && !io::stderr().is_terminal() && tracing::enabled!(tracing::Level::WARN) {
            *last = Instant::now();
            eprintln!("{:.0} s: {}", self.begin.elapsed().as_secs_f64(), text());
        }
    }
}

impl ProgressLine {
    /// Returns a bar for that many graphs.
    pub(crate) fn new(graphs: usize) -> Self {
        Self::of_authors(graphs, vec![String::new()])
    }

    /// Returns a bar for that many graphs, with counts for each of several authors.
    pub(crate) fn of_authors(graphs: usize, names: Vec<String>) -> Self {
        let bar = bar(graphs, "{bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {wide_msg}");
        if !io::stderr().is_terminal() && tracing::enabled!(tracing::Level::WARN) {
            eprintln!("evaluating {}", counted(graphs, "graph"));
        }
        Self { bar, counts: Mutex::new(StatusCounts::new(names)), lines: ProgressLines::new() }
    }

    pub(crate) fn show(&self, event: &Progress<'_>) {
        self.show_of(0, event);
    }

    /// Shows a step of the author with this number.
    pub(crate) fn show_of(&self, author: usize, event: &Progress<'_>) {
        let Progress::Done { verdict, reused, done, total } = event else { return };
        if *reused {
            // A step without cost would distort the estimate of the remaining time.
            self.bar.reset_eta();
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(author, &verdict.id, verdict.status);
        let summary = counts.to_string();
        self.bar.set_position(*done as u64);
        self.bar.set_message(summary.clone());
        self.lines.show(&|| format!("{done} of {}: {}", counted(*total, "graph"), summary));
        if let Some(reason) = &verdict.reason {
            tracing::info!("{}/{}: {}: {}", verdict.id.task, verdict.id.graph, verdict.status.name(), reason.message);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_author_has_counts_of_its_own() {
        let check = |names: &[&str], verdicts: &[(usize, &str, Status)], expected: &str| {
            let mut counts = StatusCounts::new(names.iter().map(|&name| name.to_owned()).collect());
            for (author, graph, status) in verdicts {
                counts.add(*author, &GraphId { task: "t".to_owned(), graph: (*graph).to_owned() }, *status);
            }
            assert_eq!(counts.to_string(), expected);
        };
        let (good, bad) = (Status::Correct, Status::Accuracy);
        check(&[""], &[(0, "a", good), (0, "b", bad), (0, "c", good)], "1 accuracy, 2 correct");
        // Three graphs of two authors, which were printed as 5 correct ones.
        let both = [(0, "a", good), (1, "a", good), (0, "b", good), (1, "b", bad), (0, "c", good), (1, "c", good)];
        check(&["fuse", "noop"], &both, "fuse: 3 correct; noop: 1 accuracy, 2 correct");
        check(&["fuse", "noop"], &[(1, "a", bad), (1, "a", good)], "fuse: none; noop: 1 correct");
    }
}
