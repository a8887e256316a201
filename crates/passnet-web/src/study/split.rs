//! Split of a slowdown into parts.

use passnet_record::Timing;
use passnet_score::median;

/// The time of a call beyond eager's, in nanoseconds, in parts that add up to it. Negative parts are gains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSplit {
    /// The path without the compiler's code: guards and wrappers of `torch.compile` (control - eager, outside the device's
    /// span).
    pub path: f64,
    /// Effect of the path on the device's span: later launches leave gaps (control - eager, within the span). 0 on a CPU,
    /// where the span cannot be separated from the rest.
    pub gaps: f64,
    /// The compiler's own host code outside the device's span (candidate - control). 0 on a CPU.
    pub launch: f64,
    /// The compiler's kernels and the launches between them (candidate - control, within the device's span; on a CPU all
    /// of candidate - control).
    pub kernel: f64,
}

impl TimeSplit {
    /// Returns the parts in the order of [`NAMES`].
    pub fn parts(&self) -> [f64; 4] {
        [self.path, self.gaps, self.launch, self.kernel]
    }
}

/// Names of the parts.
const NAMES: [&str; 4] = ["path", "gaps", "launch", "kernel"];

/// One part over all slowdowns of a compiler. The loss of a graph (the sum of its positive parts) is normalised to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// `path`, `gaps`, `launch` or `kernel`.
    pub name: &'static str,
    /// Mean share of the loss, 0 to 1; the parts add up to 1.
    pub lost: f64,
    /// Mean share of the loss that this part recovers, 0 to 1. The sum over all parts is below 1, because the graph is slower.
    pub won: f64,
    /// Median of the part in nanoseconds, negative where it is mostly a gain.
    pub median_ns: f64,
    /// Slowdowns in which this part loses most.
    pub largest: usize,
}

/// Returns the parts over the splits of slowdowns; empty where there are none.
pub(super) fn parts(splits: &[TimeSplit]) -> Vec<Part> {
    // Medians of repeated trials need not agree with the ratio that calls a graph slower: a split may lose nothing.
    let splits: Vec<[f64; 4]> =
        splits.iter().map(TimeSplit::parts).filter(|parts| parts.iter().any(|&part| part > 0.0)).collect();
    if splits.is_empty() {
        return Vec::new();
    }
    let count = splits.len() as f64;
    let loss = |parts: &[f64; 4]| parts.iter().map(|part| part.max(0.0)).sum::<f64>();
    let part = |(at, name): (usize, &'static str)| Part {
        name,
        // Each graph has weight 1, independent of its time. Otherwise a few long graphs would dominate.
        lost: splits.iter().map(|parts| parts[at].max(0.0) / loss(parts)).sum::<f64>() / count,
        won: splits.iter().map(|parts| (-parts[at]).max(0.0) / loss(parts)).sum::<f64>() / count,
        median_ns: median(&mut splits.iter().map(|parts| parts[at]).collect::<Vec<_>>()).unwrap_or(0.0),
        largest: splits.iter().filter(|parts| parts.iter().all(|&other| other <= parts[at])).count(),
    };
    NAMES.into_iter().enumerate().map(part).collect()
}

/// From medians of three sides: eager and candidate of one measurement, control and candidate of the other.
pub(super) fn split(against_eager: &Timing, against_control: &Timing) -> Option<TimeSplit> {
    let (eager, control, candidate) = (&against_eager.base, &against_control.base, &against_eager.candidate);
    // If eager is also the control, nothing is known about the path.
    if eager == control {
        return None;
    }
    let (total_path, total_code) = (control.median_ns - eager.median_ns, candidate.median_ns - control.median_ns);
    let spans = eager.device_median_ns.zip(control.device_median_ns).zip(candidate.device_median_ns);
    Some(match spans {
        Some(((eager, control), candidate)) => TimeSplit {
            // Host time is the rest of the total without the span between device events, so that the four
            // parts add up to the slowdown.
            path: total_path - (control - eager),
            gaps: control - eager,
            launch: total_code - (candidate - control),
            kernel: candidate - control,
        },
        None => TimeSplit { path: total_path, kernel: total_code, ..TimeSplit::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_loss_add_up_and_gains_are_separate() {
        let splits = [
            TimeSplit { path: 10.0, gaps: 30.0, launch: 0.0, kernel: -20.0 },
            TimeSplit { path: 0.0, gaps: 5.0, launch: 15.0, kernel: 0.0 },
            TimeSplit { path: -1.0, gaps: 0.0, launch: 0.0, kernel: 0.0 },
        ];
        let parts = parts(&splits);
        assert_eq!(parts.iter().map(|part| part.lost).collect::<Vec<_>>(), [0.125, 0.5, 0.375, 0.0]);
        assert_eq!(parts.iter().map(|part| part.won).collect::<Vec<_>>(), [0.0, 0.0, 0.0, 0.25]);
        assert_eq!(parts.iter().map(|part| part.median_ns).collect::<Vec<_>>(), [5.0, 17.5, 7.5, -10.0]);
        assert_eq!(parts.iter().map(|part| part.largest).collect::<Vec<_>>(), [0, 1, 1, 0]);
        assert_eq!(self::parts(&[]), []);
    }
}
