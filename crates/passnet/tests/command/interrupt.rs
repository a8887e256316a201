//! Ctrl-C while a run compiles and measures.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::command;

/// Far above the three seconds that it should take: this machine may be busy.
const BOUND: Duration = Duration::from_secs(30);

fn start(home: &Path) -> Child {
    let run = home.join("run");
    let flags = ["--tasks", "2", "--graphs-per-task", "1", "--trials", "10", "--jobs", "4", "--out"];
    let mut bench = command(&["bench", "run", "suites/demo", "--author", "inductor"]);
    // A separate cache, so that everything is compiled.
    bench.args(flags).arg(run).env("PASSNET_CACHE", home.join("cache"));
    // Like a terminal, which sends the signal to all processes of the group.
    bench.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> =
        lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    children.iter().copied().chain(children.iter().flat_map(|&child| descendants(child))).collect()
}

pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_run_that_is_interrupted_ends_and_can_be_continued() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut child = start(home.path());
    // Waits until workers run below the fork server. On a busy machine, the workers of all jobs may never run at the same time.
    while descendants(child.id()).len() < 4 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
    let below = descendants(child.id());
    interrupt(&child);
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begin.elapsed() < BOUND, "still running");
        std::thread::sleep(Duration::from_millis(20));
    };
    println!("ended after {:?}", begin.elapsed());
    assert_eq!(status.code(), Some(1));
    while below.iter().any(|&pid| is_running(pid)) {
        assert!(begin.elapsed() < BOUND, "processes are left: {below:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = fs::read_to_string(home.path().join("run/run.jsonl")).unwrap();
    let is_sound = |line: &str| {
        [r#""event":"started""#, r#""status":"correct""#, r#""status":"unstable""#]
            .iter()
            .any(|part| line.contains(part))
    };
    assert!(log.lines().all(is_sound), "{log}");

    let output = start(home.path()).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("run complete"), "{text}");
}

/// Starts a command with its temporary files in `home`.
fn start_in(home: &Path, arguments: &[&str]) -> Child {
    let mut started = command(arguments);
    started.env("TMPDIR", home).process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn start_eval(home: &Path) -> Child {
    start_in(home, &["eval", "suites/demo/gpt2-gelu-tanh", "--author", "fuse", "--trials", "100000"])
}

pub(crate) fn interrupt(child: &Child) {
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
}

/// Waits until the fork server starts.
fn wait_for_fork_server(child: &mut Child) {
    let is_fork_server = |&pid: &u32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains("passnet._worker.fork_server")
    };
    while !descendants(child.id()).iter().any(is_fork_server) {
        assert!(child.try_wait().unwrap().is_none(), "the command ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until workers run below the fork server.
fn wait_for_workers(child: &mut Child) {
    while descendants(child.id()).len() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "the command ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Checks that an interrupted command exits with 1, says so once, prints no error, and leaves neither a process nor a folder.
fn check_end(child: Child, below: &[u32], home: &Path, said: &str) {
    let begin = Instant::now();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!((text.matches("interrupted").count(), text.matches(said).count()), (1, 1), "{text}");
    assert!(!text.contains("error"), "{text}");
    assert_eq!(left(home), 0);
    while below.iter().any(|&pid| is_running(pid)) {
        assert!(begin.elapsed() < BOUND, "processes are left: {below:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Interrupts a command once `wait` returns, and checks how it ends.
fn check(home: &Path, mut child: Child, wait: fn(&mut Child), said: &str) {
    wait(&mut child);
    let below = descendants(child.id());
    interrupt(&child);
    check_end(child, &below, home, said);
}

#[test]
fn an_evaluation_that_is_interrupted_says_so_and_leaves_no_folder() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    for wait in [wait_for_fork_server, wait_for_workers] {
        let home = tempfile::tempdir().unwrap();
        check(home.path(), start_eval(home.path()), wait, "interrupted");
    }
}

#[test]
fn a_second_interrupt_of_an_evaluation_leaves_no_folder() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut child = start_eval(home.path());
    // The fork server takes seconds to start, so the command has not ended when the second interrupt comes.
    wait_for_fork_server(&mut child);
    let below = descendants(child.id());
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(400));
    interrupt(&child);
    check_end(child, &below, home.path(), "interrupted");
}

#[test]
fn a_bisection_that_is_interrupted_says_so_and_leaves_no_folder() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    for wait in [wait_for_fork_server, wait_for_workers] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("failing");
        let bisect = ["bisect", "suites/demo/gpt2-gelu-tanh", "--author", "inductor", "--out", out.to_str().unwrap()];
        check(home.path(), start_in(home.path(), &bisect), wait, "interrupted");
        assert!(!out.exists());
    }
}

#[test]
fn a_run_that_is_interrupted_while_the_fork_server_starts_says_how_to_continue() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    check(home.path(), start(home.path()), wait_for_fork_server, "run the same command again to continue");
}

/// Number of temporary folders of commands. Those of evaluations (`passnet-scratch-`) are deleted in the background, or by the next command.
fn left(home: &Path) -> usize {
    let names = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| ["passnet-eval-", "passnet-bisect-", ".tmp"].iter().any(|start| name.starts_with(start)))
        .count()
}

#[test]
fn an_evaluation_that_ends_leaves_no_folder() {
    let home = tempfile::tempdir().unwrap();
    // It fails, so it needs no PyTorch.
    let mut eval = command(&["eval", "suites/demo/gpt2-gelu-tanh", "--author", "eager"]);
    eval.env("TMPDIR", home.path()).env("PASSNET_PYTHON", "/nonexistent/python");
    assert_eq!(eval.output().unwrap().status.code(), Some(3));
    assert_eq!(left(home.path()), 0);
}
