//! The tree of processes, read from `/proc`.

use std::{collections::BTreeSet, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Returns the process ids of all descendants of `root`, except `keep` and their descendants.
pub(crate) fn descendants(root: i32, keep: &BTreeSet<i32>) -> Vec<i32> {
    let (mut found, mut open) = (Vec::new(), vec![root]);
    while let Some(pid) = open.pop() {
        for child in children(pid) {
            if !keep.contains(&child) && !found.contains(&child) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

/// Returns the living children of a process. Each thread of the process has a list of the children that it started or inherited.
fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<i32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .collect();
    children.into_iter().filter(|&child| is_running(child)).collect()
}

/// Returns the threads of a process and of all its descendants.
pub(crate) fn threads(root: i32) -> Vec<i32> {
    let processes = std::iter::once(root).chain(descendants(root, &BTreeSet::new()));
    processes
        .flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten())
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

/// CPU use of threads since their start, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuUse {
    /// Time on a CPU.
    pub(crate) ran: Duration,
    /// Time in which threads were ready to run while other threads used the CPU.
    pub(crate) waited: Duration,
}

impl CpuUse {
    /// Returns the difference to an earlier use. It is at least zero, although threads that have ended no longer count.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }
}

/// Returns the use of CPUs by a process and its descendants, living threads only; `None` where the system does not
/// report it.
pub(crate) fn cpu_use(root: i32) -> Option<CpuUse> {
    let sum = |sum: CpuUse, one: CpuUse| CpuUse { ran: sum.ran + one.ran, waited: sum.waited + one.waited };
    threads(root).into_iter().filter_map(|thread| use_of(&thread.to_string())).reduce(sum)
}

/// Returns the use of CPUs by the calling thread; `None` where the system does not report it.
pub(crate) fn own_cpu_use() -> Option<CpuUse> {
    use_of("thread-self")
}

/// Reads the CPU use of a thread. `thread` is its folder in `/proc`.
fn use_of(thread: &str) -> Option<CpuUse> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    let mut fields = text.split_whitespace().map(|field| field.parse().ok().map(Duration::from_nanos));
    Some(CpuUse { ran: fields.next()??, waited: fields.next()?? })
}

/// Returns the niceness of a thread.
pub(crate) fn niceness(thread: i32) -> Option<i32> {
    stat_field(thread, 19)?.parse().ok()
}

/// Returns whether a thread of a process or of its descendants is running or ready to run.
pub(crate) fn is_active(root: i32) -> bool {
    threads(root).into_iter().any(|thread| state_of(thread) == Some('R'))
}

/// Returns whether a process exists and is not a zombie.
fn is_running(pid: i32) -> bool {
    state_of(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the state of a thread, such as `R`, running or ready to run.
fn state_of(thread: i32) -> Option<char> {
    stat_field(thread, 3)?.chars().next()
}

/// Returns a field of a thread's status with its number in proc_pid_stat(5), from 3, the state, on.
fn stat_field(thread: i32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    // Field 2, the name of the program, is in parentheses and may contain parentheses and spaces.
    stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3).map(str::to_owned)
}

/// Kills all descendants of `root`, except the processes `keep` and their descendants. Repeats the search until no new process is found:
/// a process may fork just before its signal arrives. It cannot fork while the signal is pending.
pub(crate) fn kill_below(root: i32, keep: &BTreeSet<i32>) {
    let mut killed = BTreeSet::new();
    loop {
        let before = killed.len();
        for pid in descendants(root, keep) {
            if killed.insert(pid) {
                kill(pid);
            }
        }
        if killed.len() == before {
            return;
        }
    }
}

/// Sends SIGKILL to one process. A process that has already ended is not an error.
pub(crate) fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // This fails only if the process has ended.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Sends SIGKILL to the process group that a process leads.
pub(crate) fn kill_group(leader: i32) {
    if let Some(pid) = Pid::from_raw(leader) {
        // This fails only if all processes of the group have ended.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_calling_thread_has_a_use_of_its_own() {
        let Some(before) = own_cpu_use() else {
            println!("skipped: the system does not report the CPU time of threads");
            return;
        };
        while own_cpu_use().is_some_and(|now| now.since(before).ran.is_zero()) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_process_is_active_if_one_below_it_is() {
        let start = |script: &str| Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let (mut waits, mut works) = (start("read line"), start("sh -c 'while :; do :; done' & read line; kill $!"));
        let is_active = |of: &std::process::Child| is_active(of.id() as i32);
        while !is_active(&works) || is_active(&waits) {
            std::thread::yield_now();
        }
        for child in [&mut waits, &mut works] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }

    #[test]
    fn what_is_below_a_process_is_found_and_killed() {
        let mut child = Command::new("sh")
            .args(["-c", "setsid sh -c 'sleep 60 & sleep 60' & wait"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let root = child.id() as i32;
        while descendants(root, &BTreeSet::new()).len() < 3 {
            std::thread::yield_now();
        }
        let kept: BTreeSet<i32> = descendants(root, &BTreeSet::new()).into_iter().take(1).collect();
        assert!(descendants(root, &kept).is_empty());
        kill_below(root, &BTreeSet::new());
        child.wait().unwrap();
        while !descendants(root, &BTreeSet::new()).is_empty() {
            std::thread::yield_now();
        }
    }
}
