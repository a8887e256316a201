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

/// The right to measure on one device, one holder at a time: between the threads of this process and between the
/// processes of this user.
#[derive(Debug)]
pub(crate) struct DeviceLock {
    inside: Mutex<()>,
    path: PathBuf,
}

/// Held while measuring. The fields are released in their order: other processes first.
pub(crate) struct Measuring<'a> {
    _between_processes: FileLock,
    _inside: MutexGuard<'a, ()>,
}

impl DeviceLock {
    /// The lock of a device.
    pub(crate) fn new(device: Device) -> Self {
        let name = match device.index() {
            // Processes that see one GPU each all call it `cuda:0`.
            Some(_) => format!("{}-{}", device.kind(), physical_name(device)),
            None => device.to_string(),
        };
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name = format!("passnet-{}-{name}.lock", rustix::process::getuid().as_raw());
        Self { inside: Mutex::new(()), path: std::env::temp_dir().join(name) }
    }

    /// Waits for the device; returns how long that took.
    pub(crate) fn acquire(&self) -> io::Result<(Measuring<'_>, Duration)> {
        let begin = Instant::now();
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let measuring = Measuring { _between_processes: FileLock::acquire(&self.path)?, _inside: inside };
        Ok((measuring, begin.elapsed()))
    }
}

/// Returns the name of a device as the driver's tools know it: `cpu`, or the entry of `CUDA_VISIBLE_DEVICES`, an index or the id
/// of a GPU.
pub fn physical_name(device: Device) -> String {
    let Some(index) = device.index() else { return device.to_string() };
    let visible = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    visible_entry(&visible, index).unwrap_or_else(|| index.to_string())
}

fn visible_entry(visible: &str, index: u32) -> Option<String> {
    let entry = visible.split(',').nth(index as usize)?.trim();
    (!entry.is_empty()).then(|| entry.to_owned())
}

/// Division of the cores of the CPU.
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

    const UNUSED: Device = Device::Cuda { index: 4_000_000 };

    #[test]
    fn one_holder_at_a_time_even_through_two_locks() {
        let (first, second) = (DeviceLock::new(UNUSED), DeviceLock::new(UNUSED));
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
    fn a_gpu_has_the_name_that_all_processes_of_the_host_give_it() {
        assert_eq!(visible_entry("2,GPU-bb", 1).as_deref(), Some("GPU-bb"));
        assert_eq!(visible_entry("2,GPU-bb", 0).as_deref(), Some("2"));
        assert_eq!((visible_entry("", 0), visible_entry("2", 1)), (None, None));
        assert_eq!(physical_name(Device::Cpu), "cpu");
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
