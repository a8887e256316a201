//! How often compilers make subgraphs slower, and where the time goes. `docs/study.md` says what is counted and why.

mod bands;
mod page;
mod share;
mod split;
mod text;

use std::collections::BTreeMap;

use passnet_record::{GraphId, Status, Timing, Verdict};

pub use self::{
    bands::Band,
    page::study_page,
    share::Share,
    split::{Part, Split},
    text::study_markdown,
};
use self::{
    bands::bands,
    split::{median, parts, split},
};
use crate::RunView;

/// What arXiv 2605.29357 reports of 9,526 subgraphs under TorchInductor, in percent: kernel speed-up below 1.2, slower end
/// to end, strictly worse; and the correlation of the gap with the size of the graph.
pub const PUBLISHED: Published = Published { below_1_2: 34.0, slower: 43.0, worse: 8.3, correlation: 0.013 };

/// Published figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Share with a kernel speed-up below 1.2, in percent.
    pub below_1_2: f64,
    /// Share slower end to end, in percent.
    pub slower: f64,
    /// Share strictly worse, in percent.
    pub worse: f64,
    /// Correlation of the gap with the size of the graph.
    pub correlation: f64,
}

/// One graph under one compiler, measured and settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The graph.
    pub id: GraphId,
    /// Calls in it.
    pub nodes: usize,
    /// Eager's median time in nanoseconds.
    pub eager_ns: f64,
    /// End-to-end speed-up against eager, with its interval.
    pub speedup: (f64, f64, f64),
    /// Speed-up of the kernels as far as it is known: by device events; on a CPU against the control, which has the same
    /// guards, so that the code remains.
    pub kernel_speedup: Option<f64>,
    /// Where the difference to eager lies; `None` without a control.
    pub split: Option<Split>,
}

/// One compiler over all graphs of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiler {
    /// Author's name.
    pub name: String,
    /// Where and with which versions, for people.
    pub machine: String,
    /// Suite.
    pub suite: String,
    /// Graphs of the run.
    pub graphs: usize,
    /// Graphs that are not correct, by status.
    pub failures: BTreeMap<Status, usize>,
    /// Correct graphs left out because their times did not settle.
    pub unstable: usize,
    /// Graphs that count.
    pub subjects: Vec<Subject>,
    /// Whether device times are known.
    pub on_device: bool,
}

impl Compiler {
    /// Reads a run.
    pub fn of(run: &RunView) -> Self {
        let mut failures = BTreeMap::new();
        let (mut unstable, mut subjects) = (0, Vec::new());
        for verdict in &run.verdicts {
            match (verdict.status, verdict.scored_timing()) {
                (Status::Correct, Some(timing)) if timing.stable => subjects.push(subject(verdict, timing)),
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

    /// What does not count and why, for people: a failed reference is no fault of the compiler.
    fn left_out(&self) -> String {
        let failures = self.failures.iter().map(|(status, count)| format!(", {count} {}", status.name()));
        format!("{} that did not settle{}", self.unstable, failures.collect::<String>())
    }

    /// Share of the graphs that count for which something holds; `None` if none count.
    fn share(&self, holds: impl Fn(&Subject) -> bool) -> Option<Share> {
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

    /// Median of the end-to-end speed-ups: what single graphs with an extreme one do not move.
    pub fn median(&self) -> Option<f64> {
        (!self.subjects.is_empty()).then(|| median(self.subjects.iter().map(|subject| subject.speedup.0).collect()))
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
        (scale > 0.0).then(|| sum(&|a, b| a * b) / scale)
    }

    /// The slowed-down graphs whose split is known.
    pub fn slowdowns(&self) -> impl Iterator<Item = (&Subject, Split)> {
        self.subjects
            .iter()
            .filter(|subject| subject.speedup.0 < 1.0)
            .filter_map(|subject| Some((subject, subject.split?)))
    }

    /// What the parts of slowdowns lose and win back, in the order of [`Split::parts`]; empty where none is known.
    pub fn parts(&self) -> Vec<Part> {
        parts(&self.slowdowns().map(|(_, split)| split).collect::<Vec<_>>())
    }

    /// Graphs by eager's time, from short to long; bands without a graph are left out.
    pub fn by_time(&self) -> Vec<Band> {
        bands(&self.subjects)
    }
}

fn subject(verdict: &Verdict, timing: &Timing) -> Subject {
    let speedup = timing.speedup;
    Subject {
        id: verdict.id.clone(),
        nodes: verdict.evidence.nodes_before,
        eager_ns: timing.base.median_ns,
        speedup: (speedup.ratio, speedup.low, speedup.high),
        kernel_speedup: timing
            .device_speedup
            .or(verdict.control_timing().map(|control| control.speedup))
            .map(|of| of.ratio),
        split: verdict.control_timing().and_then(|control| split(timing, control)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(speedups: &[(f64, f64)]) -> Compiler {
        let subject = |&(speedup, kernel): &(f64, f64)| Subject {
            id: GraphId { task: "t".to_owned(), graph: "g".to_owned() },
            nodes: 3,
            eager_ns: 50e3,
            speedup: (speedup, 0.98 * speedup, 1.02 * speedup),
            kernel_speedup: Some(kernel),
            split: None,
        };
        Compiler {
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
