//! One compiler over the graphs of a run.

use std::collections::BTreeMap;

use passnet_record::Status;

use super::{
    bands::{Band, bands},
    share::Share,
    split::{Part, TimeSplit, parts},
    subject::{StudiedGraph, subject},
};
use crate::view::RunView;

/// One compiler over all graphs of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CompilerStudy {
    /// Author's name.
    pub name: String,
    /// Machine and versions, as text.
    pub machine: String,
    pub suite: String,
    /// Graphs of the run.
    pub graphs: usize,
    /// Graphs that are not correct, by status.
    pub failures: BTreeMap<Status, usize>,
    /// Correct graphs left out because their times did not settle.
    pub unstable: usize,
    /// Graphs that count.
    pub subjects: Vec<StudiedGraph>,
    /// True if device times are known.
    pub on_device: bool,
}

impl CompilerStudy {
    /// Reads a run.
    pub fn of(run: &RunView) -> Self {
        let mut failures = BTreeMap::new();
        let (mut unstable, mut subjects) = (0, Vec::new());
        for verdict in &run.verdicts {
            match (verdict.status, verdict.scored_timing()) {
                // Only settled times: the study counts small slowdowns, which noise could fake.
                (Status::Correct, Some(timing)) if timing.stable => subjects.push(subject(verdict, timing)),
                // A correct graph without a measurement has not settled either.
                (Status::Correct | Status::Unstable, _) => unstable += 1,
                (status, _) => *failures.entry(status).or_default() += 1,
            }
        }
        let print = &run.header.fingerprint;
        let torch = print.versions.get("torch").map_or("?", String::as_str);
        let device = if print.device.is_empty() { &print.cpu } else { &print.device };
        Self {
            name: run.header.author.to_string(),
            machine: format!("{device}, PyTorch {torch}"),
            suite: format!("{} {}", run.header.suite, run.header.suite_version),
            graphs: run.verdicts.len(),
            on_device: run
                .verdicts
                .iter()
                .flat_map(|verdict| &verdict.timings)
                .any(|timing| timing.device_speedup.is_some()),
            failures,
            unstable,
            subjects,
        }
    }

    /// Describes the graphs that do not count: a failed reference is not the compiler's fault.
    pub(super) fn left_out(&self) -> String {
        let failures = self.failures.iter().map(|(status, count)| format!(", {count} {}", status.name()));
        format!("{} that did not settle{}", self.unstable, failures.collect::<String>())
    }

    /// Share of the graphs that count for which something holds; `None` if none count.
    fn share(&self, holds: impl Fn(&StudiedGraph) -> bool) -> Option<Share> {
        let count = self.subjects.iter().filter(|subject| holds(subject)).count();
        (!self.subjects.is_empty()).then(|| Share::of(count, self.subjects.len()))
    }

    /// Graphs slower than eager end to end.
    pub fn slower(&self) -> Option<Share> {
        self.share(|subject| subject.speedup.0 < 1.0)
    }

    /// Graphs slower than eager end to end beyond noise.
    pub fn surely_slower(&self) -> Option<Share> {
        self.share(|subject| subject.speedup.2 < 1.0)
    }

    /// Graphs with a speed-up of the kernels below 1.2; by device events, on a CPU against the control.
    pub fn below_1_2(&self) -> Option<Share> {
        self.share(|subject| subject.kernel_speedup.is_some_and(|speedup| speedup < 1.2))
    }

    /// Graphs slower both end to end and in the kernels.
    pub fn worse(&self) -> Option<Share> {
        self.share(|subject| subject.speedup.0 < 1.0 && subject.kernel_speedup.is_some_and(|speedup| speedup < 1.0))
    }

    /// Returns the median of the end-to-end speed-ups, which single extreme graphs do not move.
    pub fn median(&self) -> Option<f64> {
        passnet_score::median(&mut self.subjects.iter().map(|subject| subject.speedup.0).collect::<Vec<_>>())
    }

    /// Geometric mean of the end-to-end speed-ups.
    pub fn geometric_mean(&self) -> Option<f64> {
        let logs: f64 = self.subjects.iter().map(|subject| subject.speedup.0.ln()).sum();
        (!self.subjects.is_empty()).then(|| (logs / self.subjects.len() as f64).exp())
    }

    /// Pearson correlation of the logarithm of the speed-up with the number of calls.
    pub fn correlation(&self) -> Option<f64> {
        let points: Vec<(f64, f64)> =
            self.subjects.iter().map(|subject| (subject.nodes as f64, subject.speedup.0.ln())).collect();
        let count = points.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |value: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(a, b)| value(a - x, b - y)).sum::<f64>();
        let scale = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
        // If all graphs have one size, or one speed-up, there is no correlation to compute.
        (scale > 0.0).then(|| sum(&|a, b| a * b) / scale)
    }

    /// Returns the slowed-down graphs whose split is known.
    pub fn slowdowns(&self) -> impl Iterator<Item = (&StudiedGraph, TimeSplit)> {
        self.subjects
            .iter()
            .filter(|subject| subject.speedup.0 < 1.0)
            .filter_map(|subject| Some((subject, subject.split?)))
    }

    /// Returns the losses and gains of the parts of slowdowns, in the order of [`TimeSplit::parts`]; empty if none is known.
    pub fn parts(&self) -> Vec<Part> {
        parts(&self.slowdowns().map(|(_, split)| split).collect::<Vec<_>>())
    }

    /// Graphs by eager's time, from short to long; bands without a graph are left out.
    pub fn by_time(&self) -> Vec<Band> {
        bands(&self.subjects)
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::GraphId;

    use super::*;

    fn compiler(speedups: &[(f64, f64)]) -> CompilerStudy {
        let subject = |&(speedup, kernel): &(f64, f64)| StudiedGraph {
            id: GraphId { task: "t".to_owned(), graph: "g".to_owned() },
            nodes: 3,
            eager_ns: 50e3,
            speedup: (speedup, 0.98 * speedup, 1.02 * speedup),
            kernel_speedup: Some(kernel),
            split: None,
        };
        CompilerStudy {
            name: "c".to_owned(),
            machine: String::new(),
            suite: String::new(),
            graphs: speedups.len(),
            failures: BTreeMap::new(),
            unstable: 0,
            subjects: speedups.iter().map(subject).collect(),
            on_device: true,
        }
    }

    #[test]
    fn shares_are_of_the_graphs_that_count() {
        let compiler = compiler(&[(0.5, 0.9), (0.99, 1.1), (1.5, 1.1), (2.0, 2.0)]);
        let percent = |share: Option<Share>| share.unwrap().percent;
        assert_eq!(percent(compiler.slower()), 50.0);
        assert_eq!(percent(compiler.surely_slower()), 25.0);
        assert_eq!(percent(compiler.below_1_2()), 75.0);
        assert_eq!(percent(compiler.worse()), 25.0);
        assert_eq!(compiler.median(), Some(1.245));
        assert_eq!(compiler.correlation(), None);
        assert_eq!(self::compiler(&[]).slower(), None);
    }
}
