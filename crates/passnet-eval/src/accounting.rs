//! Comparison of the times that a worker reports with the referee's clock.

use std::time::Duration;

use passnet_record::{SideTrials, TimedBlock};

use crate::{gated::BlockTimes, schedule::BlockPlan};

/// Untimed time of a block that is accepted in addition to what the baseline explains.
const UNEXPLAINED_SLACK: Duration = Duration::from_micros(500);
/// Extra time per call that is never charged: this share of the time of a call, plus the share below of the baseline's untimed time between
/// two calls. Two programs leave different data in the caches, so the copies between their calls take different times.
const UNCHARGED: f64 = 0.02;
const UNCHARGED_USUAL: f64 = 0.1;
/// Smallest number of rounds for which time is charged.
const ROUNDS: usize = 4;
/// Smallest number of fetches for which time is charged, and the difference per fetch that is never charged.
const FETCHES: usize = 3;
const UNCHARGED_FETCH: Duration = Duration::from_micros(200);

/// Times of a block, as the referee measures them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenBlock {
    pub(crate) times: BlockTimes,
    /// Time in which threads of the worker or of the referee were ready to run but waited for a CPU, summed over threads. On a busy
    /// machine, a reply may wait for a few milliseconds before it is read.
    pub(crate) waited: Duration,
}

/// Time of the median block that trials do not explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HiddenTime {
    pub(crate) time: Duration,
    /// True if waits for a CPU explain all of the hidden time. A candidate can cause such waits, so this does not excuse it. It only
    /// distinguishes a busy machine from a fault.
    pub(crate) may_be_waiting: bool,
}

/// Times of one side, one entry per round.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideRounds {
    pub(crate) times: SideTrials,
    /// Time of each block that the referee's clock saw before and after the block by the worker's clock: the request, the reply, and the
    /// worker's work for them.
    around: Vec<Duration>,
    /// Sum of the gated times of all blocks, by the referee's clock.
    gated: Duration,
    /// Overhead of each block ([`Self::overheads`]).
    overheads: Vec<f64>,
    /// Time of each block, by the referee's clock, that trials and warm-up do not account for.
    unexplained: Vec<Duration>,
    /// Waits for a CPU in each block.
    waited: Vec<Duration>,
    /// Number of calls of each block.
    made: Vec<u64>,
    /// Time of each fetch of outputs, by the referee's clock.
    fetched: Vec<Duration>,
    /// Sum of trials and warm-up calls.
    pub(crate) calls: Duration,
}

impl SideRounds {
    /// Adds the times of a block.
    ///
    /// # Errors
    /// If the times of the block are impossible.
    pub(crate) fn enter(
        &mut self,
        timed: TimedBlock,
        plan: BlockPlan,
        seen: SeenBlock,
        check_clock: bool,
    ) -> Result<(), String> {
        let BlockTimes { whole, gated } = seen.times;
        // Overwriting is work of the referee, and only some candidates need it, so it is not charged.
        let overwriting = Duration::from_nanos(timed.overwriting_ns);
        let measured = check_times(&timed, plan, if check_clock { gated } else { Duration::MAX })?;
        let calls = measured.mul_f64(plan.all() as f64 / plan.timed().max(1) as f64);
        let total = Duration::from_nanos(timed.total_ns);
        self.around.push(whole.saturating_sub(total));
        self.gated += gated;
        self.overheads.push(gated.saturating_sub(total).as_secs_f64() / gated.as_secs_f64().max(1e-9));
        self.unexplained.push(whole.saturating_sub(calls).saturating_sub(overwriting));
        self.waited.push(seen.waited);
        self.made.push(plan.all());
        self.calls += calls.min(whole);
        self.times.e2e_ns.push(timed.e2e_ns);
        if !timed.device_ns.is_empty() {
            self.times.device_ns.push(timed.device_ns);
        }
        Ok(())
    }

    /// Adds the rounds of another measurement of the same process.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.times.e2e_ns.extend_from_slice(&other.times.e2e_ns);
        self.times.device_ns.extend_from_slice(&other.times.device_ns);
        self.around.extend_from_slice(&other.around);
        self.gated += other.gated;
        self.overheads.extend_from_slice(&other.overheads);
        self.unexplained.extend_from_slice(&other.unexplained);
        self.waited.extend_from_slice(&other.waited);
        self.made.extend_from_slice(&other.made);
        self.fetched.extend_from_slice(&other.fetched);
        self.calls += other.calls;
    }

    /// Adds the time of a fetch.
    pub(crate) fn enter_fetch(&mut self, took: Duration) {
        self.fetched.push(took);
    }

    /// Returns the sum of the times from `go` to `ended`.
    pub(crate) fn gated(&self) -> Duration {
        self.gated
    }

    /// Returns the share of each block's gated time in which the worker's clock does not run.
    pub(crate) fn overheads(&self) -> impl Iterator<Item = f64> {
        self.overheads.iter().copied()
    }

    /// Returns the untimed time between the calls of a block, per call, in nanoseconds.
    fn between_calls(&self, round: usize) -> f64 {
        let between = self.unexplained[round].saturating_sub(self.around[round]);
        between.as_nanos() as f64 / self.made[round].max(1) as f64
    }

    /// Returns the mean time of a call in nanoseconds, including warm-up calls.
    fn per_call(&self) -> f64 {
        self.calls.as_nanos() as f64 / self.made.iter().sum::<u64>().max(1) as f64
    }
}

/// Checks that the times of a block are possible. Returns their sum.
fn check_times(timed: &TimedBlock, plan: BlockPlan, wall: Duration) -> Result<Duration, String> {
    let trials = plan.trials as usize;
    if timed.e2e_ns.len() != trials || !(timed.device_ns.is_empty() || timed.device_ns.len() == trials) {
        return Err(format!("{} times for {trials} trials", timed.e2e_ns.len()));
    }
    let sum = timed.e2e_ns.iter().fold(0_u64, |sum, &ns| sum.saturating_add(ns.saturating_mul(plan.calls.into())));
    if sum.saturating_add(timed.overwriting_ns) > timed.total_ns || u128::from(timed.total_ns) > wall.as_nanos() {
        return Err(format!("trials of {sum} ns do not fit {} ns, by the referee's clock {wall:?}", timed.total_ns));
    }
    Ok(Duration::from_nanos(sum))
}

/// Returns the time per block that neither the candidate's trial times nor the untimed time of the trusted sides explain; `None` if all
/// time is explained. The median block of the candidate is compared with the median block of the slowest other side. Time that is hidden
/// in fewer than half of the blocks is not detected, but it does not change the median of the trials either.
pub(crate) fn unexplained_time(others: &[SideRounds], candidate: &SideRounds) -> Option<HiddenTime> {
    let median = |mut unexplained: Vec<Duration>| {
        unexplained.sort_unstable();
        unexplained.get(unexplained.len() / 2).copied()
    };
    let usual = others.iter().filter_map(|side| median(side.unexplained.clone())).max().unwrap_or_default();
    let hidden = median(candidate.unexplained.clone())?;
    let without_waits = candidate.unexplained.iter().zip(&candidate.waited);
    let without_waits = median(without_waits.map(|(time, &waited)| time.saturating_sub(waited)).collect());
    let per_block = candidate.calls / candidate.unexplained.len().max(1) as u32;
    let allowed = usual * 2 + per_block / 2 + UNEXPLAINED_SLACK;
    let may_be_waiting = without_waits.is_some_and(|time| time <= allowed);
    (hidden > allowed).then(|| HiddenTime { time: hidden - usual, may_be_waiting })
}

/// Returns the charge: nanoseconds per call that the referee's clock saw and the candidate's trial times do not explain. One part is the
/// untimed time in the blocks of a round, minus that of the baseline. The other part is the extra time of fetching outputs, which should
/// compute nothing. Each part is the lower quartile over rounds, so that the noise of a busy machine is not charged.
pub(crate) fn charge(base: &SideRounds, candidate: &SideRounds) -> u64 {
    let per_call =
        |side: &SideRounds, round: usize| side.unexplained[round].as_nanos() as f64 / side.made[round].max(1) as f64;
    let rounds = base.unexplained.len().min(candidate.unexplained.len());
    let more: Vec<f64> = (0..rounds).map(|round| per_call(candidate, round) - per_call(base, round)).collect();
    // Not the time around the block: both sides have it alike, so it must not make the uncharged time longer.
    let usual = lower_quartile((0..rounds).map(|round| base.between_calls(round)).collect());
    let between = lower_quartile(more);
    let least = UNCHARGED * candidate.per_call() + UNCHARGED_USUAL * usual;
    let between = if rounds >= ROUNDS && between > least { between } else { 0.0 };
    let nanoseconds = |took: &Duration| took.as_nanos() as f64;
    let usual = lower_quartile(base.fetched.iter().map(nanoseconds).collect());
    let more =
        candidate.fetched.iter().zip(&base.fetched).map(|(candidate, base)| nanoseconds(candidate) - nanoseconds(base));
    let more: Vec<f64> = more.collect();
    let is_seen = more.len() >= FETCHES;
    let fetching = lower_quartile(more);
    let fetching = if is_seen && fetching > usual + nanoseconds(&UNCHARGED_FETCH) { fetching } else { 0.0 };
    (between + fetching) as u64
}

/// Returns the lower quartile of some values; 0 if there are none.
fn lower_quartile(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 4).copied().unwrap_or(0.0)
}

/// Returns the trials of a side with the charge added to each.
pub(crate) fn charged(side: &SideTrials, charge_ns: u64) -> SideTrials {
    let more = |rounds: &[Vec<u64>]| {
        rounds.iter().map(|round| round.iter().map(|ns| ns.saturating_add(charge_ns)).collect()).collect()
    };
    SideTrials { e2e_ns: more(&side.e2e_ns), device_ns: more(&side.device_ns) }
}

#[cfg(test)]
impl SideRounds {
    /// Returns a side with these trials, in nanoseconds, and no other time.
    pub(crate) fn of_trials(e2e_ns: Vec<Vec<u64>>) -> Self {
        Self { times: SideTrials { e2e_ns, device_ns: Vec::new() }, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(trials: u32, calls: u32) -> BlockPlan {
        BlockPlan { warmup: 0, trials, calls, checked: false }
    }

    fn side(unexplained_us: &[u64], calls_us: u64) -> SideRounds {
        SideRounds {
            around: vec![Duration::ZERO; unexplained_us.len()],
            unexplained: unexplained_us.iter().map(|&us| Duration::from_micros(us)).collect(),
            waited: vec![Duration::ZERO; unexplained_us.len()],
            made: vec![10; unexplained_us.len()],
            calls: Duration::from_micros(calls_us),
            ..SideRounds::default()
        }
    }

    #[test]
    fn time_hidden_in_most_blocks_shows_and_noise_does_not() {
        let base = side(&[300, 310, 290, 280, 5000], 4000);
        let found = |unexplained_us: &[u64]| unexplained_time(std::slice::from_ref(&base), &side(unexplained_us, 400));
        assert_eq!(found(&[320, 9000, 8000, 300, 310]), None);
        // A single honest block must not excuse the others.
        for blocks in [[5300, 5400, 5200, 5300, 9000], [5300, 5400, 5200, 5300, 300]] {
            let hidden = found(&blocks).unwrap();
            assert!(hidden.time >= Duration::from_micros(4800) && !hidden.may_be_waiting, "{hidden:?}");
        }
    }

    #[test]
    fn waits_for_a_cpu_are_named_if_they_are_all_of_the_hidden_time() {
        let base = side(&[300; 5], 4000);
        let found = |waited_us: u64| {
            let waited = vec![Duration::from_micros(waited_us); 5];
            unexplained_time(std::slice::from_ref(&base), &SideRounds { waited, ..side(&[5300; 5], 400) }).unwrap()
        };
        assert!(found(5000).may_be_waiting);
        assert!(!found(2000).may_be_waiting);
        assert_eq!(found(5000).time, found(0).time);
    }

    #[test]
    fn what_nearly_all_rounds_agree_on_is_charged_and_noise_is_not() {
        let base = side(&[300, 310, 290, 280, 300, 305, 295, 300], 4000);
        let charge = |unexplained_us: &[u64]| charge(&base, &side(unexplained_us, 400));
        // 5 us in addition to a call of 5 us are too little for a failure, but they are charged.
        assert_eq!(charge(&[350, 360, 340, 330, 350, 355, 345, 350]), 5000);
        assert_eq!(charge(&[300, 9000, 290, 8000, 300, 9000, 290, 300]), 0);
        assert_eq!(charge(&[305, 315, 295, 285, 305, 310, 300, 305]), 0);
        assert_eq!(charge(&[0; 8]), 0);
    }

    #[test]
    fn time_around_a_block_counts_but_does_not_excuse_time_between_calls() {
        let with = |around_us: u64, unexplained_us: u64| SideRounds {
            around: vec![Duration::from_micros(around_us); 8],
            ..side(&[around_us + unexplained_us; 8], 400)
        };
        // 2 us per call are hidden between the calls, and the usual time between two calls is 10 us.
        assert_eq!(charge(&with(0, 100), &with(0, 120)), 2000);
        // As long as both sides have it, time around the blocks changes nothing, however long it is.
        assert_eq!(charge(&with(5000, 100), &with(5000, 120)), 2000);
        // Time around the candidate's blocks alone can only make it slower.
        assert_eq!(charge(&with(0, 100), &with(500, 120)), 52_000);
    }

    #[test]
    fn the_overhead_of_a_block_is_what_its_worker_does_not_count() {
        let block = TimedBlock {
            e2e_ns: vec![1000; 3],
            device_ns: Vec::new(),
            total_ns: 6000,
            kept_call: 0,
            kept: Vec::new(),
            overwriting_ns: 500,
            samples: Vec::new(),
        };
        let entered = |gated_ns: u64, check_clock: bool| {
            let mut rounds = SideRounds::default();
            let (whole, gated) = (Duration::from_nanos(gated_ns + 1000), Duration::from_nanos(gated_ns));
            let seen = SeenBlock { times: BlockTimes { whole, gated }, waited: Duration::ZERO };
            rounds.enter(block.clone(), plan(3, 1), seen, check_clock).map(|()| rounds)
        };
        let overheads = |gated_ns, check_clock| entered(gated_ns, check_clock).unwrap().overheads().collect::<Vec<_>>();
        assert_eq!(overheads(8000, true), [0.25]);
        // All time around the block is a part of the time that may be charged, also before `go` and after `ended`.
        assert_eq!(entered(8000, true).unwrap().unexplained, [Duration::from_nanos(5500)]);
        assert_eq!(entered(8000, true).unwrap().around, [Duration::from_nanos(3000)]);
        assert_eq!(overheads(6000, true), [0.0]);
        assert!(entered(5000, true).is_err());
        assert_eq!(overheads(5000, false), [0.0]);
        let mut joined = entered(8000, true).unwrap();
        joined.extend(&entered(6000, true).unwrap());
        assert_eq!(joined.overheads().collect::<Vec<_>>(), [0.25, 0.0]);
    }

    #[test]
    fn outputs_that_are_computed_when_they_are_fetched_are_charged() {
        let of = |fetched_us: &[u64]| {
            let fetched = fetched_us.iter().map(|&us| Duration::from_micros(us)).collect();
            SideRounds { fetched, ..side(&[300; 4], 400) }
        };
        let base = of(&[400, 410, 390, 420]);
        assert_eq!(charge(&base, &of(&[5400, 5410, 5390, 9000])), 5_000_000);
        assert_eq!(charge(&base, &of(&[450, 460, 440, 9000])), 0);
        assert_eq!(charge(&base, &of(&[5400])), 0);
    }

    #[test]
    fn impossible_times_are_refused() {
        let block = |e2e: &[u64], total| TimedBlock {
            e2e_ns: e2e.to_vec(),
            device_ns: Vec::new(),
            total_ns: total,
            kept_call: 0,
            kept: Vec::new(),
            overwriting_ns: 0,
            samples: Vec::new(),
        };
        let (wall, two) = (Duration::from_nanos(100), plan(2, 1));
        assert_eq!(check_times(&block(&[10, 20], 40), two, wall), Ok(Duration::from_nanos(30)));
        let overwriting = TimedBlock { overwriting_ns: 11, ..block(&[10, 20], 40) };
        assert!(check_times(&overwriting, two, wall).is_err());
        assert_eq!(check_times(&block(&[10, 20], 100), plan(2, 3), wall), Ok(Duration::from_nanos(90)));
        assert!(check_times(&block(&[10, 20], 100), plan(2, 4), wall).is_err());
        assert!(check_times(&block(&[10], 40), two, wall).is_err());
        assert!(check_times(&block(&[10, 40], 40), two, wall).is_err());
        assert!(check_times(&block(&[10, 20], 101), two, wall).is_err());
        assert!(check_times(&block(&[u64::MAX, 20], u64::MAX), two, wall).is_err());
    }
}
