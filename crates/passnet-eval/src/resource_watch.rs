//! Limits that the kernel does not enforce: memory of a whole tree of processes, their number, and the length of a worker's
//! output.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use crate::tree;

/// Time between two checks. One check takes a fraction of a millisecond.
const PERIOD: Duration = Duration::from_millis(200);
/// Largest number of processes of one worker. Compilers need a handful.
const MOST_PROCESSES: usize = 128;
/// Largest size of a worker's output, in bytes.
const MOST_LOG_BYTES: u64 = 64 << 20;

/// Limits of a worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerLimits {
    /// Bytes of memory in addition to the memory of the fork server; 0 for no limit.
    pub(crate) memory_bytes: u64,
    /// File with the output of the worker.
    pub(crate) log: PathBuf,
}

/// Limit that a worker exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Memory {
        /// Bytes that the worker and its processes had.
        used: u64,
        /// Largest allowed number of bytes.
        limit: u64,
    },
    Processes(usize),
    /// Bytes of output.
    Log(u64),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { used, limit } => {
                write!(f, "it took {} MiB of memory, the limit is {} MiB", used >> 20, limit >> 20)
            }
            Self::Processes(count) => write!(f, "it had {count} processes, the limit is {MOST_PROCESSES}"),
            Self::Log(bytes) => {
                write!(f, "it printed {} MiB, the limit is {} MiB", bytes >> 20, MOST_LOG_BYTES >> 20)
            }
        }
    }
}

#[derive(Debug, Default)]
struct WatchState {
    watched: BTreeMap<u64, (i32, WorkerLimits)>,
    exceeded: BTreeMap<u64, Excess>,
    stop: bool,
}

#[derive(Debug, Default)]
struct WatchShared {
    state: Mutex<WatchState>,
    changed: Condvar,
}

impl WatchShared {
    fn state(&self) -> MutexGuard<'_, WatchState> {
        // Lists are changed entry by entry; a panic elsewhere leaves none half-written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the resources of workers periodically, and kills those that exceed a limit.
#[derive(Debug)]
pub(crate) struct ResourceWatch {
    shared: Arc<WatchShared>,
    thread: Option<JoinHandle<()>>,
}

impl ResourceWatch {
    /// Starts a watch for workers of the fork server with the given process id. No worker is watched yet.
    pub(crate) fn new(server: i32) -> Self {
        let shared = Arc::new(WatchShared::default());
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || watch(&shared, server)
        });
        // If the thread cannot start, the limits of the kernel still apply.
        Self { shared, thread: thread.ok() }
    }

    /// Watches a worker from now on.
    pub(crate) fn begin(&self, id: u64, pid: i32, limits: WorkerLimits) {
        self.shared.state().watched.insert(id, (pid, limits));
        self.shared.changed.notify_all();
    }

    /// Returns the limit that a worker exceeded, if it was killed for this.
    pub(crate) fn excess(&self, id: u64) -> Option<Excess> {
        self.shared.state().exceeded.get(&id).copied()
    }

    /// Stops watching a worker.
    pub(crate) fn end(&self, id: u64) {
        let mut state = self.shared.state();
        state.watched.remove(&id);
        state.exceeded.remove(&id);
    }
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic.
            let _ = thread.join();
        }
    }
}

fn watch(shared: &WatchShared, server: i32) {
    let inherited = resident_bytes(server);
    let mut state = shared.state();
    while !state.stop {
        state = match state.watched.is_empty() {
            true => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            false => shared.changed.wait_timeout(state, PERIOD).unwrap_or_else(PoisonError::into_inner).0,
        };
        let watched = state.watched.clone();
        drop(state);
        let found: Vec<_> = watched
            .iter()
            .filter(|(id, _)| !shared.state().exceeded.contains_key(id))
            .filter_map(|(&id, (pid, limits))| Some((id, *pid, look(*pid, limits, inherited)?)))
            .collect();
        state = shared.state();
        for (id, pid, excess) in found {
            // If the worker has ended meanwhile, its process id may already belong to another process.
            if state.watched.contains_key(&id) && parent(pid) == Some(server) {
                state.exceeded.insert(id, excess);
                tree::kill(pid);
            }
        }
    }
}

/// Returns the limit that a worker exceeds, if any. `inherited` is the number of bytes that the worker shares with the fork server.
fn look(pid: i32, limits: &WorkerLimits, inherited: u64) -> Option<Excess> {
    let log = fs::metadata(&limits.log).map_or(0, |data| data.len());
    if log > MOST_LOG_BYTES {
        return Some(Excess::Log(log));
    }
    let below = tree::descendants(pid, &BTreeSet::new());
    if below.len() >= MOST_PROCESSES {
        return Some(Excess::Processes(below.len() + 1));
    }
    if limits.memory_bytes == 0 {
        return None;
    }
    let own = resident_bytes(pid).saturating_sub(inherited);
    let used = own + below.into_iter().map(share_of_memory).sum::<u64>();
    (used > limits.memory_bytes).then_some(Excess::Memory { used, limit: limits.memory_bytes })
}

/// Returns the resident memory of a process in bytes; 0 if the process has ended.
fn resident_bytes(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kibibytes(&status, "VmRSS:")
}

/// Returns the bytes of a process in memory. Shared memory is divided by the number of processes that share it.
fn share_of_memory(pid: i32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    kibibytes(&rollup, "Pss:")
}

/// Returns the value of a line such as `VmRSS:   1234 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok());
    value.unwrap_or(0) << 10
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn limits(memory_bytes: u64) -> WorkerLimits {
        WorkerLimits { memory_bytes, log: PathBuf::new() }
    }

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        assert_eq!(kibibytes("VmPeak:\t 9 kB\nVmRSS:\t    12 kB\n", "VmRSS:"), 12 << 10);
        assert_eq!(kibibytes("", "VmRSS:"), 0);
        let own = std::process::id() as i32;
        assert!(resident_bytes(own) > 1 << 20 && share_of_memory(own) > 1 << 20);
        assert!(resident_bytes(i32::MAX) == 0 && parent(i32::MAX).is_none());
    }

    #[test]
    fn a_worker_that_takes_too_much_is_killed_and_others_are_not() {
        let sleep = || Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let (mut modest, mut printing) = (sleep(), sleep());
        let log = tempfile::NamedTempFile::new().unwrap();
        log.as_file().set_len(MOST_LOG_BYTES + 1).unwrap();
        // This process stands for the fork server.
        let watch = ResourceWatch::new(std::process::id() as i32);
        watch.begin(1, modest.id() as i32, limits(1 << 40));
        watch.begin(2, printing.id() as i32, WorkerLimits { memory_bytes: 0, log: log.path().to_owned() });
        assert!(!printing.wait().unwrap().success());
        assert_eq!(watch.excess(2), Some(Excess::Log(MOST_LOG_BYTES + 1)));
        assert_eq!((watch.excess(1), modest.try_wait().unwrap()), (None, None));
        modest.kill().unwrap();
        modest.wait().unwrap();
    }

    #[test]
    fn memory_of_all_processes_counts() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & wait"]).stdin(Stdio::null()).spawn().unwrap();
        let pid = shell.id() as i32;
        while tree::descendants(pid, &BTreeSet::new()).is_empty() {
            std::thread::yield_now();
        }
        assert!(matches!(look(pid, &limits(1), 0), Some(Excess::Memory { used, limit: 1 }) if used > 1));
        // The shell's memory counts as inherited here, but its child is counted.
        assert!(matches!(look(pid, &limits(1), u64::MAX), Some(Excess::Memory { used, .. }) if used > 1));
        assert_eq!(look(pid, &limits(1 << 40), 0), None);
        tree::kill_below(pid, &BTreeSet::new());
        shell.wait().unwrap();
    }
}
