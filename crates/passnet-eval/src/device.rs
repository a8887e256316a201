//! The right to measure, and the cores for it.

use std::{
    io,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use passnet_record::Device;
use passnet_run::FileLock;
use rustix::{thread::CpuSet, thread::sched_getaffinity};

use crate::core_list::core_siblings;

/// Shortest and longest pause between two attempts to lock the device.
const LEAST_PAUSE: Duration = Duration::from_millis(1);
const MOST_PAUSE: Duration = Duration::from_millis(20);

/// The right to measure on one device. It has one holder at a time among the threads of this process and among all processes of this
/// user.
#[derive(Debug)]
pub(crate) struct DeviceLock {
    inside: Mutex<()>,
    path: PathBuf,
}

/// Guard that is held while measuring. The fields are dropped in their order, so the lock between processes is released first.
pub(crate) struct Measuring<'a> {
    _between_processes: FileLock,
    _inside: MutexGuard<'a, ()>,
}

impl DeviceLock {
    /// Returns the lock of a device.
    pub(crate) fn new(device: Device) -> Self {
        let name = match device.index() {
            // Processes that each see only one GPU all call it `cuda:0`, so the name of the physical device is used.
            Some(_) => format!("{}-{}", device.kind(), physical_name(device)),
            None => device.to_string(),
        };
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name = format!("passnet-{}-{name}.lock", rustix::process::getuid().as_raw());
        Self { inside: Mutex::new(()), path: std::env::temp_dir().join(name) }
    }

    /// Waits for the device. Returns the guard and the duration of the wait, or `None` if `is_halted` becomes true before the device is
    /// free.
    pub(crate) fn acquire(&self, is_halted: impl Fn() -> bool) -> io::Result<Option<(Measuring<'_>, Duration)>> {
        let begin = Instant::now();
        // Threads of this process queue here, so that only one of them polls the file.
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        // The lock is polled, because a blocking `flock` would not notice `is_halted`.
        while !is_halted() {
            if let Some(lock) = FileLock::try_acquire(&self.path)? {
                return Ok(Some((Measuring { _between_processes: lock, _inside: inside }, begin.elapsed())));
            }
            std::thread::sleep((begin.elapsed() / 8).clamp(LEAST_PAUSE, MOST_PAUSE));
        }
        Ok(None)
    }
}

/// Returns the name of a device in the driver's tools: `cpu`, or the index or id of the GPU in `CUDA_VISIBLE_DEVICES`.
pub fn physical_name(device: Device) -> String {
    let Some(index) = device.index() else { return device.to_string() };
    let visible = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    visible_entry(&visible, index).unwrap_or_else(|| index.to_string())
}

fn visible_entry(visible: &str, index: u32) -> Option<String> {
    let entry = visible.split(',').nth(index as usize)?.trim();
    (!entry.is_empty()).then(|| entry.to_owned())
}

/// Division of the CPU cores between measurements and all other work.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Cores on which both sides of a measurement run, in turn.
    pub(crate) timing: CpuSet,
    /// Cores for all other work; `None` where it may run on any core.
    pub(crate) other: Option<CpuSet>,
    /// Cores that do not measure; empty where there are none.
    pub(crate) spare: Vec<u32>,
}

impl Cores {
    /// Divides the cores that this process may use. The last `threads` cores are for measuring. If several evaluations run at once and
    /// there are other cores, no other work runs on the measuring cores, or on cores that share hardware with them.
    pub(crate) fn divide(threads: u32, jobs: usize) -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let mut cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)).collect();
        let for_timing = cores.split_off(cores.len().saturating_sub(threads.max(1) as usize));
        let set = |cores: &[usize]| {
            let mut set = CpuSet::new();
            cores.iter().for_each(|&core| set.set(core));
            set
        };
        // A busy sibling slows a core down by a quarter or more.
        let siblings: Vec<usize> =
            for_timing.iter().flat_map(|&core| core_siblings(core as u32)).map(|core| core as usize).collect();
        if cores.iter().any(|core| !siblings.contains(core)) {
            cores.retain(|core| !siblings.contains(core));
        }
        let other = (jobs > 1 && !cores.is_empty()).then(|| set(&cores));
        let spare = cores.into_iter().filter_map(|core| u32::try_from(core).ok()).collect();
        Ok(Self { timing: set(&for_timing), other, spare })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNUSED: Device = Device::Cuda { index: 4_000_000 };
    const OTHER: Device = Device::Cuda { index: 4_000_002 };

    #[test]
    fn one_holder_at_a_time_even_through_two_locks() {
        let (first, second) = (DeviceLock::new(UNUSED), DeviceLock::new(UNUSED));
        let (held, _) = first.acquire(|| false).unwrap().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| second.acquire(|| false).unwrap().unwrap().1);
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(held);
            assert!(waiting.join().unwrap() >= Duration::from_millis(5));
        });
    }

    #[test]
    fn a_gpu_has_the_name_that_all_processes_of_the_host_give_it() {
        assert_eq!(visible_entry("2,GPU-bb", 1).as_deref(), Some("GPU-bb"));
        assert_eq!(visible_entry("2,GPU-bb", 0).as_deref(), Some("2"));
        assert_eq!((visible_entry("", 0), visible_entry("2", 1)), (None, None));
        assert_eq!(physical_name(Device::Cpu), "cpu");
    }

    #[test]
    fn a_halt_ends_the_wait_for_another_process() {
        let (first, second) = (DeviceLock::new(OTHER), DeviceLock::new(OTHER));
        let _held = first.acquire(|| false).unwrap().unwrap();
        let looks = std::cell::Cell::new(0);
        let halted = || looks.replace(looks.get() + 1) > 2;
        assert!(second.acquire(halted).unwrap().is_none());
    }

    #[test]
    fn cores_for_timing_are_kept_free_only_if_others_remain() {
        let alone = Cores::divide(1, 1).unwrap();
        assert_eq!((alone.timing.count(), alone.other.is_none()), (1, true));
        let shared = Cores::divide(1, 4).unwrap();
        let total = sched_getaffinity(None).unwrap().count();
        let other = shared.other.unwrap_or_default();
        assert!(total == 1 || other.count() > 0);
        assert!((0..CpuSet::MAX_CPU).all(|core| !(other.is_set(core) && shared.timing.is_set(core))));
        assert!(shared.spare.iter().all(|&core| other.is_set(core as usize)));
        assert_eq!(Cores::divide(10_000, 4).unwrap().timing.count(), total);
    }
}
