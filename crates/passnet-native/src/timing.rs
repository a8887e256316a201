//! The timing loop: a warm-up, then trials, each between two readings of the clock.

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec, and CLOCK_MONOTONIC exists on every Linux.
    #[expect(unsafe_code, reason = "the standard library's Instant cannot be shared with another process's clock")]
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Subject of a timing, on its device.
pub trait Subject {
    /// Error of a step.
    type Error;

    /// Chooses the inputs for a trial (0 also for every warm-up call) and does the untimed work before its call:
    /// restore inputs, empty caches. Ends with the device idle.
    fn prepare(&mut self, trial: usize) -> Result<(), Self::Error>;

    /// The call itself, including the wait for the device. Returns nanoseconds between device events around it, if
    /// the device has any.
    fn call(&mut self) -> Result<Option<u64>, Self::Error>;
}

/// Times of one block of calls, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// End to end, one per trial.
    pub e2e: Vec<u64>,
    /// Between device events, one per trial; empty where the device has none.
    pub device: Vec<u64>,
    /// From before the first warm-up call to after the last trial.
    pub total: u64,
}

/// Runs `warmup` untimed calls, then `trials` timed ones.
///
/// # Errors
///
/// The first error of the subject ends the block.
pub fn time_block<S: Subject>(subject: &mut S, warmup: u32, trials: u32) -> Result<Block, S::Error> {
    let mut block = Block { e2e: Vec::with_capacity(trials as usize), ..Block::default() };
    let begin = monotonic_ns();
    for _ in 0..warmup {
        subject.prepare(0)?;
        subject.call()?;
    }
    for trial in 0..trials as usize {
        subject.prepare(trial)?;
        let start = monotonic_ns();
        let device = subject.call()?;
        block.e2e.push(monotonic_ns() - start);
        block.device.extend(device);
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
    }

    impl Subject for Recorder {
        type Error = usize;

        fn prepare(&mut self, trial: usize) -> Result<(), usize> {
            self.steps.push_str(&trial.to_string());
            Ok(())
        }

        fn call(&mut self) -> Result<Option<u64>, usize> {
            self.steps.push('c');
            if self.fail_at == Some(self.steps.len()) { Err(self.steps.len()) } else { Ok(Some(7)) }
        }
    }

    #[test]
    fn every_call_is_prepared_and_only_trials_are_kept() {
        let mut subject = Recorder::default();
        let block = time_block(&mut subject, 2, 3).unwrap();
        assert_eq!(subject.steps, "0c0c0c1c2c");
        assert_eq!((block.e2e.len(), block.device), (3, vec![7; 3]));
        assert!(block.total >= block.e2e.iter().sum());
    }

    #[test]
    fn an_error_ends_the_block() {
        let mut subject = Recorder { fail_at: Some(4), ..Recorder::default() };
        assert_eq!(time_block(&mut subject, 0, 9), Err(4));
        assert_eq!(subject.steps, "0c1c");
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let first = monotonic_ns();
        assert!(monotonic_ns() >= first);
    }
}
