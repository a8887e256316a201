//! Order statistics of trial times, and how sure a ratio of two medians is.

use passnet_record::{RatioInterval, SideTiming};

use crate::philox::Stream;

/// Confidence level of all intervals.
const CONFIDENCE: f64 = 0.95;
/// Bootstrap resamples per interval.
const RESAMPLES: u64 = 1000;

/// Times of one side: one entry per round, each with the trials of that round in order, in nanoseconds.
pub type Rounds = [Vec<u64>];

/// The `q`-quantile of sorted values by linear interpolation between order statistics (definition 7 of Hyndman and Fan
/// 1996, NumPy's default); NaN for no values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let low = position.floor() as usize;
    let (a, b) = (sorted[low], sorted[(low + 1).min(last)]);
    a + (b - a) * (position - low as f64)
}

/// Median, quartiles and smallest of one side's end-to-end times, and the median of its device times.
pub fn summarize(e2e: &Rounds, device: &Rounds) -> SideTiming {
    let sorted = pooled(e2e);
    let device = pooled(device);
    SideTiming {
        trials: sorted.len() as u64,
        median_ns: quantile(&sorted, 0.5),
        iqr_ns: quantile(&sorted, 0.75) - quantile(&sorted, 0.25),
        min_ns: quantile(&sorted, 0.0),
        device_median_ns: (!device.is_empty()).then(|| quantile(&device, 0.5)),
    }
}

fn pooled(rounds: &Rounds) -> Vec<f64> {
    let mut values: Vec<f64> = rounds.iter().flatten().map(|&ns| ns as f64).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Ratio of medians, baseline / candidate, with a percentile bootstrap interval.
///
/// Rounds are resampled, not trials, and both sides with the same indices: trials of a round share the state of the
/// machine, and both sides of a round are neighbours in time. `None` where a side has no trial or a median of zero.
pub fn ratio_of_medians(base: &Rounds, candidate: &Rounds, seed: u64) -> Option<RatioInterval> {
    let rounds = base.len().min(candidate.len());
    let (mut base_pool, mut candidate_pool) = (pooled(base), pooled(candidate));
    let ratio = median(&mut base_pool)? / median(&mut candidate_pool)?;
    if !ratio.is_finite() || ratio <= 0.0 {
        return None;
    }
    let stream = Stream::new(seed, "bootstrap");
    let draws_per_resample = (rounds as u64).div_ceil(4);
    let mut ratios = Vec::with_capacity(RESAMPLES as usize);
    for resample in 0..RESAMPLES {
        base_pool.clear();
        candidate_pool.clear();
        for draw in 0..rounds as u64 {
            let words = stream.group(resample * draws_per_resample + draw / 4);
            let index = ((u64::from(words[(draw % 4) as usize]) * rounds as u64) >> 32) as usize;
            base_pool.extend(base[index].iter().map(|&ns| ns as f64));
            candidate_pool.extend(candidate[index].iter().map(|&ns| ns as f64));
        }
        if let (Some(base), Some(candidate)) = (median(&mut base_pool), median(&mut candidate_pool)) {
            ratios.push(base / candidate);
        }
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let (low, high) = (quantile(&ratios, tail), quantile(&ratios, 1.0 - tail));
    Some(RatioInterval { ratio, low, high, confidence: CONFIDENCE })
}

/// The median of values in any order, which it reorders; `None` for no values.
fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
    fn nothing_has_no_ratio() {
        assert_eq!(ratio_of_medians(&[], &[], 1), None);
        assert_eq!(ratio_of_medians(&[vec![0, 0]], &[vec![1, 1]], 1), None);
    }

    proptest! {
        #[test]
        fn selection_agrees_with_sorting(mut values in proptest::collection::vec(0.0..1e9_f64, 1..50)) {
            let by_selection = median(&mut values).unwrap();
            values.sort_unstable_by(f64::total_cmp);
            prop_assert!((by_selection - quantile(&values, 0.5)).abs() <= 1e-6 * by_selection.abs());
        }
    }
}
