//! Attempts against a scripted server over real HTTP, with workers that need no torch.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;
mod server;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use common::{client, evaluator, options, run_all, suite};
use passnet_agent::{Journal, Update, VerdictCache, run};
use passnet_record::{
    Depth, Device, Status,
    agent::{AttemptExit, JournalEvent, Trajectory},
};
use passnet_run::{Selection, Suite};
use serde_json::{Value, json};
use server::{Answer, Server, check, create, evaluate, says, turn};

/// No match, then wrong, then right.
fn story(request: &Value) -> Answer {
    match turn(request) {
        0 => says("", &[("graph_info", json!({})), create("behaviour", "no_match")]),
        1 | 3 => says("", &[evaluate()]),
        2 => says(
            "",
            &[(
                "file_editor",
                json!({"command": "str_replace", "path": "/passes/behaviour", "old_str": "no_match", "new_str": "wrong"}),
            )],
        ),
        4 => says("", &[create("behaviour", "honest"), evaluate()]),
        _ => says("done", &[]),
    }
}

/// Returns the statuses of the evaluations. Right results are `Correct`, also if a busy machine made their times unstable.
fn statuses(trajectory: &Trajectory) -> Vec<Status> {
    let judged = trajectory.evaluations().map(|(_, evaluation)| evaluation.graphs[0].status);
    judged.map(|status| if status == Status::Unstable { Status::Correct } else { status }).collect()
}

fn depths(trajectory: &Trajectory) -> Vec<Depth> {
    trajectory.evaluations().filter_map(|(_, evaluation)| evaluation.graphs[0].depth).collect()
}

fn journal(directory: &std::path::Path) -> std::path::PathBuf {
    let attempts = std::fs::read_dir(directory.join("attempts")).unwrap();
    attempts.map(|entry| entry.unwrap().path()).next().unwrap()
}

#[test]
fn six_tasks_from_no_match_to_correct_interrupted_and_resumed() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let server = Server::start(|_, request| story(request));
    let (suite, folder) = (suite(6), tempfile::tempdir().unwrap());
    let (events, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let after_some = |update: Update<'_>| {
        if matches!(update, Update::Event { .. }) && events.fetch_add(1, Ordering::SeqCst) == 20 {
            stop.store(true, Ordering::SeqCst);
        }
    };
    let first = run(&evaluator, &suite, &client(&server.url), &options(), folder.path(), &stop, &after_some).unwrap();
    assert!(!first.complete);
    let second = run_all(&evaluator, &suite, &server.url, &options(), folder.path());
    assert!(second.complete, "{:?}", second.suspended);
    for trajectory in &second.trajectories {
        assert_eq!(statuses(trajectory), [Status::NoMatch, Status::Accuracy, Status::Correct]);
        assert_eq!(depths(trajectory), [Depth::Match, Depth::Check, Depth::Timing]);
        assert_eq!((trajectory.exit, trajectory.steps.len()), (AttemptExit::Done, 6));
        assert_eq!(trajectory.passes["behaviour"], "honest");
        assert_eq!((trajectory.usage.input, trajectory.usage.cached), (600, 360));
        assert!(trajectory.evaluation.as_ref().is_some_and(|last| !last.graphs[0].cached), "measured again");
    }
    let requests = server.seen.lock().unwrap().len();
    let third = run_all(&evaluator, &suite, &server.url, &options(), folder.path());
    assert_eq!((third.trajectories.len(), server.seen.lock().unwrap().len()), (6, requests), "nothing is asked twice");
    let error = run(
        &evaluator,
        &suite,
        &client(&server.url),
        &passnet_agent::RunOptions { seed: 8, ..options() },
        folder.path(),
        &AtomicBool::new(false),
        &|_| (),
    );
    assert!(error.unwrap_err().to_string().contains("seed"));
}

/// Status and depth of each check without timing.
fn checked(trajectory: &Trajectory) -> Vec<(Status, Option<Depth>)> {
    let tools = trajectory.steps.iter().flat_map(|step| &step.tools);
    let checks = tools.filter_map(|tool| tool.outcome.check.as_ref());
    checks.map(|check| (check.graphs[0].status, check.graphs[0].depth)).collect()
}

#[test]
fn checks_without_timing_are_worth_nothing_and_name_cheats() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let server = Server::start(|_, request| match turn(request) {
        0 => says("", &[create("behaviour", "wrong"), check()]),
        1 => says("", &[create("behaviour", "violation"), check()]),
        2 => says("", &[create("behaviour", "honest"), check(), ("pass_evaluator", json!({"stage": "tuesday"}))]),
        _ => says("done", &[]),
    });
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let trajectory = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
    let at_check = Some(Depth::Check);
    let expected = [(Status::Accuracy, at_check), (Status::Integrity, at_check), (Status::Correct, at_check)];
    assert_eq!(checked(&trajectory), expected);
    let texts: Vec<&str> = trajectory.messages.iter().map(passnet_record::agent::Message::content).collect();
    assert!(texts.iter().any(|text| text.contains("1 of 1 graph correct, nothing was timed, so there is no score")));
    assert!(texts.iter().any(|text| text.contains("there is no stage `tuesday`; the stages are lint, check, all")));
    assert_eq!(trajectory.findings, ["forbidden_operator"]);
    // Results that are right and were not timed are nothing to hand in.
    assert_eq!((trajectory.exit, trajectory.evaluations().count()), (AttemptExit::Useless, 0));
    assert!(trajectory.passes.is_empty() && trajectory.evaluation.is_none());
    assert_eq!((trajectory.score, trajectory.reward.value), (1.0, 0.0));
}

#[test]
fn a_profile_is_shown_and_is_no_verdict() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let server = Server::start(|_, request| match turn(request) {
        0 => says("", &[("profile", json!({})), ("profile", json!({"graph": "tuesday"}))]),
        1 => says("", &[create("behaviour", "honest"), ("profile", json!({}))]),
        2 => says("", &[create("behaviour", "no_match"), ("profile", json!({}))]),
        _ => says("done", &[]),
    });
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let trajectory = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
    let calls = trajectory.steps.iter().flat_map(|step| &step.tools).filter(|tool| tool.name == "profile");
    assert_eq!(calls.map(|tool| tool.outcome.ok).collect::<Vec<_>>(), [true, false, true, false]);
    let texts: Vec<&str> = trajectory.messages.iter().map(passnet_record::agent::Message::content).collect();
    let texts = texts.into_iter().filter(|text| text.contains("nor a verdict")).collect::<Vec<_>>();
    assert!(texts[0].contains("eager: 5.0 us") && !texts[0].contains("passes:"), "{}", texts[0]);
    assert!(texts[1].contains("passes: 5.0 us") && texts[1].contains("3.0 us     2 x  honest"), "{}", texts[1]);
    assert!(texts[2].contains("passes: no profile (argument_mismatch)"), "{}", texts[2]);
    assert!(trajectory.evaluations().count() == 0 && trajectory.evaluation.is_none());
}

#[test]
fn passes_that_are_wrong_on_the_cpu_do_not_occupy_another_device() {
    let Some(evaluator) = common::evaluator_on(Device::Cuda { index: 0 }, VerdictCache::default()) else { return };
    let evaluator = evaluator.with_cpu_precheck().unwrap();
    let server = Server::start(|_, request| match turn(request) {
        0 => says("", &[create("behaviour", "wrong"), check(), evaluate()]),
        1 => says("", &[("pass_evaluator", json!({"skip_cpu": true}))]),
        // The CPU cannot decide: a worker may die for many reasons.
        2 => says("", &[create("behaviour", "die"), evaluate()]),
        3 => says("", &[create("behaviour", "honest"), check(), evaluate()]),
        _ => says("done", &[]),
    });
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let trajectory = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
    let (cpu, check) = (Some(Depth::Cpu), Some(Depth::Check));
    assert_eq!(checked(&trajectory), [(Status::Accuracy, cpu), (Status::Correct, check)]);
    assert_eq!(statuses(&trajectory), [Status::Accuracy, Status::Accuracy, Status::RuntimeError, Status::Correct]);
    assert_eq!(depths(&trajectory), [Depth::Cpu, Depth::Check, Depth::Check, Depth::Timing]);
    let notes = trajectory.messages.iter().filter(|message| message.content().contains("the device was not used"));
    assert_eq!(notes.count(), 2);
}

#[test]
fn an_attempt_cut_off_anywhere_becomes_the_same_conversation() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let server = Server::start(|_, request| story(request));
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let whole = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
    let talk = |trajectory: &Trajectory| -> Vec<String> {
        // Times differ from one measurement to the next; words do not.
        let words = |text: &str| text.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
        trajectory.messages.iter().map(|message| words(message.content())).collect()
    };
    let place = journal(folder.path());
    let bytes = std::fs::read(place.join("journal.jsonl")).unwrap();
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(index, _)| index + 1).collect();
    // Each kind of event is among these; a whole attempt for every one of them would take long.
    for &end in ends.iter().step_by(3) {
        std::fs::write(place.join("journal.jsonl"), &bytes[..end - 2]).unwrap();
        let again = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
        assert_eq!(talk(&again), talk(&whole), "cut off before byte {end}");
        assert_eq!(again.passes, whole.passes);
    }
}

#[test]
fn a_hostile_model_gets_observations_and_the_run_continues() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let server = Server::start(|_, request| match turn(request) {
        0 => says("", &[("rm", json!({"path": "/"})), create("/etc/passwd", "x"), create("../../x", "x")]),
        1 => says("", &[create("a\u{0}b", "x"), create("a.py", "\u{0}ELF"), ("file_editor", json!("not an object"))]),
        2 => says(
            "",
            &[
                create("big.py", &"x".repeat(10 << 20)),
                ("file_editor", json!({"command": "view", "path": "/proc/self/environ"})),
            ],
        ),
        3 => says(&"x".repeat(10 << 20), &[("graph_info", json!({"graph": "../../other"}))]),
        4 => says("", &vec![("file_editor", json!({"command": "view"})); 100]),
        5 => says("", &[("file_editor", json!({"command": "insert", "path": "a.py", "insert_line": -5}))]),
        6 => says("", &[evaluate()]),
        _ => says("", &[]),
    });
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let outcome = run_all(&evaluator, &suite, &server.url, &options(), folder.path());
    let trajectory = &outcome.trajectories[0];
    assert_eq!(trajectory.exit, AttemptExit::Done);
    let tools: Vec<_> = trajectory.steps.iter().flat_map(|step| &step.tools).collect();
    let failed = tools.iter().filter(|tool| !tool.outcome.ok).count();
    assert_eq!((tools.len(), failed), (3 + 3 + 2 + 1 + 16 + 1 + 1, 3 + 3 + 2 + 1 + 1 + 1));
    assert!(trajectory.passes.is_empty() && trajectory.score == 1.0 && trajectory.reward.value == 0.0);
    let size = serde_json::to_vec(trajectory).unwrap().len();
    assert!(size < 2 << 20, "{size}");
    assert!(folder.path().read_dir().unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().contains('x')));
}

#[test]
fn what_a_server_lies_about_is_bounded_and_nothing_recorded_is_lost() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    // Token counts that overflow, twice; calls that share an id; an end that is not one; in between, a stall and half an
    // answer, each of which is requested again.
    let server = Server::start(|count, request| {
        let usage = json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e300, "cost": -1.0});
        let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "function": {"name": name, "arguments": arguments}});
        let calls = match (count, turn(request)) {
            (1, _) => return Answer::Stall(std::time::Duration::from_millis(100)),
            (3, _) => {
                return Answer::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n{\"choices\": [{\"mess".to_vec());
            }
            (_, 0) => {
                let file = json!({"command": "create", "path": "behaviour", "file_text": "honest"});
                json!([call("same", "file_editor", file), call("same", "pass_evaluator", json!({}))])
            }
            (_, 1) => json!([call("", "graph_info", json!("{\"graph\": 7}")), call("", "nothing", json!(null))]),
            _ => json!(null),
        };
        let message = json!({"content": "I am done, and there are no calls.", "tool_calls": calls});
        Answer::Json(200, json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}))
    });
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let outcome = run_all(&evaluator, &suite, &server.url, &options(), folder.path());
    let trajectory = &outcome.trajectories[0];
    assert_eq!((trajectory.exit, statuses(trajectory)), (AttemptExit::Done, vec![Status::Correct]));
    let retries: u32 = trajectory.steps.iter().map(|step| step.retries).sum();
    assert_eq!((trajectory.steps.len(), retries), (3, 2));
    let ids =
        trajectory.steps.iter().map(|step| step.tools.iter().map(|tool| tool.call_id.as_str()).collect::<Vec<_>>());
    assert!(ids.clone().all(|ids| ids.len() < 2 || ids[0] != ids[1]), "{:?}", ids.collect::<Vec<_>>());
    assert!(trajectory.usage.tokens() > 1 << 40 && trajectory.usage.cost_usd.is_none(), "{:?}", trajectory.usage);
    let raw = journal(folder.path()).join("raw");
    assert_eq!(std::fs::read_dir(raw).unwrap().count(), 3, "every answer is kept as it came");
}

#[test]
fn servers_that_fail_suspend_an_attempt_and_a_wrong_key_ends_the_run() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let broken = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&broken);
    let server = Server::start(move |_, request| {
        let one = server::is_task(request, "resnet-conv-bn-relu") && turn(request) == 2;
        if one && switch.load(Ordering::SeqCst) { Answer::Text(500, "", "x".to_owned()) } else { story(request) }
    });
    let (suite, folder) = (suite(2), tempfile::tempdir().unwrap());
    let first = run_all(&evaluator, &suite, &server.url, &options(), folder.path());
    assert_eq!((first.trajectories.len(), first.suspended.len(), first.complete), (1, 1, false));
    broken.store(false, Ordering::SeqCst);
    assert!(run_all(&evaluator, &suite, &server.url, &options(), folder.path()).complete);

    let server = Server::start(|_, _| Answer::Json(401, json!({"error": {"message": "who are you"}})));
    let folder = tempfile::tempdir().unwrap();
    let refused = run_all(&evaluator, &suite, &server.url, &options(), folder.path());
    assert!(refused.halted.unwrap().contains("who are you"));
}

#[test]
fn limits_end_attempts() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let suite = suite(1);
    let exit = |limits: fn(&mut passnet_agent::RunOptions), script: fn(&Value) -> Answer| {
        let server = Server::start(move |_, request| script(request));
        let (mut options, folder) = (options(), tempfile::tempdir().unwrap());
        limits(&mut options);
        let outcome = run_all(&evaluator, &suite, &server.url, &options, folder.path());
        outcome.trajectories.first().map(|trajectory| (trajectory.exit, trajectory.steps.len()))
    };
    let idle = |_: &Value| says("hm", &[]);
    let busy = |_: &Value| says("", &[create("behaviour", "no_match"), evaluate()]);
    assert_eq!(exit(|_| (), idle), Some((AttemptExit::Useless, 2)));
    assert_eq!(exit(|options| options.limits.steps = 3, busy), Some((AttemptExit::Steps, 3)));
    assert_eq!(exit(|options| options.limits.tokens = Some(250), busy), Some((AttemptExit::Tokens, 3)));
    assert_eq!(exit(|options| options.limits.patience = Some(4), busy), Some((AttemptExit::NoProgress, 5)));
    assert_eq!(exit(|options| options.tokens = Some(250), busy), None, "the budget of the run suspends");
    let full = |request: &Value| match request.to_string().len() {
        0..120_000 => says(
            "",
            &[
                ("file_editor", json!({"command": "create", "path": "a.py", "file_text": "x\n".repeat(3000)})),
                ("file_editor", json!({"command": "view", "path": "a.py"})),
            ],
        ),
        _ => Answer::Json(400, json!({"error": {"message": "maximum context length is 8192 tokens"}})),
    };
    let (exit, steps) = exit(|_| (), full).unwrap();
    assert!(exit == AttemptExit::Context && steps >= 3, "{exit:?} after {steps} steps");
}

#[test]
fn graphs_that_are_held_out_are_measured_but_never_shown() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for graph in ["000", "001"] {
        let name = if graph == "000" { "000" } else { "secret" };
        let (from, to) = (common::bundled().join("gpt2-gelu-tanh").join(graph), folder.path().join("t").join(name));
        std::fs::create_dir_all(&to).unwrap();
        for file in std::fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let task = json!({"id": "t", "ops": ["gelu"], "graphs": ["000", "secret"], "held_out": ["secret"]});
    let record =
        json!({"schema_version": 1, "name": "n", "version": "1", "split": "train", "description": "", "tasks": [task]});
    std::fs::write(folder.path().join("suite.json"), record.to_string()).unwrap();
    let suite = Suite::load(folder.path(), &Selection::default()).unwrap();
    let server = Server::start(|_, request| match turn(request) {
        0 => says("", &[create("behaviour", "honest"), evaluate(), ("graph_info", json!({"graph": "secret"}))]),
        _ => says("done", &[]),
    });
    let outcome = run_all(&evaluator, &suite, &server.url, &options(), place.path());
    let trajectory = &outcome.trajectories[0];
    let last = trajectory.evaluation.as_ref().unwrap();
    assert_eq!(last.graphs.iter().map(|graph| graph.held_out).collect::<Vec<_>>(), [false, true]);
    assert_eq!(trajectory.evaluations().next().unwrap().1.graphs.len(), 1);
    for request in server.seen.lock().unwrap().iter() {
        let messages: Vec<&str> =
            request.body["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
        let mentions = messages.iter().filter(|text| text.contains("secret")).count();
        // The refusal repeats to the model only its own request.
        assert!(
            messages.iter().all(|text| !text.contains("secret") || text.contains("there is no graph `secret`")),
            "{mentions}"
        );
    }
}

#[test]
fn sixty_four_attempts_wait_for_a_slow_server_while_evaluations_continue() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let (active, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counter, peak) = (Arc::clone(&active), Arc::clone(&most));
    let waiting = Arc::clone(&active);
    let server = Server::start(move |_, request| {
        peak.fetch_max(counter.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(300));
        counter.fetch_sub(1, Ordering::SeqCst);
        match turn(request) {
            0 => says("", &[create("behaviour", "honest"), evaluate()]),
            1 => says("", &[create("note", "another directory"), evaluate()]),
            _ => says("done", &[]),
        }
    });
    let (suite, folder) = (suite(16), tempfile::tempdir().unwrap());
    let options = passnet_agent::RunOptions { attempts: 4, jobs: 64, ..options() };
    // Evaluations that came to an end while the server let others wait.
    let meanwhile = AtomicUsize::new(0);
    let watch = |update: Update<'_>| {
        if let Update::Event { event: JournalEvent::Observed { observation, .. }, .. } = update
            && observation.outcome.evaluation.is_some()
            && waiting.load(Ordering::SeqCst) > 0
        {
            meanwhile.fetch_add(1, Ordering::SeqCst);
        }
    };
    let stop = AtomicBool::new(false);
    let outcome = run(&evaluator, &suite, &client(&server.url), &options, folder.path(), &stop, &watch).unwrap();
    assert_eq!((outcome.trajectories.len(), outcome.complete), (64, true), "{:?}", outcome.suspended);
    assert!(most.load(Ordering::SeqCst) > 16, "{most:?} requests at a time");
    assert!(meanwhile.into_inner() > 0, "no evaluation ended while others waited for the server");
    let steps = outcome.trajectories.iter().map(|trajectory| trajectory.steps.len());
    assert_eq!(steps.collect::<Vec<_>>(), [3; 64]);
    let fresh =
        outcome.trajectories.iter().flat_map(Trajectory::evaluations).filter(|(_, e)| !e.graphs[0].cached).count();
    assert_eq!(fresh, 32, "equal passes for one graph are evaluated once");
    let events = Journal::read(&journal(folder.path())).unwrap();
    assert!(matches!((&events[0], events.last()), (JournalEvent::Started(_), Some(JournalEvent::Ended(_)))));
}
