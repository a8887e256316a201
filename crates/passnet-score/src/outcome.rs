use passnet_record::{GraphId, Status, Timing, Verdict};
use serde::Serialize;

use crate::MIN_TOLERANCE;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// A measured ratio baseline / candidate: finite and positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speedup {
    /// The point estimate.
    pub ratio: f64,
    /// Confidence interval; `None` where the source has none (upstream logs).
    pub interval: Option<Interval>,
    /// The largest ratio that the device permits, where its peak rates are known.
    pub bound: Option<f64>,
}

impl Speedup {
    /// Returns a point estimate alone; `None` if it is not a finite positive number.
    pub fn point(ratio: f64) -> Option<Self> {
        (ratio.is_finite() && ratio > 0.0).then_some(Self { ratio, interval: None, bound: None })
    }

    fn from_timing(timing: &Timing) -> Option<Self> {
        let measured = timing.speedup;
        let bound = timing.bound_ns.filter(|&ns| ns > 0.0).map(|ns| timing.base.median_ns / ns);
        let interval = Interval { low: measured.low, high: measured.high };
        // Every later comparison would accept an invalid interval, so such a measurement is refused here.
        let usable = interval.low.is_finite() && interval.high.is_finite();
        Self::point(measured.ratio).filter(|_| usable).map(|point| Self { interval: Some(interval), bound, ..point })
    }
}

/// One graph's verdict reduced to correctness and speed, the input of all scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphOutcome {
    pub id: GraphId,
    /// Reason why the graph is not correct at the demanded tolerance; `None` if it is correct.
    pub failure: Option<Status>,
    /// Smallest tolerance at which all outputs are close. `None` if there is none, or if the outputs were never compared.
    pub tolerance: Option<i32>,
    /// Speed-up against eager mode. `None` if nothing usable was measured.
    pub eager: Option<Speedup>,
    /// Speed-up against the control: the candidate's path without rewriting.
    pub control: Option<Speedup>,
    /// True if the timing did not settle. No speed-up above 1 is credited then.
    pub unstable: bool,
}

impl GraphOutcome {
    /// Returns whether every output is close at `t`.
    pub fn correct_at(&self, t: i32) -> bool {
        matches!(self.failure, None | Some(Status::Accuracy)) && self.tolerance.is_some_and(|smallest| smallest <= t)
    }

    /// Returns the speed-up that S_t and ES_t use: the measured speed-up against eager. It is at most 1 where the timing did not settle,
    /// and 1 (neither credit nor penalty) where nothing was timed.
    pub fn scored_speedup(&self) -> f64 {
        match self.eager {
            None => 1.0,
            // A measurement that did not settle earns no speed-up, but a slow-down counts: a pass must not gain by being noisy.
            Some(eager) if self.unstable => eager.ratio.min(1.0),
            Some(eager) => eager.ratio,
        }
    }
}

/// The outcomes of one author over one suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Graphs that count, in order of appearance.
    pub graphs: Vec<GraphOutcome>,
    /// Graphs whose reference did not run: the pass is not to blame, so they do not count.
    pub reference_errors: Vec<GraphId>,
}

impl Outcomes {
    /// Reduces verdicts to outcomes. `correct_at` is the tolerance that the run's settings demand of a correct graph.
    pub fn from_verdicts<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>, correct_at: i32) -> Self {
        let mut outcomes = Self::default();
        for verdict in verdicts {
            if verdict.status == Status::ReferenceError {
                outcomes.reference_errors.push(verdict.id.clone());
            } else {
                outcomes.graphs.push(from_verdict(verdict, correct_at));
            }
        }
        outcomes
    }
}

fn from_verdict(verdict: &Verdict, correct_at: i32) -> GraphOutcome {
    let failure = Some(verdict.status).filter(|status| status.is_failure());
    let tolerance = match failure {
        // A graph without outputs has no tolerance: there is no value that could be wrong.
        None => Some(verdict.tolerance.unwrap_or(MIN_TOLERANCE)),
        // Wrong although close on all random inputs: only adversarial inputs showed the difference. The tolerance at which these would
        // pass is not recorded.
        Some(Status::Accuracy) => verdict.tolerance.filter(|&smallest| smallest > correct_at),
        Some(_) => None,
    };
    let timing = verdict.scored_timing();
    GraphOutcome {
        id: verdict.id.clone(),
        failure,
        tolerance,
        eager: timing.and_then(Speedup::from_timing),
        control: verdict.control_timing().and_then(Speedup::from_timing),
        unstable: verdict.status == Status::Unstable || timing.is_some_and(|timing| !timing.stable),
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::{Baseline, CacheMode, ContentId, Cost, Evidence, ExecutionPath, RatioInterval, SideTiming};

    use super::*;

    fn verdict(status: Status, tolerance: Option<i32>, ratio: f64) -> Verdict {
        let side = SideTiming {
            trials: 10,
            median_ns: 1000.0,
            iqr_ns: 1.0,
            min_ns: 990.0,
            device_median_ns: None,
            overhead: None,
        };
        let timing = Timing {
            path: ExecutionPath::Direct,
            baseline: Baseline::Eager,
            cache: CacheMode::Warm,
            base: side.clone(),
            candidate: side,
            speedup: RatioInterval { ratio, low: 0.9 * ratio, high: 1.1 * ratio, confidence: 0.95 },
            device_speedup: None,
            bound_ns: Some(500.0),
            stable: status != Status::Unstable,
            remeasured: 0,
            pairs: Vec::new(),
            charged_ns: 0,
            raw: None,
        };
        Verdict {
            schema_version: passnet_record::SCHEMA_VERSION,
            id: GraphId { task: "task".to_owned(), graph: "000".to_owned() },
            key: ContentId::of(b"key"),
            status,
            reason: None,
            tolerance,
            outputs: Vec::new(),
            timings: vec![timing],
            evidence: Evidence::default(),
            cost: Cost::default(),
        }
    }

    fn outcome(status: Status, tolerance: Option<i32>, ratio: f64) -> GraphOutcome {
        Outcomes::from_verdicts([&verdict(status, tolerance, ratio)], -5).graphs.remove(0)
    }

    #[test]
    fn a_correct_verdict_keeps_tolerance_speed_and_bound() {
        let graph = outcome(Status::Correct, Some(-7), 1.5);
        assert!(!graph.correct_at(-8) && graph.correct_at(-7));
        assert_eq!(graph.scored_speedup(), 1.5);
        assert_eq!(graph.eager.and_then(|eager| eager.bound), Some(2.0));
        assert_eq!(outcome(Status::Correct, None, 1.5).tolerance, Some(MIN_TOLERANCE));
    }

    #[test]
    fn only_an_accuracy_failure_can_be_correct_somewhere() {
        assert!(outcome(Status::Accuracy, Some(-3), 2.0).correct_at(-3));
        assert!(!outcome(Status::Accuracy, Some(-7), 2.0).correct_at(5), "caught by adversarial contents");
        for status in [Status::Integrity, Status::NonFinite, Status::NoMatch, Status::Timeout] {
            assert!(!outcome(status, Some(-10), 2.0).correct_at(5), "{status:?}");
        }
    }

    #[test]
    fn measurements_that_are_none_earn_nothing() {
        assert_eq!(outcome(Status::Unstable, Some(-7), 3.0).scored_speedup(), 1.0);
        assert_eq!(outcome(Status::Unstable, Some(-7), 0.5).scored_speedup(), 0.5);
        assert_eq!(outcome(Status::Correct, Some(-7), f64::INFINITY).scored_speedup(), 1.0);
        assert_eq!(outcome(Status::Correct, Some(-7), f64::NAN).eager, None);
    }

    #[test]
    fn the_control_is_that_of_the_scored_path() {
        let mut verdict = verdict(Status::Correct, Some(-7), 1.5);
        let against_control = Timing { baseline: Baseline::Control, ..verdict.timings[0].clone() };
        verdict.timings.push(Timing { path: ExecutionPath::Compiled, ..against_control.clone() });
        assert_eq!(from_verdict(&verdict, -5).control, None);
        verdict.timings.push(against_control);
        assert!(from_verdict(&verdict, -5).control.is_some());
    }

    #[test]
    fn a_failed_reference_does_not_count() {
        let outcomes = Outcomes::from_verdicts([&verdict(Status::ReferenceError, None, 1.0)], -5);
        assert_eq!((outcomes.graphs.len(), outcomes.reference_errors.len()), (0, 1));
    }
}
