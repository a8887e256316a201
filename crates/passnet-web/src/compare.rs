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
    /// Returns whether the author writes no passes and serves as a baseline.
    pub(crate) fn is_baseline(&self) -> bool {
        self.run.is_baseline()
    }
}

/// Names runs by author, and by run where an author occurs twice; best first (sound score, then AS).
pub(crate) fn ranked(runs: &[RunView]) -> Vec<RankedRun<'_>> {
    let authors: Vec<String> = runs.iter().map(RunView::author_name).collect();
    let mut entries: Vec<RankedRun<'_>> = runs
        .iter()
        .zip(&authors)
        .enumerate()
        .map(|(series, (run, author))| {
            // The run's name is long and says little, so it appears only where it is needed.
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

/// Returns the reasons why numbers may not be comparable, one sentence each.
pub fn cautions(runs: &[&RunView]) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some((first, others)) = runs.split_first() {
        let mut differ = |what: &str, same: &dyn Fn(&RunView) -> bool| {
            if !others.iter().all(|run| same(run)) {
                cautions.push(format!("The runs differ in {what}: compare with care."));
            }
        };
        let header = &first.header;
        differ("suite or its version", &|run| {
            (&run.header.suite, &run.header.suite_version) == (&header.suite, &header.suite_version)
        });
        let path = path_of(first);
        differ("measured path (direct or compiled)", &|run| path_of(run) == path);
        differ("settings", &|run| run.header.settings == header.settings);
        differ("machine or versions", &|run| run.header.fingerprint == header.fingerprint);
        differ("settings of the score", &|run| run.score.settings == first.score.settings);
    }
    for run in runs {
        let (done, planned) = (run.verdicts.len(), run.header.graphs);
        if done < planned {
            let author = &run.header.author;
            cautions.push(format!("{author} has {done} of {planned} verdicts: its scores cover those only."));
        }
    }
    cautions
}
