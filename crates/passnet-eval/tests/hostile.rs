//! Workers that lie, hang, flood and die: each gets the right verdict, and no process of it survives.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;

use std::{fs, path::Path, time::Duration};

use common::{fake_referee, graph};
use passnet_eval::{Candidate, Referee};
use passnet_record::{Device, PassDirectory, Remark, Status, Verdict};
use passnet_run::GraphSample;

const COPY: &str = r#"{"version": 1, "inputs": ["x"], "nodes": [{"name": "clone", "op": "call_function",
    "target": "torch.clone", "args": [{"ref": 0}], "kwargs": []}], "outputs": [{"ref": 1}]}"#;

fn sample() -> GraphSample {
    graph(COPY, &[("x", &[4, 4])])
}

fn passes(behaviour: &str) -> Candidate {
    Candidate::Passes(PassDirectory::new([("behaviour", behaviour)]).unwrap())
}

fn judge(referee: &Referee, behaviour: &str) -> Verdict {
    let candidate = passes(behaviour);
    referee.evaluate(&sample(), &candidate).unwrap().verdict
}

#[test]
fn every_misbehaviour_has_its_status() {
    let Some(referee) = fake_referee(|settings| settings.timeout_s = 1.0) else { return };
    for (behaviour, status, code) in [
        ("hang_in_load", Status::Timeout, "wall_limit"),
        ("hang_in_call", Status::Timeout, "wall_limit"),
        ("hang_in_time", Status::Timeout, "wall_limit"),
        ("trickle", Status::Timeout, "wall_limit"),
        ("no_match", Status::NoMatch, "argument_mismatch"),
        ("die", Status::RuntimeError, "worker_died"),
        ("leave", Status::RuntimeError, "worker_died"),
        ("rubbish", Status::Integrity, "protocol_violation"),
        ("endless", Status::Integrity, "protocol_violation"),
        ("flood", Status::Integrity, "protocol_violation"),
        ("short_block", Status::Integrity, "protocol_violation"),
        ("huge", Status::Integrity, "protocol_violation"),
        ("outside", Status::Integrity, "protocol_violation"),
        ("pipe", Status::Integrity, "protocol_violation"),
        ("fewer_trials", Status::Integrity, "protocol_violation"),
        ("keeps_a_call_that_it_did_not_make", Status::Integrity, "protocol_violation"),
        ("inflates", Status::Integrity, "protocol_violation"),
        ("ends_early", Status::Integrity, "protocol_violation"),
        ("wrong_when_timed", Status::Integrity, "timed_output_differs"),
        ("computes_when_fetched", Status::Integrity, "timed_output_differs"),
        ("violation", Status::Integrity, "forbidden_operator"),
        ("mutates", Status::Integrity, "input_mutated"),
        ("wrong", Status::Accuracy, "output_differs"),
        ("inaccurate_when_timed", Status::Accuracy, "output_differs"),
        ("other_strides", Status::LayoutDiffers, "layout_differs"),
        ("fewer_strides", Status::Integrity, "protocol_violation"),
        ("stale", Status::Accuracy, "output_differs"),
        ("other_dtype", Status::TypeMismatch, "dtype_differs"),
        ("other_shape", Status::ShapeMismatch, "shape_differs"),
    ] {
        let verdict = judge(&referee, behaviour);
        let reason = verdict.reason.unwrap();
        assert_eq!((verdict.status, reason.code.as_str()), (status, code), "{behaviour}: {}", reason.message);
    }
    let died = judge(&referee, "die").reason.unwrap().message;
    assert!(died.contains("segmentation fault") && died.contains("final output"), "{died}");
    let verdict = judge(&referee, "honest");
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
    assert!(verdict.outputs[0].equal && !verdict.timings.is_empty());
    assert!(verdict.outputs[0].float64.is_none());
    assert!(verdict.evidence.notes.contains(&Remark::NoFloat64 { reason: "no float64 here".to_owned() }));
}

#[test]
fn time_between_trials_and_the_reply_is_found_on_a_busy_machine() {
    // Each block hides 0.2 s, in up to eight blocks: more than the waits for a CPU next to other tests, which are milliseconds.
    let Some(referee) = fake_referee(|settings| settings.timeout_s = 60.0) else { return };
    for behaviour in ["hides_time", "hides_time_before", "hides_time_after"] {
        let verdict = judge(&referee, behaviour);
        let reason = verdict.reason.unwrap();
        let found = (verdict.status, reason.code.as_str());
        assert_eq!(found, (Status::Integrity, "clock_disagrees"), "{behaviour}: {}", reason.message);
    }
}

#[test]
fn calls_before_the_signal_of_the_referee_are_found() {
    let Some(referee) = fake_referee(|_| ()) else { return };
    // The referee's clock starts after the calls have begun, at least in some of the blocks, so their total does not fit its time.
    let verdict = judge(&referee, "does_not_wait");
    let reason = verdict.reason.unwrap();
    assert_eq!((verdict.status, reason.code.as_str()), (Status::Integrity, "protocol_violation"), "{}", reason.message);
}

#[test]
fn checks_do_not_wait_for_measurements() {
    // A separate device, so that no other test waits for it.
    let Some(referee) = fake_referee(|settings| settings.device = Device::Cuda { index: 4_000_001 }) else { return };
    let name = format!("passnet-{}-cuda-4000001.lock", rustix::process::getuid().as_raw());
    // The referee creates the file only when it measures.
    let path = std::env::temp_dir().join(name);
    let lock = fs::File::options().create(true).truncate(false).write(true).open(path).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let check = |behaviour: &str| referee.check(&sample(), &passes(behaviour)).unwrap();
    let right = check("honest");
    assert_eq!((right.status, right.timings.len(), right.tolerance), (Status::Correct, 0, Some(-10)));
    assert_eq!(check("wrong").status, Status::Accuracy);
    assert_ne!(right.key, referee.key(&sample(), &passes("honest")), "what was not timed is not taken for a verdict");
}

#[test]
fn a_daemon_does_not_outlive_its_verdict() {
    let pids = tempfile::tempdir().unwrap();
    let pids = pids.path().join("pids");
    let Some(referee) = fake_referee(|settings| settings.check_rounds = 1) else { return };
    let verdict = judge(&referee, &format!("daemon:{}", pids.display()));
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
    let pid = fs::read_to_string(&pids).unwrap();
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        pid.lines().all(|pid| !is_running(pid))
    });
    assert!(gone, "{pid}");
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_dead_fork_server_is_started_again() {
    let Some(referee) = fake_referee(|_| ()) else { return };
    let verdict = judge(&referee, "kill_the_fork_server");
    assert_eq!((verdict.status, verdict.reason.unwrap().code.as_str()), (Status::RuntimeError, "fork_server_died"));
    let verdict = judge(&referee, "honest");
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
}
