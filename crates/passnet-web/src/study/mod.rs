//! How often compilers make subgraphs slower, and where the time goes. `docs/study.md` says what is counted and why.

mod page;
mod text;

use std::collections::BTreeMap;

use passnet_record::{GraphId, Status, Timing, Verdict};

pub use self::{page::study_page, text::study_markdown};
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
    /// End-to-end speed-up against eager, with its interval.
    pub speedup: (f64, f64, f64),
    /// Speed-up of the kernels as far as it is known: by device events; on a CPU against the control, which has the same
    /// guards, so that the code remains.
    pub kernel_speedup: Option<f64>,
    /// Where the difference to eager lies; `None` without a control.
    pub split: Option<Split>,
}

/// The time of a call beyond eager's, in nanoseconds, in parts that add up to it. Negative parts are gains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// The path without the compiler's code: guards and wrappers of `torch.compile` (control - eager, outside the device's
    /// span).
    pub path: f64,
    /// What the path does to the device's span: launches that come later leave gaps (control - eager, within the span).
    /// 0 on a CPU, where the span cannot be told from the rest.
    pub gaps: f64,
    /// The compiler's own host code outside the device's span (candidate - control). 0 on a CPU.
    pub launch: f64,
    /// The compiler's kernels and the launches between them (candidate - control, within the device's span; on a CPU all
    /// of candidate - control).
    pub kernel: f64,
}

impl Split {
    /// The parts with their names, in the order of the fields.
    pub fn parts(&self) -> [(&'static str, f64); 4] {
        [("path", self.path), ("gaps", self.gaps), ("launch", self.launch), ("kernel", self.kernel)]
    }

    /// The largest part.
    pub fn cause(&self) -> &'static str {
        let mut parts = self.parts();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts[0].0
    }
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

    /// Share of the graphs that count for which something holds, in percent; `None` if none count.
    pub fn share(&self, holds: impl Fn(&Subject) -> bool) -> Option<f64> {
        let count = self.subjects.iter().filter(|subject| holds(subject)).count();
        (!self.subjects.is_empty()).then(|| 100.0 * count as f64 / self.subjects.len() as f64)
    }

    /// Share slower than eager end to end, in percent.
    pub fn slower(&self) -> Option<f64> {
        self.share(|subject| subject.speedup.0 < 1.0)
    }

    /// Share slower than eager end to end beyond noise, in percent.
    pub fn surely_slower(&self) -> Option<f64> {
        self.share(|subject| subject.speedup.2 < 1.0)
    }

    /// Share with a speed-up of the kernels below 1.2, in percent; by device events, on a CPU against the control.
    pub fn below_1_2(&self) -> Option<f64> {
        self.share(|subject| subject.kernel_speedup.is_some_and(|speedup| speedup < 1.2))
    }

    /// Share slower both end to end and in the kernels, in percent.
    pub fn worse(&self) -> Option<f64> {
        self.share(|subject| subject.speedup.0 < 1.0 && subject.kernel_speedup.is_some_and(|speedup| speedup < 1.0))
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

    /// Mean of the parts over all slowdowns, each graph's extra time taken as 1; parts in the order of [`Split::parts`].
    pub fn mean_split(&self) -> Option<Split> {
        let (mut sum, mut count) = (Split::default(), 0.0);
        for (_, split) in self.slowdowns() {
            let total: f64 = split.parts().iter().map(|(_, part)| part).sum();
            if total > 0.0 {
                sum.path += split.path / total;
                sum.gaps += split.gaps / total;
                sum.launch += split.launch / total;
                sum.kernel += split.kernel / total;
                count += 1.0;
            }
        }
        let of = |part: f64| part / count;
        (count > 0.0).then(|| Split {
            path: of(sum.path),
            gaps: of(sum.gaps),
            launch: of(sum.launch),
            kernel: of(sum.kernel),
        })
    }

    /// How many slowdowns have each part as their largest.
    pub fn causes(&self) -> BTreeMap<&'static str, usize> {
        let mut causes = BTreeMap::new();
        for (_, split) in self.slowdowns() {
            *causes.entry(split.cause()).or_default() += 1;
        }
        causes
    }
}

fn subject(verdict: &Verdict, timing: &Timing) -> Subject {
    let speedup = timing.speedup;
    Subject {
        id: verdict.id.clone(),
        nodes: verdict.evidence.nodes_before,
        speedup: (speedup.ratio, speedup.low, speedup.high),
        kernel_speedup: timing
            .device_speedup
            .or(verdict.control_timing().map(|control| control.speedup))
            .map(|of| of.ratio),
        split: verdict.control_timing().and_then(|control| split(timing, control)),
    }
}

/// Medians of three sides: eager and candidate of one measurement, control and candidate of the other.
fn split(against_eager: &Timing, against_control: &Timing) -> Option<Split> {
    let (eager, control, candidate) = (&against_eager.base, &against_control.base, &against_eager.candidate);
    // Eager as its own control says nothing of a path.
    if against_eager.base == against_control.base {
        return None;
    }
    let (total_path, total_code) = (control.median_ns - eager.median_ns, candidate.median_ns - control.median_ns);
    let spans = eager.device_median_ns.zip(control.device_median_ns).zip(candidate.device_median_ns);
    Some(match spans {
        Some(((eager, control), candidate)) => Split {
            path: total_path - (control - eager),
            gaps: control - eager,
            launch: total_code - (candidate - control),
            kernel: candidate - control,
        },
        None => Split { path: total_path, kernel: total_code, ..Split::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_the_largest_is_the_cause() {
        let split = Split { path: 10.0, gaps: 3.0, launch: 1.0, kernel: -6.0 };
        assert_eq!(split.parts().iter().map(|(_, part)| part).sum::<f64>(), 8.0);
        assert_eq!(split.cause(), "path");
    }

    fn compiler(speedups: &[(f64, f64)]) -> Compiler {
        let subject = |&(speedup, kernel): &(f64, f64)| Subject {
            id: GraphId { task: "t".to_owned(), graph: "g".to_owned() },
            nodes: 3,
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
        assert_eq!(compiler.slower(), Some(50.0));
        assert_eq!(compiler.surely_slower(), Some(25.0));
        assert_eq!(compiler.below_1_2(), Some(75.0));
        assert_eq!(compiler.worse(), Some(25.0));
        assert_eq!(compiler.correlation(), None);
        assert_eq!(self::compiler(&[]).slower(), None);
    }
}
