//! The timing loop: a warm-up, then trials. Each trial is between two readings of the clock.

/// Returns the nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec, and CLOCK_MONOTONIC exists on every Linux.
    #[expect(unsafe_code, reason = "the standard library's Instant cannot be shared with another process's clock")]
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A call that is timed, with the untimed work around it.
pub trait TimedCall {
    /// Error of a step.
    type Error;

    /// Does the untimed work before a call: copies its content and empties caches. `call` is the number of the call, counting warm-up
    /// calls. The device is idle when this returns.
    fn prepare(&mut self, call: usize) -> Result<(), Self::Error>;

    /// Makes the call, including the wait for the device. Returns the nanoseconds between device events around the call, if the device
    /// has events.
    fn call(&mut self) -> Result<Option<u64>, Self::Error>;

    /// Returns the number of the timed call, out of `timed` calls, that a guarded call precedes, if any.
    fn guarded(&mut self, timed: u64) -> Result<Option<u64>, Self::Error>;

    /// Makes an untimed call whose kernels are guarded, with the content of call `call`, and then an untimed call without guards.
    fn guard(&mut self, call: usize) -> Result<(), Self::Error>;

    /// Samples elements of the result of timed call `timed`, counted from 0. This is untimed.
    fn sample(&mut self, timed: u64);

    /// Returns a random number that cannot be predicted in this process before it is drawn.
    fn draw(&mut self) -> Result<u64, Self::Error>;

    /// Does the untimed work after a call: keeps its result in place of the result that was kept before, or overwrites and releases the
    /// result.
    fn finish(&mut self, keep: bool) -> Result<(), Self::Error>;
}

/// Numbers of calls of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCalls {
    /// Number of untimed calls at the beginning.
    pub warmup: u32,
    /// Number of timed trials.
    pub trials: u32,
    /// Number of consecutive calls per trial, at least 1.
    pub calls: u32,
}

/// Times of one block of calls, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// End-to-end time of each trial: the mean of its calls, rounded down.
    pub e2e: Vec<u64>,
    /// Time between device events of each trial: the mean of its calls, rounded down. Empty where the device has no events.
    pub device: Vec<u64>,
    /// Time from before the first warm-up call to after the last trial.
    pub total: u64,
    /// Timed call, counted from 0, whose result is kept.
    pub kept: u64,
}

/// Runs the untimed calls, then the timed ones, and keeps the result of one timed call.
///
/// After timed call `i`, counted from 1, its result replaces the kept result with probability `1 / i` (reservoir sampling: J. S. Vitter,
/// "Random sampling with a reservoir", 1985). Each call has the same chance. While a call runs, the memory of the process does not show
/// whether its result will be kept.
///
/// # Errors
///
/// The first error of the subject ends the block.
pub fn time_block<S: TimedCall>(subject: &mut S, plan: BlockCalls) -> Result<Block, S::Error> {
    let mut block = Block { e2e: Vec::with_capacity(plan.trials as usize), ..Block::default() };
    let calls = u64::from(plan.calls.max(1));
    let (mut call, begin) = (0, monotonic_ns());
    let mut timed = 0_u64;
    let guarded = subject.guarded(u64::from(plan.trials) * calls)?;
    for _ in 0..plan.warmup {
        subject.prepare(call)?;
        subject.call()?;
        subject.finish(false)?;
        call += 1;
    }
    for _ in 0..plan.trials {
        let (mut e2e, mut device) = (0, None);
        for _ in 0..calls {
            if guarded == Some(timed) {
                subject.guard(call)?;
            }
            subject.prepare(call)?;
            let start = monotonic_ns();
            let on_device = subject.call()?;
            e2e += monotonic_ns() - start;
            device = on_device.map(|ns| device.unwrap_or(0) + ns);
            subject.sample(timed);
            timed += 1;
            let is_kept = subject.draw()?.is_multiple_of(timed);
            if is_kept {
                block.kept = timed - 1;
            }
            subject.finish(is_kept)?;
            call += 1;
        }
        block.e2e.push(e2e / calls);
        block.device.extend(device.map(|ns| ns / calls));
    }
    block.total = monotonic_ns() - begin;
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder {
        steps: String,
        fail_at: Option<usize>,
        /// Draws in order. All further draws are 1.
        draws: Vec<u64>,
        sampled: Vec<u64>,
        guard_at: Option<u64>,
    }

    impl TimedCall for Recorder {
        type Error = usize;

        fn prepare(&mut self, call: usize) -> Result<(), usize> {
            self.steps.push_str(&call.to_string());
            Ok(())
        }

        fn call(&mut self) -> Result<Option<u64>, usize> {
            self.steps.push('c');
            if self.fail_at == Some(self.steps.len()) { Err(self.steps.len()) } else { Ok(Some(7)) }
        }

        fn guarded(&mut self, _timed: u64) -> Result<Option<u64>, usize> {
            Ok(self.guard_at)
        }

        fn guard(&mut self, call: usize) -> Result<(), usize> {
            self.steps.push_str(&format!("g{call}"));
            Ok(())
        }

        fn sample(&mut self, timed: u64) {
            self.sampled.push(timed);
        }

        fn draw(&mut self) -> Result<u64, usize> {
            Ok(if self.draws.is_empty() { 1 } else { self.draws.remove(0) })
        }

        fn finish(&mut self, keep: bool) -> Result<(), usize> {
            self.steps.push(if keep { 'k' } else { 'f' });
            Ok(())
        }
    }

    #[test]
    fn every_call_is_prepared_and_finished_and_only_trials_are_recorded() {
        let mut subject = Recorder { draws: vec![3, 4], ..Recorder::default() };
        let block = time_block(&mut subject, BlockCalls { warmup: 2, trials: 3, calls: 1 }).unwrap();
        assert_eq!(subject.steps, "0cf1cf2ck3ck4cf");
        assert_eq!((block.e2e.len(), block.device, block.kept), (3, vec![7; 3], 1));
        assert!(block.total >= block.e2e.iter().sum());
    }

    #[test]
    fn a_trial_is_the_mean_of_its_calls() {
        let mut subject = Recorder { guard_at: Some(2), ..Recorder::default() };
        let block = time_block(&mut subject, BlockCalls { warmup: 0, trials: 2, calls: 2 }).unwrap();
        assert_eq!(subject.steps, "0ck1cfg22cf3cf");
        assert_eq!((block.e2e.len(), block.device, subject.sampled), (2, vec![7; 2], vec![0, 1, 2, 3]));
        assert!(block.total >= 2 * block.e2e.iter().sum::<u64>());
    }

    #[test]
    fn an_error_ends_the_block() {
        let mut subject = Recorder { fail_at: Some(5), ..Recorder::default() };
        assert_eq!(time_block(&mut subject, BlockCalls { warmup: 0, trials: 9, calls: 1 }), Err(5));
        assert_eq!(subject.steps, "0ck1c");
    }

    #[test]
    fn each_timed_call_has_the_same_chance_to_be_kept() {
        // All 6! combinations of remainders, digits of a number to mixed bases.
        let mut counts = [0_u32; 6];
        for number in 0..720_u64 {
            let mut rest = number;
            let digit = |base: u64| (rest % base, rest /= base).0;
            let mut subject = Recorder { draws: (1..=6).map(digit).collect(), ..Recorder::default() };
            let block = time_block(&mut subject, BlockCalls { warmup: 0, trials: 6, calls: 1 }).unwrap();
            counts[block.kept as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?}");
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let first = monotonic_ns();
        assert!(monotonic_ns() >= first);
    }
}
