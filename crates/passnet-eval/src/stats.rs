//! Order statistics of trial times, and confidence intervals of ratios of two medians.

use passnet_inputs::Stream;
use passnet_record::{RatioInterval, SideTiming};
use passnet_score::median;

/// Confidence level of all intervals.
const CONFIDENCE: f64 = 0.95;
/// The 0.975-quantile of the standard normal distribution.
const Z: f64 = 1.959_963_985;
/// Upper bound of the estimated correlation of neighbouring rounds: with a larger correlation, ten rounds have almost no information.
const MAX_CORRELATION: f64 = 0.8;
/// Number of bootstrap resamples per interval: 25 of them lie beyond each bound of a 95 % interval.
const RESAMPLES: u64 = 1000;

/// Times of one side: one entry per round, each with the trials of that round in order, in nanoseconds.
pub type Rounds = [Vec<u64>];

/// Returns the `q`-quantile of sorted values by linear interpolation between order statistics (definition 7 of Hyndman and Fan
/// 1996, NumPy's default); NaN for no values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let low = position.floor() as usize;
    let (a, b) = (sorted[low], sorted[(low + 1).min(last)]);
    a + (b - a) * (position - low as f64)
}

/// Returns the median, the interquartile range and the minimum of one side's end-to-end times, and the median of its device times.
pub fn summarize(e2e: &Rounds, device: &Rounds) -> SideTiming {
    let sorted = pooled(e2e);
    let device = pooled(device);
    SideTiming {
        trials: sorted.len() as u64,
        median_ns: quantile(&sorted, 0.5),
        iqr_ns: quantile(&sorted, 0.75) - quantile(&sorted, 0.25),
        min_ns: quantile(&sorted, 0.0),
        device_median_ns: (!device.is_empty()).then(|| quantile(&device, 0.5)),
        overhead: None,
    }
}

fn pooled(rounds: &Rounds) -> Vec<f64> {
    let mut values: Vec<f64> = rounds.iter().flatten().map(|&ns| ns as f64).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns the ratio of medians, baseline / candidate, with a percentile bootstrap interval that is widened for few rounds and for drift.
///
/// Rounds are resampled and not trials, because trials of a round share the state of the machine. Both sides are resampled with the same
/// indices, because both sides of a round are neighbours in time. The distances of the bounds from the ratio, as logarithms, are then
/// multiplied by [`widening`]. With a single round, both bounds are equal to the ratio. Returns `None` where a side has no trial or a
/// median of zero.
pub fn ratio_of_medians(base: &Rounds, candidate: &Rounds, seed: u64) -> Option<RatioInterval> {
    resampled(base, candidate, seed, RESAMPLES)
}

fn resampled(base: &Rounds, candidate: &Rounds, seed: u64, resamples: u64) -> Option<RatioInterval> {
    let rounds = base.len().min(candidate.len());
    let (mut base_pool, mut candidate_pool) = (pooled(base), pooled(candidate));
    let ratio = median(&mut base_pool)? / median(&mut candidate_pool)?;
    if !ratio.is_finite() || ratio <= 0.0 {
        return None;
    }
    let stream = Stream::new(seed, "bootstrap");
    let draws_per_resample = (rounds as u64).div_ceil(4);
    let mut logs = Vec::with_capacity(resamples as usize);
    for resample in 0..resamples {
        base_pool.clear();
        candidate_pool.clear();
        for draw in 0..rounds as u64 {
            let words = stream.group(resample * draws_per_resample + draw / 4);
            let index = ((u64::from(words[(draw % 4) as usize]) * rounds as u64) >> 32) as usize;
            base_pool.extend(base[index].iter().map(|&ns| ns as f64));
            candidate_pool.extend(candidate[index].iter().map(|&ns| ns as f64));
        }
        if let (Some(base), Some(candidate)) = (median(&mut base_pool), median(&mut candidate_pool)) {
            logs.push((base / candidate).ln());
        }
    }
    logs.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let wider = widening(&log_ratios(base, candidate));
    let bound = |q: f64| (ratio.ln() + (quantile(&logs, q) - ratio.ln()) * wider).exp();
    Some(RatioInterval {
        ratio,
        low: bound(tail).min(ratio),
        high: bound(1.0 - tail).max(ratio),
        confidence: CONFIDENCE,
    })
}

/// Largest factor between the ratios of two pairs of processes that still agree. Differences in the layout of memory between processes
/// can cause such a factor.
const BETWEEN_PAIRS: f64 = 1.1;

/// Returns the summary of the ratios of several pairs of processes: their geometric mean, and the smallest interval that contains the
/// intervals of all pairs. An interval over rounds alone would miss effects that all rounds of a pair share. Returns `None` if there are
/// no pairs.
pub fn combined(pairs: &[RatioInterval]) -> Option<RatioInterval> {
    let confidence = pairs.first()?.confidence;
    let mean = pairs.iter().map(|pair| pair.ratio.ln()).sum::<f64>() / pairs.len() as f64;
    let low = pairs.iter().map(|pair| pair.low).fold(f64::INFINITY, f64::min);
    let high = pairs.iter().map(|pair| pair.high).fold(0.0, f64::max);
    Some(RatioInterval { ratio: mean.exp().clamp(low, high), low, high, confidence })
}

/// Returns whether the intervals of two pairs lie further from each other than those of two processes of the same program can.
pub fn disagree(pairs: &[RatioInterval]) -> bool {
    let low = pairs.iter().map(|pair| pair.low).fold(0.0, f64::max);
    let high = pairs.iter().map(|pair| pair.high).fold(f64::INFINITY, f64::min);
    low > high * BETWEEN_PAIRS
}

/// Returns the relative uncertainty of a ratio: half the width of its interval, as a factor minus 1. With 0.2, each bound is about 20 %
/// away from the ratio.
pub(crate) fn uncertainty(ratio: &RatioInterval) -> f64 {
    (ratio.high / ratio.low).sqrt() - 1.0
}

/// Returns IQR / median of the trials in the median round of a side; 0 without trials. A change between rounds, such as another clock
/// frequency, does not affect it.
pub(crate) fn spread_within_rounds(side: &Rounds) -> f64 {
    let of_round = |trials: &Vec<u64>| {
        let mut values: Vec<f64> = trials.iter().map(|&ns| ns as f64).collect();
        values.sort_unstable_by(f64::total_cmp);
        (quantile(&values, 0.75) - quantile(&values, 0.25)) / quantile(&values, 0.5)
    };
    median(&mut side.iter().map(of_round).filter(|spread| spread.is_finite()).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Returns the logarithm of the ratio of medians of each round. Rounds without a ratio are left out.
fn log_ratios(base: &Rounds, candidate: &Rounds) -> Vec<f64> {
    let middle = |trials: &Vec<u64>| median(&mut trials.iter().map(|&ns| ns as f64).collect::<Vec<_>>());
    let ratios = base.iter().zip(candidate).filter_map(|(base, candidate)| Some(middle(base)? / middle(candidate)?));
    ratios.map(f64::ln).filter(|log| log.is_finite()).collect()
}

/// Returns the factor by which a percentile bootstrap over these rounds is too narrow. It is the product of two factors:
///
/// - It uses the spread of `n` values as that of their population, and assumes a normal distribution. Both are corrected by
///   `sqrt(n / (n - 1)) * t / z`, t and z the quantiles of Student's (n - 1 degrees of freedom) and the normal
///   distribution: Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015), the
///   expanded percentile interval. 1.22 for ten rounds.
/// - It assumes that the rounds are independent. If neighbours have a correlation r, the variance of a mean is
///   (1 + r) / (1 - r) times larger: Zwiers and von Storch, "Taking serial correlation into account in tests of the
///   mean", Journal of Climate 8 (1995). The estimate of r from n values is too small by about 1 / n; a negative value
///   counts as 0.
fn widening(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if values.len() < 2 {
        return 1.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    let product = |pair: &[f64]| (pair[0] - mean) * (pair[1] - mean);
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let correlation = values.windows(2).map(product).sum::<f64>() / variance + 1.0 / n;
    // Without variance there is no correlation. The bootstrap interval is then a point, also after scaling.
    let correlation = if correlation.is_nan() { 0.0 } else { correlation.clamp(0.0, MAX_CORRELATION) };
    (n / (n - 1.0)).sqrt() * student_t(n - 1.0) / Z * ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// Returns the 0.975-quantile of Student's t distribution. From 3 degrees of freedom on, this is its expansion around the quantile of the
/// normal distribution (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5), with an error below 2e-3. For fewer degrees
/// it is the exact value.
fn student_t(degrees: f64) -> f64 {
    if degrees < 1.5 {
        return 12.706_204_736;
    }
    if degrees < 2.5 {
        return 4.302_652_730;
    }
    let [z1, z3, z5, z7, z9] = [1, 3, 5, 7, 9].map(|power| Z.powi(power));
    let terms = [
        (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z1) / 92_160.0,
        (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z1) / 384.0,
        (5.0 * z5 + 16.0 * z3 + 3.0 * z1) / 96.0,
        (z3 + z1) / 4.0,
        z1,
    ];
    terms.into_iter().fold(0.0, |sum, term| sum / degrees + term)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spreads_are_those_of_a_median_round() {
        let side = |scale: u64, noise: u64| -> Vec<Vec<u64>> {
            (0..8).map(|round| (0..8).map(|trial| scale * (100 + 50 * (round % 2)) + trial * noise).collect()).collect()
        };
        assert!(spread_within_rounds(&side(10, 1)) < 0.01);
        assert!(spread_within_rounds(&side(10, 100)) > 0.2);
        assert!(spread_within_rounds(&[]) == 0.0 && spread_within_rounds(&[vec![]]) == 0.0);
    }

    #[test]
    fn an_uncertainty_is_half_of_an_interval() {
        let of = |low, high| uncertainty(&RatioInterval { ratio: 2.0, low, high, confidence: 0.95 });
        assert!((of(2.0 / 1.2, 2.4) - 0.2).abs() < 1e-9 && of(2.0, 2.0) == 0.0);
    }

    #[test]
    fn quantiles_interpolate_as_numpy_does() {
        let values = [1.0, 2.0, 3.0, 10.0];
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile(&values, q)), [1.0, 1.75, 2.5, 4.75, 10.0]);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn an_interval_covers_the_ratio_and_narrows_with_less_noise() {
        let stream = Stream::new(3, "test");
        let noise_of =
            |round: u64, trial: u64, width: u64| (u64::from(stream.group(round * 10 + trial)[0]) * width) >> 32;
        let rounds = |scale: u64, width: u64| -> Vec<Vec<u64>> {
            (0..10).map(|round| (0..10).map(|trial| scale + noise_of(round, trial, width)).collect()).collect()
        };
        let noisy = ratio_of_medians(&rounds(20_000, 1000), &rounds(10_000, 2000), 1).unwrap();
        let calm = ratio_of_medians(&rounds(20_000, 10), &rounds(10_000, 20), 1).unwrap();
        for interval in [noisy, calm] {
            assert!(interval.low <= interval.ratio && interval.ratio <= interval.high, "{interval:?}");
        }
        assert!(calm.high - calm.low < noisy.high - noisy.low);
        assert!((calm.ratio - 2.0).abs() < 0.01);
        assert_eq!(noisy, ratio_of_medians(&rounds(20_000, 1000), &rounds(10_000, 2000), 1).unwrap());
    }

    #[test]
    fn one_bad_round_widens_the_interval_but_hardly_moves_the_ratio() {
        let steady = vec![vec![1000; 10]; 10];
        let mut disturbed = steady.clone();
        disturbed[3] = vec![9000; 10];
        let interval = ratio_of_medians(&disturbed, &steady, 1).unwrap();
        assert_eq!(interval.ratio, 1.0);
        assert!(interval.high >= 1.0 && interval.low >= 0.9);
    }

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (degrees, expected) in
            [(1.0, 12.7062), (2.0, 4.3027), (3.0, 3.1824), (4.0, 2.7764), (9.0, 2.2622), (29.0, 2.0452)]
        {
            assert!((student_t(degrees) / expected - 1.0).abs() < 2e-3, "{degrees}: {}", student_t(degrees));
        }
        assert!((widening(&[0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1]) - 1.2166).abs() < 1e-3);
    }

    /// Rounds of eager against itself: log-normal trials around a level per round that follows an autoregression.
    fn drifting(stream: Stream, side: u64, correlation: f64) -> Vec<Vec<u64>> {
        let mut level = stream.normals(side << 32)[0];
        let trials = |(round, level): (u64, f64)| {
            let normals = (0..3).flat_map(|group| stream.normals(side << 32 | round << 8 | group)).take(10);
            normals.map(|normal| (1e5 * (0.02 * level + 0.03 * normal).exp()) as u64).collect()
        };
        let levels = (1..=10).map(|round| {
            let fresh = stream.normals(side << 32 | round << 8 | 255)[0];
            level = correlation * level + (1.0 - correlation * correlation).sqrt() * fresh;
            (round, level)
        });
        levels.collect::<Vec<_>>().into_iter().map(trials).collect()
    }

    #[test]
    fn intervals_of_eager_against_itself_cover_one_as_often_as_they_say() {
        for (correlation, least, most) in [(0.0, 0.93, 0.995), (0.3, 0.87, 0.99)] {
            let covers = |seed: &u64| {
                let stream = Stream::new(*seed, "coverage");
                let (base, candidate) = (drifting(stream, 1, correlation), drifting(stream, 2, correlation));
                let interval = resampled(&base, &candidate, *seed, 250).unwrap();
                interval.low <= 1.0 && 1.0 <= interval.high
            };
            let share = (0..200).filter(covers).count() as f64 / 200.0;
            assert!((least..=most).contains(&share), "{correlation}: {share}");
        }
    }

    #[test]
    fn a_real_difference_is_still_seen() {
        let seen = |seed: &u64| {
            let stream = Stream::new(*seed, "power");
            let slower =
                drifting(stream, 1, 0.0).into_iter().map(|round| round.iter().map(|ns| ns * 21 / 20).collect());
            resampled(&slower.collect::<Vec<_>>(), &drifting(stream, 2, 0.0), *seed, 250).unwrap().low > 1.0
        };
        // 5 % at a noise of 3 % per trial and 2 % per round.
        assert!((0..50).filter(seen).count() >= 40);
    }

    #[test]
    fn pairs_of_processes_are_summed_up_by_what_holds_all_of_them() {
        let of = |low, ratio, high| RatioInterval { ratio, low, high, confidence: 0.95 };
        let pairs = [of(1.9, 2.0, 2.1), of(1.75, 1.8, 1.85)];
        let all = combined(&pairs).unwrap();
        assert!((all.ratio - 3.6_f64.sqrt()).abs() < 1e-9 && (all.low, all.high) == (1.75, 2.1));
        assert_eq!(combined(&pairs[..1]), Some(pairs[0]));
        assert_eq!(combined(&[]), None);
        assert!(!disagree(&pairs) && !disagree(&pairs[..1]));
        // The two processes of eager mode ran at different speeds, so this is no speed-up.
        assert!(disagree(&[of(6.9, 7.0, 7.1), of(0.98, 1.0, 1.02)]));
        assert!(!disagree(&[of(0.9, 1.3, 1.7), of(0.98, 1.0, 1.02)]));
    }

    #[test]
    fn nothing_has_no_ratio() {
        assert_eq!(ratio_of_medians(&[], &[], 1), None);
        assert_eq!(ratio_of_medians(&[vec![0, 0]], &[vec![1, 1]], 1), None);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_ratio_and_turns_round_with_it(
            base in proptest::collection::vec(proptest::collection::vec(1..1_000_000_u64, 1..6), 1..12),
            candidate in proptest::collection::vec(proptest::collection::vec(1..1_000_000_u64, 1..6), 1..12),
        ) {
            let rounds = base.len().min(candidate.len());
            let (base, candidate) = (&base[..rounds], &candidate[..rounds]);
            let there = resampled(base, candidate, 1, 100).unwrap();
            let back = resampled(candidate, base, 1, 100).unwrap();
            prop_assert!(0.0 < there.low && there.low <= there.ratio && there.ratio <= there.high);
            prop_assert!(there.high.is_finite());
            for (a, b) in [(there.ratio, back.ratio), (there.low, back.high), (there.high, back.low)] {
                prop_assert!((a * b - 1.0).abs() < 1e-9, "{there:?} {back:?}");
            }
        }

        #[test]
        fn selection_agrees_with_sorting(mut values in proptest::collection::vec(0.0..1e9_f64, 1..50)) {
            let by_selection = median(&mut values).unwrap();
            values.sort_unstable_by(f64::total_cmp);
            prop_assert!((by_selection - quantile(&values, 0.5)).abs() <= 1e-6 * by_selection.abs());
        }
    }
}
