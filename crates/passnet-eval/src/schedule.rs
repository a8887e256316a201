//! Lengths of the blocks of a measurement, and the calls in them that are checked.

use std::time::Duration;

use passnet_inputs::Stream;
use passnet_record::{CacheMode, Mode, RunSettings};

/// Intended total time of the calls of a block.
const BLOCK: Duration = Duration::from_millis(2);
/// Intended total time of a block of the faster side, with the untimed work between its calls. Signals between the referee and the worker
/// take 20 to 60 us, which is about 1 % of this time.
const WHOLE_BLOCK: Duration = Duration::from_millis(6);
/// Largest total time of the calls of a block of the slowest side, while a trial has several calls.
const LONGEST_BLOCK: Duration = Duration::from_millis(40);
/// Share of blocks whose kept outputs are compared.
const CHECKED_SHARE: f64 = 0.5;
/// Bytes of outputs beyond which the share of checked blocks falls in proportion, because fetching large outputs occupies the device
/// longer than the calls.
const USUAL_BYTES: u64 = 64 << 20;
/// Number of trials in the block that measures the duration of a call.
const SIZING_TRIALS: u32 = 3;
/// Duration of a call, with the untimed work around it, below which its duration is measured again without warm-up calls. The first
/// calls of a process take up to ten times as long as later ones, and would make the blocks of a fast graph too short.
const FAST: Duration = Duration::from_micros(100);
/// Number of trials in the block that measures the duration of a fast call.
const FAST_SIZING_TRIALS: u32 = 16;

/// Plan of one block of one side. Both sides of a round have the same plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlan {
    pub(crate) warmup: u32,
    pub(crate) trials: u32,
    /// Calls per trial.
    pub(crate) calls: u32,
    /// True if the outputs of the kept call are compared.
    pub(crate) checked: bool,
}

impl BlockPlan {
    /// Returns the number of timed calls.
    pub(crate) fn timed(self) -> u64 {
        u64::from(self.trials) * u64::from(self.calls)
    }

    /// Returns the number of all calls.
    pub(crate) fn all(self) -> u64 {
        self.timed() + u64::from(self.warmup)
    }
}

/// Returns the average number of trials of one side in one round.
fn trials_per_round(settings: &RunSettings) -> u32 {
    settings.trials.div_ceil(settings.rounds.max(1)).max(1)
}

/// Returns true if each trial is one call: with a cold cache, and in the published harness.
fn has_single_calls(settings: &RunSettings) -> bool {
    settings.cache == CacheMode::Cold || settings.mode == Mode::Paper
}

/// Returns the number of calls of a measurement with one call per trial.
pub(crate) fn least_calls(settings: &RunSettings) -> u64 {
    let rounds = u64::from(settings.rounds.max(1));
    let per_round = u64::from(trials_per_round(settings)) + u64::from(settings.warmup.div_ceil(10)) + 2;
    rounds * per_round + 2 * u64::from(settings.warmup) + u64::from(SIZING_TRIALS + FAST_SIZING_TRIALS)
}

/// Returns the plan of the block before the first round, which has the long warm-up. Its times are only used to estimate the duration of
/// a call.
pub(crate) fn sizing(settings: &RunSettings, seed: u64) -> BlockPlan {
    BlockPlan { warmup: settings.warmup + more(seed, settings), trials: SIZING_TRIALS, calls: 1, checked: false }
}

/// Returns the plan of a second block that estimates the duration of a call; `None` if the calls are not fast, or the lengths of blocks
/// do not depend on it.
pub(crate) fn fast_sizing(settings: &RunSettings, call: CallTimes) -> Option<BlockPlan> {
    let is_needed = call.with_work < FAST && !has_single_calls(settings);
    is_needed.then_some(BlockPlan { warmup: 0, trials: FAST_SIZING_TRIALS, calls: 1, checked: false })
}

/// Returns the plan of a block with a few calls whose times are not used.
pub(crate) fn short(settings: &RunSettings, seed: u64) -> BlockPlan {
    let [warmup, trials, ..] = Stream::new(seed, "short block").group(0);
    BlockPlan { warmup: more(warmup.into(), settings), trials: 4 + trials % 3, calls: 1, checked: true }
}

/// Returns a random number of untimed calls in addition to those of the settings, so that a candidate cannot find timed calls by
/// counting.
fn more(word: u64, settings: &RunSettings) -> u32 {
    let is_exact = settings.warmup == 0 || settings.mode == Mode::Paper;
    if is_exact { 0 } else { (word % 3) as u32 }
}

/// Duration of a call of the fastest and of the slowest side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallTimes {
    pub(crate) fastest: Duration,
    pub(crate) slowest: Duration,
    /// Duration of a call with the untimed work around it, of the side where this is shorter.
    pub(crate) with_work: Duration,
}

/// Returns the plans of the blocks of all rounds, for at most `most` calls. `call` is the duration of a call, `output_bytes` the number
/// of bytes that it returns.
pub(crate) fn blocks(
    settings: &RunSettings,
    seed: u64,
    call: CallTimes,
    output_bytes: u64,
    most: u64,
) -> Vec<BlockPlan> {
    let share = CHECKED_SHARE * (USUAL_BYTES as f64 / output_bytes.max(1) as f64).min(1.0);
    let (rounds, base) = (settings.rounds.max(1), trials_per_round(settings));
    let stream = Stream::new(seed, "blocks");
    let fits = most.saturating_sub(least_calls(settings)) / (u64::from(rounds) * u64::from(base)) + 1;
    let within = |time: Duration, call: Duration| time.as_nanos() / (call.as_nanos().max(1) * u128::from(base)) + 1;
    // A slow side, such as a kernel in an interpreter, must not take minutes because the other side is fast.
    let wanted = within(BLOCK, call.fastest).max(within(WHOLE_BLOCK, call.with_work));
    let wanted = wanted.min(within(LONGEST_BLOCK, call.slowest));
    let calls = if has_single_calls(settings) { 1 } else { wanted.min(u128::from(fits.min(1 << 10))) as u32 };
    // At least one round is checked, independent of the random choice.
    // Numbers from the top of the stream, because the rounds use those from 0 on.
    let certain = stream.group(u64::MAX)[0] % rounds;
    let plan = |round: u32| {
        // Of two neighbouring rounds, one is longer by the same number of trials by which the other is shorter.
        let spread = base / 2;
        let [length, ..] = stream.group(u64::MAX - 1 - u64::from(round / 2));
        let by = if round / 2 * 2 + 1 < rounds { length % (spread + 1) } else { 0 };
        let is_longer = (length >> 16) & 1 == u32::from(round.is_multiple_of(2));
        let trials = if is_longer { base + by } else { base - by };
        let [warmup, _, checked, _] = stream.group(round.into());
        BlockPlan {
            warmup: settings.warmup.div_ceil(10) + more(warmup.into(), settings),
            trials,
            calls,
            checked: round == certain || f64::from(checked) < share * 2.0_f64.powi(32),
        }
    };
    (0..rounds).map(plan).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use passnet_record::Device;

    use super::*;
    use crate::settings;

    /// Sides of the same speed.
    fn alike(call: Duration) -> CallTimes {
        CallTimes { fastest: call, slowest: call, with_work: call }
    }

    #[test]
    fn only_fast_calls_are_sized_twice() {
        let call = |fastest, slowest| CallTimes { fastest, slowest, with_work: fastest };
        let [fast, slow] = [Duration::from_micros(2), Duration::from_millis(30)];
        let settings = settings::sound(Device::Cpu);
        assert_eq!(fast_sizing(&settings, call(fast, slow)).unwrap().all(), u64::from(FAST_SIZING_TRIALS));
        assert_eq!(fast_sizing(&settings, call(slow, slow)), None);
        let cold = RunSettings { cache: CacheMode::Cold, ..settings };
        assert_eq!(fast_sizing(&cold, call(fast, slow)), None);
    }

    #[test]
    fn a_slow_side_is_not_called_as_often_as_a_fast_one_could_be() {
        let settings = settings::sound(Device::Cpu);
        let [fastest, slowest] = [Duration::from_micros(2), Duration::from_millis(30)];
        let call = CallTimes { fastest, slowest, with_work: fastest };
        assert!(blocks(&settings, 1, call, 0, 8192).iter().all(|plan| plan.calls == 1));
    }

    #[test]
    fn blocks_have_as_many_trials_as_asked_for_in_all_and_room_for_each_call() {
        for (trials, rounds) in [(100, 10), (8, 8), (20, 2), (7, 3), (1, 1)] {
            let settings = RunSettings { trials, rounds, ..settings::sound(Device::Cpu) };
            for seed in 0..50 {
                for call in [Duration::from_micros(2), Duration::from_millis(20)] {
                    let blocks = blocks(&settings, seed, alike(call), 0, 8192);
                    assert_eq!(blocks.iter().map(|block| block.trials).sum::<u32>(), trials.div_ceil(rounds) * rounds);
                    let all: u64 = blocks.iter().map(|block| block.all()).sum();
                    assert!(all + sizing(&settings, seed).all() + u64::from(FAST_SIZING_TRIALS) <= 8192, "{blocks:?}");
                    assert!(blocks.iter().all(|block| block.trials > 0));
                    assert!(blocks.iter().any(|block| block.checked));
                }
            }
        }
    }

    #[test]
    fn fast_calls_are_made_more_often() {
        let settings = settings::sound(Device::Cpu);
        let calls = |call| blocks(&settings, 1, alike(Duration::from_micros(call)), 0, 8192)[0].calls;
        assert!(calls(2) > 50 && calls(50) >= 4 && calls(1000) == 1, "{} {} {}", calls(2), calls(50), calls(1000));
        let cold = RunSettings { cache: CacheMode::Cold, ..settings.clone() };
        assert_eq!(blocks(&cold, 1, alike(Duration::from_micros(2)), 0, 8192)[0].calls, 1);
    }

    #[test]
    fn large_outputs_are_compared_less_often_but_at_least_once() {
        let settings = settings::sound(Device::Cpu);
        let checked = |bytes| -> usize {
            let of = |seed| blocks(&settings, seed, alike(Duration::from_millis(1)), bytes, 8192);
            let counts: Vec<usize> =
                (0..200).map(|seed| of(seed).iter().filter(|block| block.checked).count()).collect();
            assert!(counts.iter().all(|&count| count > 0));
            counts.iter().sum()
        };
        assert!(checked(1 << 30) * 2 < checked(1 << 20));
    }

    #[test]
    fn blocks_have_many_lengths() {
        let settings = settings::sound(Device::Cpu);
        let of = |seed| blocks(&settings, seed, alike(Duration::from_millis(1)), 0, 8192);
        let lengths: BTreeSet<u32> = (0..200).flat_map(of).map(|block| block.trials).collect();
        assert!(lengths.len() >= 8, "{lengths:?}");
    }
}
