//! Runs side by side: names, ranks and cautions.

use crate::{standings::path_of, view::RunView};

/// A run and its name in the report.
#[derive(Clone)]
pub(crate) struct RankedRun<'a> {
    pub(crate) label: String,
    pub(crate) run: &'a RunView,
    /// Colour and dash pattern of its curve, by position in the order given.
    pub(crate) series: usize,
}

impl RankedRun<'_> {
    /// Returns whether the author is eager mode or a compiler, which submits no passes.
    pub(crate) fn has_no_passes(&self) -> bool {
        self.run.has_no_passes()
    }
}

/// Names runs by author, and also by run if an author has several. Best first, by sound score, then by AS.
pub(crate) fn ranked(runs: &[RunView]) -> Vec<RankedRun<'_>> {
    let authors: Vec<String> = runs.iter().map(RunView::author_name).collect();
    let mut entries: Vec<RankedRun<'_>> = runs
        .iter()
        .zip(&authors)
        .enumerate()
        .map(|(series, (run, author))| {
            // The name of a run is long and not informative, so it appears only if the author is not unique.
            let unique = authors.iter().filter(|other| *other == author).count() == 1;
            let label = if unique { author.clone() } else { format!("{author} ({})", run.header.run) };
            RankedRun { label, run, series }
        })
        .collect();
    // Runs without a sound score (no intervals) come after those with one.
    let key = |entry: &RankedRun<'_>| {
        let score = &entry.run.score;
        (score.sound.as_ref().map_or(f64::NEG_INFINITY, |sound| sound.score), score.aggregated)
    };
    entries.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    entries
}

/// Returns the runs by the path that they were measured on: `direct: fuse, noop; compiled: inductor`.
fn by_path(runs: &[(&str, &RunView)]) -> String {
    let mut labels: Vec<(String, Vec<&str>)> = Vec::new();
    for (label, run) in runs {
        let path = path_of(run);
        match labels.iter_mut().find(|(other, _)| *other == path) {
            Some((_, labels)) => labels.push(label),
            None => labels.push((path, vec![label])),
        }
    }
    labels.iter().map(|(path, labels)| format!("{path}: {}", labels.join(", "))).collect::<Vec<_>>().join("; ")
}

/// Returns the reasons why numbers of runs may not be comparable, one sentence for each kind. Runs are given with their labels.
pub fn cautions(runs: &[(&str, &RunView)]) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some(((_, first), others)) = runs.split_first() {
        let differ = |same: &dyn Fn(&RunView) -> bool| !others.iter().all(|(_, run)| same(run));
        let header = &first.header;
        let path = path_of(first);
        let same_suite =
            |run: &RunView| (&run.header.suite, &run.header.suite_version) == (&header.suite, &header.suite_version);
        let paths = format!("measured path ({})", by_path(runs));
        let found = [
            ("suite or its version", differ(&same_suite)),
            (paths.as_str(), differ(&|run| path_of(run) == path)),
            ("settings", differ(&|run| run.header.settings == header.settings)),
            ("machine or versions", differ(&|run| run.header.fingerprint == header.fingerprint)),
            ("settings of the score", differ(&|run| run.score.settings == first.score.settings)),
        ];
        let found: Vec<&str> = found.iter().filter(|(_, differs)| *differs).map(|(what, _)| *what).collect();
        if !found.is_empty() {
            cautions.push(format!("The runs differ in {}: compare with care.", found.join("; ")));
        }
    }
    let short = runs.iter().filter(|(_, run)| run.verdicts.len() < run.header.graphs);
    let short: Vec<String> =
        short.map(|(label, run)| format!("{label} {} of {}", run.verdicts.len(), run.header.graphs)).collect();
    if !short.is_empty() {
        cautions.push(format!("Scores cover the verdicts that there are: {}.", short.join(", ")));
    }
    cautions
}
