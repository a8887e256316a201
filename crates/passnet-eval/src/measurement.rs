//! The times of one measurement of all sides, how well they are known, and their record.

use std::time::Duration;

use passnet_record::{Baseline, ExecutionPath, Mode, RatioInterval, RunSettings, SideTiming, SideTrials, Timing};

use crate::{
    accounting::{SideRounds, charge, charged},
    stats::{combined, quantile, ratio_of_medians, spread_within_rounds, summarize, uncertainty},
};

/// Largest ratio of the spread of a candidate's trials to that of the baselines' trials that the machine explains.
const EXPLAINED_SPREAD: f64 = 2.0;

/// Fluctuation of a measurement. Each value is compared with `max_fluctuation`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fluctuation {
    /// Relative uncertainty of the least certain ratio. In paper mode, and with a single round, the largest IQR / median of the trials of
    /// a side.
    pub(crate) ratio: f64,
    /// IQR / median of the candidate's trials within a round, if it is more than twice that of each baseline: the run time depends on the
    /// values. Otherwise 0.
    pub(crate) candidate: f64,
}

impl Fluctuation {
    /// Returns the larger value.
    pub(crate) fn largest(self) -> f64 {
        self.ratio.max(self.candidate)
    }

    /// Returns what fluctuates and by how much, for a message about a limit.
    pub(crate) fn describe(self, limit: f64) -> String {
        if self.candidate > limit {
            return format!(
                "the candidate's times fluctuate and those of the baseline do not: IQR / median is {:.2}, more than {limit:.2}",
                self.candidate
            );
        }
        format!("the ratio of the times is uncertain by {:.0} %, more than {:.0} %", self.ratio * 100.0, limit * 100.0)
    }
}

/// All rounds of all sides.
#[derive(Clone)]
pub(crate) struct Measurement {
    /// The baseline first, the candidate last.
    pub(crate) sides: Vec<SideRounds>,
    /// Number of calls of each side, including warm-up calls.
    pub(crate) made: u64,
    /// Number of calls per trial.
    pub(crate) calls: u32,
    pub(crate) fluctuation: Fluctuation,
    /// Wall time in which the other sides were measured, and the CPU time that the last side used meanwhile.
    pub(crate) elsewhere: (Duration, Duration),
    /// Nanoseconds per call that are added to the trials of the last side.
    pub(crate) charged_ns: u64,
    /// Ratio of the times of each side but the last to those of the last. Several steps ask for it, and its interval takes
    /// milliseconds.
    pub(crate) ratios: Vec<Option<RatioInterval>>,
}

impl Measurement {
    /// Returns a measurement of these sides. `check_clock` is true to charge the candidate for time that its trials do not explain.
    pub(crate) fn new(sides: Vec<SideRounds>, mode: Mode, check_clock: bool) -> Self {
        let charged_ns = match (sides.first(), sides.last()) {
            (Some(base), Some(candidate)) if check_clock => charge(base, candidate),
            _ => 0,
        };
        let (elsewhere, fluctuation) = Default::default();
        let mut measurement = Self { sides, made: 0, calls: 1, fluctuation, elsewhere, charged_ns, ratios: Vec::new() };
        let candidate = measurement.candidate();
        let baselines = measurement.sides.split_last().map_or(&[][..], |(_, baselines)| baselines);
        let ratio = |side: &SideRounds| ratio_of_medians(&side.times.e2e_ns, &candidate.e2e_ns, 0);
        measurement.ratios = baselines.iter().map(ratio).collect();
        measurement.fluctuation = measurement.fluctuation(mode);
        measurement
    }

    /// Returns the measurement with all rounds of several measurements of the same processes in sound mode; `None` without any.
    pub(crate) fn joined(parts: &[Self], check_clock: bool) -> Option<Self> {
        let (first, others) = parts.split_first()?;
        let mut sides = first.sides.clone();
        for part in others {
            sides.iter_mut().zip(&part.sides).for_each(|(side, more)| side.extend(more));
        }
        let made = parts.iter().map(|part| part.made).sum();
        Some(Self { made, calls: first.calls, ..Self::new(sides, Mode::Sound, check_clock) })
    }

    /// Returns how far the ratios are from being settled. In paper mode it is defined as in the public harness: the largest IQR / median
    /// of all trials of a side.
    fn fluctuation(&self, mode: Mode) -> Fluctuation {
        let largest =
            |values: &mut dyn Iterator<Item = f64>| values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let of_all = |side: &SideRounds| {
            let all = summarize(&side.times.e2e_ns, &[]);
            all.iqr_ns / all.median_ns
        };
        let rounds = self.sides.first().map_or(0, |side| side.times.e2e_ns.len());
        if mode == Mode::Paper || rounds < 2 {
            return Fluctuation { ratio: largest(&mut self.sides.iter().map(of_all)), candidate: 0.0 };
        }
        let Some((candidate, baselines)) = self.sides.split_last() else { return Fluctuation::default() };
        let spread = |side: &SideRounds| spread_within_rounds(&side.times.e2e_ns);
        let (own, usual) = (spread(candidate), largest(&mut baselines.iter().map(spread)));
        let ratios = (0..baselines.len()).filter_map(|side| self.ratio(side));
        Fluctuation {
            ratio: largest(&mut ratios.map(|ratio| uncertainty(&ratio))),
            candidate: if own > EXPLAINED_SPREAD * usual { own } else { 0.0 },
        }
    }

    /// Returns the times of the last side, including the charge.
    fn candidate(&self) -> SideTrials {
        self.sides.last().map(|side| charged(&side.times, self.charged_ns)).unwrap_or_default()
    }

    /// Returns the ratio of the times of a baseline to those of the last side.
    pub(crate) fn ratio(&self, side: usize) -> Option<RatioInterval> {
        self.ratios.get(side).copied().flatten()
    }
}

/// Returns the record of the measurements of two sides, one measurement per pair of processes. `side` is the number of the baseline.
pub(crate) fn describe(
    (path, baseline, side): (ExecutionPath, Baseline, usize),
    measurements: &[Measurement],
    settings: &RunSettings,
    remeasured: u32,
    bound: Duration,
) -> Option<Timing> {
    let ratios: Vec<RatioInterval> = measurements.iter().map(|one| one.ratio(side)).collect::<Option<_>>()?;
    let on_device: Option<Vec<RatioInterval>> = measurements
        .iter()
        .map(|one| ratio_of_medians(&one.sides.get(side)?.times.device_ns, &one.candidate().device_ns, 0))
        .collect();
    let base = pooled(measurements.iter().filter_map(|one| one.sides.get(side)).map(|side| side.times.clone()));
    let candidate = pooled(measurements.iter().map(Measurement::candidate));
    let summary = |times: &SideTrials, sides: &mut dyn Iterator<Item = &SideRounds>| SideTiming {
        overhead: overhead(sides),
        ..summarize(&times.e2e_ns, &times.device_ns)
    };
    Some(Timing {
        path,
        baseline,
        cache: settings.cache,
        base: summary(&base, &mut measurements.iter().filter_map(|one| one.sides.get(side))),
        candidate: summary(&candidate, &mut measurements.iter().filter_map(|one| one.sides.last())),
        speedup: combined(&ratios)?,
        device_speedup: on_device.and_then(|ratios| combined(&ratios)),
        bound_ns: Some(bound.as_nanos() as f64),
        stable: measurements.iter().all(|one| one.fluctuation.largest() <= settings.max_fluctuation),
        remeasured,
        pairs: if ratios.len() > 1 { ratios } else { Vec::new() },
        charged_ns: measurements.iter().map(|one| one.charged_ns).max().unwrap_or_default(),
        raw: None,
    })
}

/// Returns the median overhead of the blocks of a side in several measurements; `None` without blocks.
fn overhead(parts: &mut dyn Iterator<Item = &SideRounds>) -> Option<f64> {
    let mut overheads: Vec<f64> = parts.flat_map(SideRounds::overheads).collect();
    overheads.sort_unstable_by(f64::total_cmp);
    (!overheads.is_empty()).then(|| quantile(&overheads, 0.5))
}

/// Returns all rounds of several measurements of a side.
pub(crate) fn pooled(parts: impl Iterator<Item = SideTrials>) -> SideTrials {
    let mut all = SideTrials::default();
    for part in parts {
        all.e2e_ns.extend(part.e2e_ns);
        all.device_ns.extend(part.device_ns);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use passnet_inputs::Stream;

    /// Rounds of ten trials around `scale` ns; a level per round and each trial are log-normal with these standard deviations.
    fn side(scale: f64, (level, trial): (f64, f64), number: u64) -> SideRounds {
        let stream = Stream::new(number, "fluctuation");
        let round = |round: u64| {
            let of_round = level * stream.normals(round << 8 | 255)[0];
            let normals = (0..3).flat_map(|group| stream.normals(round << 8 | group)).take(10);
            normals.map(|normal| (scale * (of_round + trial * normal).exp()) as u64).collect()
        };
        SideRounds::of_trials((0..10).map(round).collect())
    }

    fn measured(sides: [SideRounds; 2]) -> Measurement {
        Measurement::new(sides.into(), Mode::Sound, true)
    }

    #[test]
    fn trials_may_vary_as_long_as_their_ratio_is_known() {
        let noise = (0.05, 0.25);
        let fluctuation = measured([side(4e5, noise, 1), side(3e4, noise, 2)]).fluctuation;
        assert!(fluctuation.ratio < 0.2 && fluctuation.candidate == 0.0, "{fluctuation:?}");
        // In paper mode, each side's trials count.
        let sides = vec![side(4e5, noise, 1), side(3e4, noise, 2)];
        assert!(Measurement::new(sides, Mode::Paper, true).fluctuation.ratio > 0.2);
        // The levels of the rounds vary.
        let fluctuation = measured([side(4e5, (0.6, 0.05), 1), side(3e4, (0.05, 0.05), 2)]).fluctuation;
        assert!(fluctuation.ratio > 0.2, "{fluctuation:?}");
    }

    #[test]
    fn a_candidate_that_is_slow_for_some_values_does_not_settle() {
        let mut candidate = side(3e4, (0.01, 0.02), 2);
        for round in &mut candidate.times.e2e_ns {
            round.iter_mut().step_by(3).for_each(|ns| *ns *= 5);
        }
        let fluctuation = measured([side(4e5, (0.01, 0.02), 1), candidate]).fluctuation;
        assert!(fluctuation.candidate > 0.2, "{fluctuation:?}");
        assert!(fluctuation.describe(0.2).contains("those of the baseline do not"));
    }

    #[test]
    fn more_rounds_settle_a_ratio() {
        let noise = (0.5, 0.1);
        let parts: Vec<_> =
            (0..4).map(|part| measured([side(4e5, noise, 2 * part), side(4e4, noise, 2 * part + 1)])).collect();
        let all = Measurement::joined(&parts, true).unwrap();
        assert_eq!(all.sides[1].times.e2e_ns.len(), 40);
        let least = parts.iter().map(|part| part.fluctuation.ratio).fold(f64::INFINITY, f64::min);
        assert!(all.fluctuation.ratio < least, "{:?} {least}", all.fluctuation);
        let ratio = all.ratio(0).unwrap();
        assert!(ratio.low < 10.0 && 10.0 < ratio.high, "{ratio:?}");
        assert!(Measurement::joined(&[], true).is_none());
    }
}
