//! The progress of a run, on stderr.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use passnet_eval::run::Progress;
use passnet_record::counted;

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
    counts: Mutex<BTreeMap<&'static str, usize>>,
    lines: ProgressLines,
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
        let bar = bar(graphs, "{bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {wide_msg}");
        if !io::stderr().is_terminal() && tracing::enabled!(tracing::Level::WARN) {
            eprintln!("evaluating {}", counted(graphs, "graph"));
        }
        Self { bar, counts: Mutex::new(BTreeMap::new()), lines: ProgressLines::new() }
    }

    pub(crate) fn show(&self, event: &Progress<'_>) {
        let Progress::Done { verdict, reused, done, total } = event else { return };
        if *reused {
            // A step without cost would distort the estimate of the remaining time.
            self.bar.reset_eta();
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(verdict.status.name()).or_default() += 1;
        let summary: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        self.bar.set_position(*done as u64);
        self.bar.set_message(summary.join(", "));
        self.lines.show(&|| format!("{done} of {}: {}", counted(*total, "graph"), summary.join(", ")));
        if let Some(reason) = &verdict.reason {
            tracing::info!("{}/{}: {}: {}", verdict.id.task, verdict.id.graph, verdict.status.name(), reason.message);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
