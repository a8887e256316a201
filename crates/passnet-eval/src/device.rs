//! Who may measure, and on which cores.

use std::{
    fs::File,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, flock},
    thread::{CpuSet, sched_getaffinity},
};

/// The right to measure on one device, one holder at a time: between the threads of this process and between the
/// processes of this user.
#[derive(Debug)]
pub(crate) struct DeviceLock {
    inside: Mutex<()>,
    file: File,
}

/// Held while measuring.
pub(crate) struct Measuring<'a> {
    lock: &'a DeviceLock,
    _inside: MutexGuard<'a, ()>,
}

impl DeviceLock {
    /// The lock of a device (`cpu`, `cuda:0` ...).
    pub(crate) fn new(device: &str) -> io::Result<Self> {
        let name = format!("passnet-{}-{}.lock", rustix::process::getuid().as_raw(), device.replace(':', "-"));
        let path = std::env::temp_dir().join(name);
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        Ok(Self { inside: Mutex::new(()), file })
    }

    /// Waits for the device; gives how long that took.
    pub(crate) fn acquire(&self) -> io::Result<(Measuring<'_>, Duration)> {
        let begin = Instant::now();
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match flock(&self.file, FlockOperation::LockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok((Measuring { lock: self, _inside: inside }, begin.elapsed()))
    }
}

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        // Unlocking a lock that is held does not fail.
        let _ = flock(&self.lock.file, FlockOperation::Unlock);
    }
}

/// How the processor's cores are shared.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Both sides of a measurement run here, in turn.
    pub(crate) timing: CpuSet,
    /// Everything else runs here; `None` where it may run anywhere.
    pub(crate) other: Option<CpuSet>,
    /// Cores that do not measure; empty where there are none.
    pub(crate) spare: Vec<u32>,
}

impl Cores {
    /// The last `threads` cores that this process may use are for measuring. If several evaluations run at once and
    /// there are cores besides, those are kept free of anything else.
    pub(crate) fn divide(threads: u32, jobs: usize) -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let mut cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)).collect();
        let for_timing = cores.split_off(cores.len().saturating_sub(threads.max(1) as usize));
        let set = |cores: &[usize]| {
            let mut set = CpuSet::new();
            cores.iter().for_each(|&core| set.set(core));
            set
        };
        let other = (jobs > 1 && !cores.is_empty()).then(|| set(&cores));
        let spare = cores.into_iter().filter_map(|core| u32::try_from(core).ok()).collect();
        Ok(Self { timing: set(&for_timing), other, spare })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_even_through_two_locks() {
        let (first, second) = (DeviceLock::new("test:7").unwrap(), DeviceLock::new("test:7").unwrap());
        let (held, _) = first.acquire().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| second.acquire().map(|(_, waited)| waited).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(held);
            assert!(waiting.join().unwrap() >= Duration::from_millis(5));
        });
    }

    #[test]
    fn cores_for_timing_are_kept_free_only_if_others_remain() {
        let alone = Cores::divide(1, 1).unwrap();
        assert_eq!((alone.timing.count(), alone.other.is_none()), (1, true));
        let shared = Cores::divide(1, 4).unwrap();
        let total = sched_getaffinity(None).unwrap().count();
        assert_eq!(shared.other.map_or(0, |set| set.count()), total - 1);
        assert_eq!(Cores::divide(10_000, 4).unwrap().timing.count(), total);
    }
}
