//! Interleaved measurement of several workers.
//!
//! A round is one block of consecutive trials per side; the order of sides alternates from round to round (A B, B A,
//! A B ...), so that a drift of the machine hits both alike. Each trial of a block sees tensors of its own.

use std::{
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use passnet_record::{
    Baseline, ExecutionPath, Mode, RunSettings, SideTiming, SideTrials, TensorMeta, TimedBlock, Timing, WorkerReply,
    WorkerRequest,
};

use crate::{
    block::{BaseContents, BlockError, InputBlock},
    inputs::byte_size,
    philox::Stream,
    stats::{ratio_of_medians, summarize},
    worker::{Fault, Returned, Worker, unexpected},
};

/// Bytes of inputs per round, as long as one set is not larger.
const ROUND_BYTES: u64 = 2 << 20;
/// Sets larger than this are made twice only and used in turn.
const LARGE_SET_BYTES: u64 = 64 << 20;
/// Share of rounds whose last outputs are compared.
const CHECKED_SHARE: f64 = 0.3;
/// Untimed time of a block that needs no explanation, in addition to the baseline's.
const UNEXPLAINED_SLACK: Duration = Duration::from_micros(500);

/// The inputs of a measurement, one block per round (fewer for large inputs: used in turn).
pub(crate) struct TimingInputs {
    blocks: Vec<InputBlock>,
}

impl TimingInputs {
    /// Makes fresh contents under a seed.
    pub(crate) fn new(metas: &[TensorMeta], settings: &RunSettings, seed: u64) -> Result<Self, BlockError> {
        let bytes = metas.iter().try_fold(0_u64, |sum, meta| Ok::<_, BlockError>(sum + byte_size(meta)? as u64))?;
        let trials = u64::from(trials_per_round(settings).max(1));
        let sets = (ROUND_BYTES / bytes.max(1)).clamp(1, trials);
        let blocks = if bytes > LARGE_SET_BYTES { 2 } else { u64::from(settings.rounds.max(1)) };
        let base = BaseContents::new(metas, seed)?;
        let make = |block: u64| base.block(block * sets..(block + 1) * sets, settings.memory_bytes);
        Ok(Self { blocks: (0..blocks).map(make).collect::<Result<_, _>>()? })
    }

    /// The same inputs in every round.
    pub(crate) fn of(block: InputBlock) -> Self {
        Self { blocks: vec![block] }
    }

    fn of_round(&self, round: usize) -> &InputBlock {
        &self.blocks[round % self.blocks.len()]
    }
}

/// Trials of one side in one round.
fn trials_per_round(settings: &RunSettings) -> u32 {
    settings.trials.div_ceil(settings.rounds.max(1))
}

/// Times of one side, one entry per round.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideRounds {
    pub(crate) times: SideTrials,
    /// Time of each block, by the referee's clock, that trials and warm-up do not account for.
    unexplained: Vec<Duration>,
    /// Sum of trials and warm-up calls.
    pub(crate) calls: Duration,
}

/// Fault of one side of a measurement.
pub(crate) struct SideFault {
    pub(crate) side: usize,
    pub(crate) fault: Fault,
}

/// One measurement: all rounds of all sides.
pub(crate) struct Measurement {
    pub(crate) sides: Vec<SideRounds>,
    /// Largest IQR / median of any side.
    pub(crate) noise: f64,
    /// While the others were measured: how long that took, and what the last side ran meanwhile.
    pub(crate) elsewhere: (Duration, Duration),
}

/// Receiver of the outputs of a checked round: all sides' outputs in order, the block, the set in it.
pub(crate) type CheckOutputs<'a> = &'a mut dyn FnMut(&[Returned], &InputBlock, usize);

/// Plan of a measurement.
pub(crate) struct Plan<'a> {
    pub(crate) settings: &'a RunSettings,
    pub(crate) inputs: &'a TimingInputs,
    /// Reset inputs and generators before each call.
    pub(crate) restore: bool,
    /// Seed of the generators of each call.
    pub(crate) call_seed: u64,
    /// Seed of the choice of rounds to check.
    pub(crate) seed: u64,
    pub(crate) deadline: Instant,
    pub(crate) output_limit: u64,
    /// Hold reported times against this process's clock.
    pub(crate) check_clock: bool,
}

impl Plan<'_> {
    /// Runs all rounds. Sides are given in order, the baseline first.
    pub(crate) fn run(&self, sides: &mut [&mut Worker], check: CheckOutputs<'_>) -> Result<Measurement, SideFault> {
        let mut times = vec![SideRounds::default(); sides.len()];
        let rounds = self.settings.rounds.max(1) as usize;
        let choice = Stream::new(self.seed, "checked rounds");
        // At least one round is checked, independent of the random choice.
        let certain = choice.group(u64::MAX)[0] as usize % rounds;
        let mut elsewhere = (Duration::ZERO, Duration::ZERO);
        for round in 0..rounds {
            let block = self.inputs.of_round(round);
            for position in 0..sides.len() {
                // The public harness runs the candidate first.
                let forward = (round % 2 == 0) != (self.settings.mode == Mode::Paper);
                let side = if forward { position } else { sides.len() - 1 - position };
                let (last, begin) = (sides.len() - 1, Instant::now());
                let before = if side == last { None } else { sides[last].cpu_time() };
                self.block(sides[side], round, block, &mut times[side]).map_err(|fault| SideFault { side, fault })?;
                if let (Some(before), true) = (before, side != last)
                    && let Some(after) = sides[last].cpu_time()
                {
                    elsewhere.0 += begin.elapsed();
                    elsewhere.1 += after.saturating_sub(before);
                }
            }
            if round == certain || f64::from(choice.group(round as u64)[0]) < CHECKED_SHARE * 2.0_f64.powi(32) {
                let returned = self.fetch(sides)?;
                check(&returned, block, (trials_per_round(self.settings).max(1) as usize - 1) % block.len());
            }
        }
        for (side, worker) in sides.iter_mut().enumerate() {
            worker.drop_inputs(self.deadline).map_err(|fault| SideFault { side, fault })?;
        }
        let noise = times.iter().map(|side| noise(&summarize(&side.times.e2e_ns, &[]))).fold(0.0, f64::max);
        Ok(Measurement { sides: times, noise, elsewhere })
    }

    /// One block of one side.
    fn block(
        &self,
        worker: &mut Worker,
        round: usize,
        block: &InputBlock,
        times: &mut SideRounds,
    ) -> Result<(), Fault> {
        let sets = block.len() as u32;
        let trials = trials_per_round(self.settings);
        let warmup = if round == 0 { self.settings.warmup } else { self.settings.warmup.div_ceil(10) };
        let sent = Instant::now();
        worker.send(&block.request(0..block.len()), Some(block.as_fd()), self.deadline)?;
        let request = WorkerRequest::Time {
            set: 0,
            rotate: (1..sets).collect(),
            warmup,
            trials,
            cache: self.settings.cache,
            restore: self.restore,
            seed: self.call_seed,
        };
        worker.send(&request, None, self.deadline)?;
        worker.receive_done(self.deadline)?;
        let begin = Instant::now();
        let (reply, _) = worker.receive(self.deadline)?;
        // The block began before the `done` was read, and after it was sent for: the one bounds what is
        // unexplained from below, the other what is possible from above.
        let (least, most) = (begin.elapsed(), sent.elapsed());
        let WorkerReply::Timed(timed) = reply else { return Err(unexpected("timed", &reply)) };
        let most_of_worker = if self.check_clock { most } else { Duration::MAX };
        let measured = check_times(&timed, trials, most_of_worker).map_err(Fault::Broken)?;
        let calls = measured.mul_f64(f64::from(warmup + trials) / f64::from(trials.max(1)));
        times.unexplained.push(least.saturating_sub(calls));
        times.calls += calls.min(most);
        times.times.e2e_ns.push(timed.e2e_ns);
        if !timed.device_ns.is_empty() {
            times.times.device_ns.push(timed.device_ns);
        }
        Ok(())
    }

    fn fetch(&self, sides: &mut [&mut Worker]) -> Result<Vec<Returned>, SideFault> {
        for (side, worker) in sides.iter_mut().enumerate() {
            let sent = worker.send(&WorkerRequest::Fetch, None, self.deadline);
            sent.map_err(|fault| SideFault { side, fault })?;
        }
        let replies = sides.iter_mut().enumerate().map(|(side, worker)| {
            worker.receive_outputs(self.output_limit, self.deadline).map_err(|fault| SideFault { side, fault })
        });
        replies.collect()
    }
}

/// Checks that the times of a block are possible; gives their sum.
fn check_times(timed: &TimedBlock, trials: u32, wall: Duration) -> Result<Duration, String> {
    let trials = trials as usize;
    if timed.e2e_ns.len() != trials || !(timed.device_ns.is_empty() || timed.device_ns.len() == trials) {
        return Err(format!("{} times for {trials} trials", timed.e2e_ns.len()));
    }
    let sum = timed.e2e_ns.iter().fold(0_u64, |sum, &ns| sum.saturating_add(ns));
    if sum > timed.total_ns || u128::from(timed.total_ns) > wall.as_nanos() {
        return Err(format!("trials of {sum} ns do not fit {} ns, by the referee's clock {wall:?}", timed.total_ns));
    }
    Ok(Duration::from_nanos(sum))
}

/// IQR / median.
pub(crate) fn noise(side: &SideTiming) -> f64 {
    side.iqr_ns / side.median_ns
}

/// If the candidate's blocks took longer, by the referee's clock, than its trial times and the trusted sides' own untimed
/// part explain: by how much, per block. The median block of the candidate is held against the median one of the slowest
/// other side: what hides time in fewer than half of its blocks does not move the median of its trials either.
pub(crate) fn unexplained_time(others: &[SideRounds], candidate: &SideRounds) -> Option<Duration> {
    let median = |side: &SideRounds| {
        let mut unexplained = side.unexplained.clone();
        unexplained.sort_unstable();
        unexplained.get(unexplained.len() / 2).copied()
    };
    let usual = others.iter().filter_map(median).max().unwrap_or_default();
    let hidden = median(candidate)?;
    let per_block = candidate.calls / candidate.unexplained.len().max(1) as u32;
    let allowed = usual * 2 + per_block / 2 + UNEXPLAINED_SLACK;
    (hidden > allowed).then(|| hidden - usual)
}

/// The record of a measurement of two sides.
pub(crate) fn describe(
    path: ExecutionPath,
    baseline: Baseline,
    (base, candidate): (&SideTrials, &SideTrials),
    settings: &RunSettings,
    remeasured: u32,
    bound: Duration,
) -> Option<Timing> {
    let speedup = ratio_of_medians(&base.e2e_ns, &candidate.e2e_ns, settings.seed)?;
    let device_speedup = ratio_of_medians(&base.device_ns, &candidate.device_ns, settings.seed);
    let (base, candidate) =
        (summarize(&base.e2e_ns, &base.device_ns), summarize(&candidate.e2e_ns, &candidate.device_ns));
    let stable = noise(&base).max(noise(&candidate)) <= settings.max_iqr_ratio;
    Some(Timing {
        path,
        baseline,
        cache: settings.cache,
        base,
        candidate,
        speedup,
        device_speedup,
        bound_ns: Some(bound.as_nanos() as f64),
        stable,
        remeasured,
        raw: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(unexplained_us: &[u64], calls_us: u64) -> SideRounds {
        SideRounds {
            unexplained: unexplained_us.iter().map(|&us| Duration::from_micros(us)).collect(),
            calls: Duration::from_micros(calls_us),
            ..SideRounds::default()
        }
    }

    #[test]
    fn time_hidden_in_most_blocks_shows_and_noise_does_not() {
        let base = side(&[300, 310, 290, 280, 5000], 4000);
        let found = |unexplained_us: &[u64]| unexplained_time(std::slice::from_ref(&base), &side(unexplained_us, 400));
        assert_eq!(found(&[320, 9000, 8000, 300, 310]), None);
        // An honest block among them excuses nothing.
        for blocks in [[5300, 5400, 5200, 5300, 9000], [5300, 5400, 5200, 5300, 300]] {
            let hidden = found(&blocks).unwrap();
            assert!(hidden >= Duration::from_micros(4800), "{hidden:?}");
        }
    }

    #[test]
    fn impossible_times_are_refused() {
        let block = |e2e: &[u64], total| TimedBlock { e2e_ns: e2e.to_vec(), device_ns: Vec::new(), total_ns: total };
        let wall = Duration::from_nanos(100);
        assert_eq!(check_times(&block(&[10, 20], 40), 2, wall), Ok(Duration::from_nanos(30)));
        assert!(check_times(&block(&[10], 40), 2, wall).is_err());
        assert!(check_times(&block(&[10, 40], 40), 2, wall).is_err());
        assert!(check_times(&block(&[10, 20], 101), 2, wall).is_err());
        assert!(check_times(&block(&[u64::MAX, 20], u64::MAX), 2, wall).is_err());
    }
}
