//! The progress of a run, on stderr.

use std::{collections::BTreeMap, sync::Mutex, sync::PoisonError, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use passnet_eval::run::Progress;

/// A bar with counts by status and the time left; silent where stderr is no terminal.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl ProgressLine {
    /// A bar for that many graphs.
    pub(crate) fn new(graphs: usize) -> Self {
        let bar = ProgressBar::new(graphs as u64);
        let template = "{bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar, counts: Mutex::new(BTreeMap::new()) }
    }

    /// Takes note of an event.
    pub(crate) fn show(&self, event: &Progress<'_>) {
        let Progress::Done { verdict, reused, done, .. } = event else { return };
        if *reused {
            // What took no time says nothing about the time left.
            self.bar.reset_eta();
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(verdict.status.name()).or_default() += 1;
        let summary: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        self.bar.set_position(*done as u64);
        self.bar.set_message(summary.join(", "));
        if let Some(reason) = &verdict.reason {
            tracing::info!("{}/{}: {}: {}", verdict.id.task, verdict.id.graph, verdict.status.name(), reason.message);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
