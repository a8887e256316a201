//! The device of a station: its name, its memory, and cores for it.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::Command,
};

use passnet_eval::{core_siblings, parse_core_list, physical_name};
use passnet_record::Device;
use passnet_run::FileLock;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the memory of a device that is in use, in bytes. `None` for a CPU, or if `nvidia-smi` does not report it.
pub(crate) fn memory_in_use(device: Device) -> Option<u64> {
    device.index()?;
    let name = physical_name(device);
    let query = ["-i", &name, "--query-gpu=memory.used", "--format=csv,noheader,nounits"];
    let output = Command::new("nvidia-smi").args(query).output().ok().filter(|output| output.status.success())?;
    mebibytes(&String::from_utf8_lossy(&output.stdout))
}

fn mebibytes(text: &str) -> Option<u64> {
    text.lines().next()?.trim().parse::<u64>().ok().map(|mib| mib << 20)
}

/// Cores that no other station of this host has claimed. The operating system frees them when the process ends, also after a
/// crash.
#[derive(Debug)]
pub(crate) struct ClaimedCores {
    cores: Vec<u32>,
    _locks: Vec<FileLock>,
}

impl ClaimedCores {
    /// Claims cores, first those near the device, and pins this process to them. Claims fewer if not enough are free.
    pub(crate) fn claim(wanted: usize, device: Device) -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let allowed: Vec<u32> = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)).map(|core| core as u32).collect();
        let near = near_cores(device);
        // Cores of the other socket launch kernels more slowly, but a station with too few cores is worse.
        let (mut ordered, far): (Vec<u32>, Vec<u32>) = allowed.into_iter().partition(|core| near.contains(core));
        ordered.extend(far);
        let ordered = with_siblings(&ordered, core_siblings);
        let claimed = Self::claim_in(&env::temp_dir(), wanted, &ordered)?;
        if !claimed.cores.is_empty() {
            let mut set = CpuSet::new();
            claimed.cores.iter().for_each(|&core| set.set(core as usize));
            sched_setaffinity(None, &set)?;
        }
        Ok(claimed)
    }

    fn claim_in(directory: &Path, wanted: usize, ordered: &[u32]) -> io::Result<Self> {
        let (mut cores, mut locks) = (Vec::new(), Vec::new());
        let user = rustix::process::getuid().as_raw();
        for &core in ordered {
            if cores.len() == wanted {
                break;
            }
            // The name contains the user, because users cannot write to each other's lock files.
            let path: PathBuf = directory.join(format!("passnet-{user}-core-{core}.lock"));
            // A lock and not a file with a process id, because the kernel releases a lock when the process ends for any reason.
            if let Some(lock) = FileLock::try_acquire(&path)? {
                cores.push(core);
                locks.push(lock);
            }
        }
        cores.sort_unstable();
        Ok(Self { cores, _locks: locks })
    }

    pub(crate) fn cores(&self) -> &[u32] {
        &self.cores
    }
}

/// Returns the same cores, each followed by those that share its hardware. On many hosts these have distant numbers: stations that
/// take cores by number would compute on the siblings of each other's cores, which slows both.
fn with_siblings(ordered: &[u32], siblings: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let mut found = Vec::with_capacity(ordered.len());
    for &core in ordered {
        let group = siblings(core).into_iter().filter(|other| *other != core && ordered.contains(other));
        for member in std::iter::once(core).chain(group) {
            if !found.contains(&member) {
                found.push(member);
            }
        }
    }
    found
}

/// Returns the cores of the NUMA node of a GPU; none if the system does not report it.
fn near_cores(device: Device) -> Vec<u32> {
    let of = || {
        device.index()?;
        let name = physical_name(device);
        let query = ["-i", &name, "--query-gpu=pci.bus_id", "--format=csv,noheader"];
        let output = Command::new("nvidia-smi").args(query).output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_lowercase();
        // `nvidia-smi` prints the PCI domain with eight digits, the kernel with four.
        let address = text.get(text.len().checked_sub("0000:00:00.0".len())?..)?;
        std::fs::read_to_string(format!("/sys/bus/pci/devices/{address}/local_cpulist")).ok()
    };
    of().map(|list| parse_core_list(&list)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_memory_are_read() {
        assert_eq!(mebibytes("1234\n"), Some(1234 << 20));
        assert_eq!(mebibytes("[N/A]\n"), None);
    }

    #[test]
    fn cores_that_share_hardware_go_to_one_station() {
        // Numbers as on a host with eight cores of two threads: 8 is the other thread of 0.
        let of_host = |core: u32| vec![core % 8, core % 8 + 8];
        let all: Vec<u32> = (0..16).collect();
        assert_eq!(with_siblings(&all, of_host)[..6], [0, 8, 1, 9, 2, 10]);
        assert_eq!(with_siblings(&all, of_host).len(), 16);
        // Only cores that may be used, and all of them where the system reports no siblings.
        assert_eq!(with_siblings(&[3, 0, 11], of_host), [3, 11, 0]);
        assert_eq!(with_siblings(&[2, 1], |_| Vec::new()), [2, 1]);
    }

    #[test]
    fn two_stations_never_share_a_core() {
        let directory = tempfile::tempdir().unwrap();
        let first = ClaimedCores::claim_in(directory.path(), 2, &[4, 5, 0, 1]).unwrap();
        let second = ClaimedCores::claim_in(directory.path(), 3, &[4, 5, 0, 1]).unwrap();
        assert_eq!((first.cores(), second.cores()), ([4, 5].as_slice(), [0, 1].as_slice()));
        drop(first);
        assert_eq!(ClaimedCores::claim_in(directory.path(), 1, &[4, 5]).unwrap().cores(), [4]);
    }
}
