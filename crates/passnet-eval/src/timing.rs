//! Interleaved measurement of several workers.
//!
//! A round is one block of consecutive trials per side. The order of sides alternates from round to round (A B, B A, A B ...), so that a
//! drift of the machine affects both sides equally. Each call sees a separate content, and the outputs of any timed call may be compared.

use std::{
    thread,
    time::{Duration, Instant},
};

use passnet_inputs::Stream;
use passnet_record::{Mode, RunSettings, SampleRule, SampledOutput, WorkerReply, WorkerRequest};

use crate::{
    accounting::{SeenBlock, SideRounds},
    measurement::Measurement,
    pools::Pools,
    samples::{self, RoundSamples},
    schedule::{BlockPlan, CallTimes, blocks, fast_sizing, sizing},
    stats::quantile,
    tree::{CpuUse, own_cpu_use},
    worker::{Sent, Worker, WorkerFault, unexpected},
};

/// Longest wait for other processes to become idle before a block. Threads of GNU OpenMP spin 300,000 times, about 15 ms.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Pause between two looks at other processes.
const BETWEEN_LOOKS: Duration = Duration::from_micros(500);

/// Fault of one side of a measurement.
pub(crate) struct SideFault {
    pub(crate) side: usize,
    pub(crate) fault: WorkerFault,
}

/// Outputs of a checked round.
pub(crate) struct CheckedRound {
    /// Outputs of the first side and of the last one for the same content.
    pub(crate) sent: [Sent; 2],
    /// Content ids of these values right after the calls returned; empty where they are not known.
    pub(crate) kept: [Vec<String>; 2],
    /// Number of the call among all calls that use these pools ([`Pools::content`]).
    pub(crate) call: u64,
}

/// Values that the sides of a round returned, to be compared.
pub(crate) enum SeenOutputs {
    /// All outputs of one call.
    Kept(Box<CheckedRound>),
    /// A few elements of many calls.
    Sampled(RoundSamples),
}

/// Function that receives the outputs to compare.
pub(crate) type CheckOutputs<'a> = &'a mut dyn FnMut(SeenOutputs);

/// Plan of a measurement.
pub(crate) struct MeasurementPlan<'a> {
    pub(crate) settings: &'a RunSettings,
    /// Contents of the calls, which the workers already have.
    pub(crate) pools: &'a Pools,
    /// Number of windows of the pools that earlier calls have used.
    pub(crate) seen: u64,
    /// True to reset generators, and inputs that do not change, before each call.
    pub(crate) restore: bool,
    /// True to overwrite the values that calls return.
    pub(crate) overwrite: bool,
    /// Seed of the generators of each call.
    pub(crate) call_seed: u64,
    /// Seed of the lengths of blocks and of the calls to check.
    pub(crate) seed: u64,
    pub(crate) deadline: Instant,
    /// Number of bytes that a call returns.
    pub(crate) output_bytes: u64,
    pub(crate) output_limit: u64,
    /// True to compare reported times and values with those that the referee measures.
    pub(crate) check_clock: bool,
    /// True to compare a few elements of many calls.
    pub(crate) sample: bool,
}

/// Measured values of one side.
#[derive(Default)]
struct SideTimes {
    rounds: SideRounds,
    /// Content ids of the values that were kept last.
    kept: Vec<String>,
    /// Number of the timed call of the last block that these values are from.
    kept_call: u32,
    /// Elements of the calls of the last block.
    samples: Vec<SampledOutput>,
}

impl MeasurementPlan<'_> {
    /// Runs all rounds. `workers` are the sides in order, the baseline first.
    pub(crate) fn run(&self, workers: &mut [&mut Worker], check: CheckOutputs<'_>) -> Result<Measurement, SideFault> {
        let mut sides: Vec<SideTimes> = workers.iter().map(|_| SideTimes::default()).collect();
        let last = workers.len().saturating_sub(1);
        let first = sizing(self.settings, self.seed);
        let mut call = self.call_times(workers, first, 0)?;
        let mut made = first.all();
        if let Some(again) = fast_sizing(self.settings, call) {
            call = self.call_times(workers, again, made)?;
            made += again.all();
        }
        let most = self.pools.calls().saturating_sub(self.seen);
        let plans = blocks(self.settings, self.seed, call, self.output_bytes, most);
        let mut elsewhere = (Duration::ZERO, Duration::ZERO);
        for (round, &plan) in plans.iter().enumerate() {
            let order = self.order(round, workers.len());
            let rule = self.sample.then(|| samples::rule(self.sample_seed(round), plan));
            for &side in &order {
                settle(workers, side);
                let begin = Instant::now();
                let before = if side == last { None } else { workers[last].cpu_use() };
                self.block(workers[side], plan, (made, rule), &mut sides[side])
                    .map_err(|fault| SideFault { side, fault })?;
                if let Some(before) = before
                    && let Some(after) = workers[last].cpu_use()
                {
                    elsewhere.0 += begin.elapsed();
                    elsewhere.1 += after.since(before).ran;
                }
            }
            if plan.checked {
                let call = made + u64::from(plan.warmup) + u64::from(sides[last].kept_call);
                check(SeenOutputs::Kept(Box::new(self.checked(workers, call, &order, &mut sides)?)));
            }
            if let Some(rule) = rule {
                let of_sides = [0, last].map(|side| std::mem::take(&mut sides[side].samples));
                let first = made + u64::from(plan.warmup);
                check(SeenOutputs::Sampled(RoundSamples { rule, plan, first, sides: of_sides }));
            }
            made += plan.all();
        }
        let sides: Vec<SideRounds> = sides.into_iter().map(|side| side.rounds).collect();
        let calls = plans.first().map_or(1, |plan| plan.calls);
        let measurement = Measurement::new(sides, self.settings.mode, self.check_clock);
        Ok(Measurement { made, calls, elsewhere, ..measurement })
    }

    /// Returns the sides in the order of a round. The public harness runs the candidate first.
    fn order(&self, round: usize, sides: usize) -> Vec<usize> {
        let forward = match self.settings.mode {
            Mode::Paper => round % 2 == 1,
            Mode::Sound => (self.seed ^ round as u64).is_multiple_of(2),
        };
        if forward { (0..sides).collect() } else { (0..sides).rev().collect() }
    }

    /// Runs a block of each side whose times are only used to estimate the duration of a call. `made` is the number of calls that each side
    /// made before.
    fn call_times(&self, workers: &mut [&mut Worker], plan: BlockPlan, made: u64) -> Result<CallTimes, SideFault> {
        let mut call = CallTimes { fastest: Duration::MAX, slowest: Duration::ZERO, with_work: Duration::MAX };
        for side in 0..workers.len() {
            let of_side = |fault| SideFault { side, fault };
            settle(workers, side);
            let mut sized = SideTimes::default();
            self.block(workers[side], plan, (made, None), &mut sized).map_err(of_side)?;
            let mut times: Vec<f64> = sized.rounds.times.flat().iter().map(|&ns| ns as f64).collect();
            times.sort_unstable_by(f64::total_cmp);
            let median = Duration::from_nanos(quantile(&times, 0.5) as u64);
            call = CallTimes {
                fastest: call.fastest.min(median),
                slowest: call.slowest.max(median),
                with_work: call.with_work.min(sized.rounds.gated() / plan.all().max(1) as u32),
            };
        }
        Ok(call)
    }

    /// Makes one block of calls of a worker outside of the rounds. Returns the outputs of its kept call, and their content ids right after
    /// the call returned; no ids where they are not known.
    pub(crate) fn outputs(&self, worker: &mut Worker, plan: BlockPlan) -> Result<(Sent, Vec<String>), WorkerFault> {
        let mut side = SideTimes::default();
        self.block(worker, plan, (0, None), &mut side)?;
        worker.send(&WorkerRequest::Fetch, None, self.deadline)?;
        let sent = worker.receive_sent(self.output_limit, self.deadline)?;
        Ok((sent, if self.check_clock { side.kept } else { Vec::new() }))
    }

    fn sample_seed(&self, round: usize) -> u64 {
        let [low, high, ..] = Stream::new(self.seed, "samples").group(round as u64);
        u64::from(low) | u64::from(high) << 32
    }

    /// Runs one block of one side. `made` is the number of calls that the side made before.
    fn block(
        &self,
        worker: &mut Worker,
        plan: BlockPlan,
        (made, sample): (u64, Option<SampleRule>),
        side: &mut SideTimes,
    ) -> Result<(), WorkerFault> {
        let request = WorkerRequest::Time {
            windows: self.pools.windows(self.seen + made),
            warmup: plan.warmup,
            trials: plan.trials,
            calls: plan.calls,
            overwrite: self.overwrite,
            cache: self.settings.cache,
            restore: self.restore,
            seed: self.call_seed,
            sample,
        };
        let before = (worker.cpu_use(), own_cpu_use());
        let (reply, times) = worker.run_block(&request, self.deadline)?;
        let own = own_cpu_use();
        let waited = |before: Option<CpuUse>, after: Option<CpuUse>| {
            before.zip(after).map_or(Duration::ZERO, |(before, after)| after.since(before).waited)
        };
        let waited = waited(before.0, worker.cpu_use()) + waited(before.1, own);
        let WorkerReply::Timed(mut timed) = reply else { return Err(unexpected("timed", &reply)) };
        // The worker chooses this number, and the referee looks up the content of that call.
        if u64::from(timed.kept_call) >= plan.timed() {
            return Err(WorkerFault::Broken(format!("call {} of {} was kept", timed.kept_call, plan.timed())));
        }
        (side.kept, side.kept_call) = (std::mem::take(&mut timed.kept), timed.kept_call);
        side.samples = std::mem::take(&mut timed.samples);
        let seen = SeenBlock { times, waited };
        side.rounds.enter(timed, plan, seen, self.check_clock).map_err(WorkerFault::Broken)
    }

    /// Returns the outputs of the last side's kept call, which has the number `call` in the measurement, and those of the first side for
    /// the same content. The first side computes its outputs now, because the last side chooses the kept call only after the call was
    /// made.
    fn checked(
        &self,
        workers: &mut [&mut Worker],
        call: u64,
        order: &[usize],
        sides: &mut [SideTimes],
    ) -> Result<CheckedRound, SideFault> {
        let (first, last) = (0, workers.len().saturating_sub(1));
        let of_first = |fault| SideFault { side: first, fault };
        let once = BlockPlan { warmup: 0, trials: 1, calls: 1, checked: true };
        let mut again = SideTimes::default();
        self.block(workers[first], once, (call, None), &mut again).map_err(of_first)?;
        sides[first].kept = again.kept;
        let mut kept = |side: usize| if self.check_clock { std::mem::take(&mut sides[side].kept) } else { Vec::new() };
        let kept = [kept(first), kept(last)];
        let sent = if order.first() == Some(&first) {
            let expected = self.fetch(workers, first, sides)?;
            [expected, self.fetch(workers, last, sides)?]
        } else {
            let got = self.fetch(workers, last, sides)?;
            [self.fetch(workers, first, sides)?, got]
        };
        Ok(CheckedRound { sent, kept, call: self.seen + call })
    }

    /// Returns the outputs of the kept call of a side, and measures the time of the fetch with the referee's clock.
    fn fetch(&self, workers: &mut [&mut Worker], side: usize, sides: &mut [SideTimes]) -> Result<Sent, SideFault> {
        let (worker, of_side) = (&mut *workers[side], |fault| SideFault { side, fault });
        let begin = Instant::now();
        worker.send(&WorkerRequest::Fetch, None, self.deadline).map_err(of_side)?;
        let sent = worker.receive_sent(self.output_limit, self.deadline).map_err(of_side)?;
        sides[side].rounds.enter_fetch(begin.elapsed());
        Ok(sent)
    }
}

/// Waits until the processes of the other sides are idle, but not longer than [`LONGEST_WAIT`]. Threads of OpenMP spin for some
/// milliseconds after a parallel loop, before they sleep. They would slow the calls of `side`, and would count as work of the candidate
/// outside its calls.
fn settle(workers: &[&mut Worker], side: usize) {
    let begin = Instant::now();
    let is_other_active = || workers.iter().enumerate().any(|(other, worker)| other != side && worker.is_active());
    while is_other_active() && begin.elapsed() < LONGEST_WAIT {
        thread::sleep(BETWEEN_LOOKS);
    }
}
