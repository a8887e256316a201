//! `passnet agent` and `passnet traj` as a user meets them: real HTTP, real passes, real PyTorch.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

#[path = "../../../passnet-agent/tests/server/mod.rs"]
pub(crate) mod server;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use server::{Answer, Server, create, evaluate, is_task, says, turn};

use crate::{command, passnet, repository};

/// A task with hand-written passes, and two mistakes on the way to them: file, right text, wrong text.
struct Story {
    task: &'static str,
    misses: (&'static str, &'static str, &'static str),
    computes: (&'static str, &'static str, &'static str),
}

/// Each first fails to match, then computes something else, then is right. The first task then cheats.
const STORIES: [Story; 6] = [
    Story {
        task: "gpt2-gelu-tanh",
        misses: ("fuse_gelu_tanh.py", "torch.tanh(inner)", "torch.sigmoid(inner)"),
        computes: ("fuse_gelu_tanh.py", "y[i] *= 0.044715f", "y[i] *= 0.5f"),
    },
    Story {
        task: "fcos-box-decode",
        misses: ("fuse_box_decode.py", "    x = 0.5 * (boxes", "    x = 0.25 * (boxes"),
        computes: ("fuse_box_decode.py", "out[4 * i] = x - side[0]", "out[4 * i] = x + side[0]"),
    },
    Story {
        task: "roberta-position-ids",
        misses: ("fuse_position_ids.py", "tokens.ne(1)", "tokens.ne(2)"),
        computes: ("fuse_position_ids.py", "out[i] = position * counts + 1", "out[i] = position * counts + 2"),
    },
    Story {
        task: "t5-relative-position-bucket",
        misses: ("fuse_buckets.py", "near = distance < 8", "near = distance < 9"),
        computes: ("fuse_buckets.py", "(p > 0 ? 16 : 0)", "(p > 0 ? 8 : 0)"),
    },
    Story {
        task: "gemma-rms-norm",
        misses: ("fuse_gemma_norm.py", "torch.rsqrt(variance + 1e-06)", "torch.rsqrt(variance + 1e-05)"),
        computes: ("fuse_gemma_norm.py", "s += 1.0f", "s += 1.5f"),
    },
    Story {
        task: "retinanet-box-deltas",
        misses: ("fuse_box_deltas_retinanet.py", "codes[:, 0::4] / 1.0", "codes[:, 0::4] / 2.0"),
        computes: ("box_deltas.py", "dx[i] / shift * aw[i] + ax[i]", "dx[i] / shift * aw[i] - ax[i]"),
    },
];
/// Replies of a story, and further ones of the first: the cheat, and a look where there is nothing to be seen.
const REPLIES: usize = 5;
const FURTHER: usize = 2;

/// The fastest measurement.
const MEASURE: [&str; 6] = ["--trials", "10", "--warmup", "1", "--paths", "direct"];

fn json_lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The hand-written passes of a task as calls that create them, except for the pattern.
fn first_draft(story: &Story) -> Vec<(&'static str, Value)> {
    let folder = repository().join("suites/demo/passes").join(story.task);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let (missing, right, wrong) = story.misses;
    let call = |path: &PathBuf| {
        let (name, text) = (path.file_name().unwrap().to_str().unwrap(), std::fs::read_to_string(path).unwrap());
        // The graphs are float32: kernels for other types would only be compiled.
        let text =
            text.replace("-Delement=bfloat16", "-Delement=float").replace("-Delement=float16", "-Delement=float");
        if name != missing {
            return create(name, &text);
        }
        assert_eq!(text.matches(right).count(), 1, "{right}");
        create(name, &text.replace(right, wrong))
    };
    files.iter().map(call).collect()
}

fn replace(file: &str, old: &str, new: &str) -> (&'static str, Value) {
    let path = format!("/passes/{file}");
    ("file_editor", json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}))
}

fn scratch(input: &str) -> (&'static str, Value) {
    ("scratch_run", json!({"name": "fuse_gelu_tanh", "inputs": [input]}))
}

fn script(request: &Value) -> Answer {
    let story = STORIES.iter().find(|story| is_task(request, story.task)).unwrap();
    let cheats = story.task == STORIES[0].task;
    let ((file, right, wrong), (source, good, bad)) = (story.misses, story.computes);
    let calls = match turn(request) {
        0 => vec![("graph_info", json!({}))],
        1 => [first_draft(story), vec![evaluate()]].concat(),
        2 => vec![replace(file, wrong, right), replace(source, good, bad), evaluate()],
        3 if cheats => vec![scratch("float32[3, 5]"), replace(source, bad, good), scratch("float32[3, 5]"), evaluate()],
        3 => vec![replace(source, bad, good), evaluate()],
        4 if cheats => vec![replace(file, "    return out\n", "    return torch.tanh(out)\n"), evaluate()],
        5 if cheats => {
            let look = ("file_editor", json!({"command": "view", "path": "../../etc/passwd"}));
            vec![look, scratch("float32[3, 5]"), scratch("float32[3] on the moon")]
        }
        _ => Vec::new(),
    };
    std::thread::sleep(Duration::from_millis(30));
    says("", &calls)
}

/// The status of the one graph in each evaluation of a trajectory.
fn statuses(trajectory: &Value) -> Vec<&str> {
    let steps = trajectory["steps"].as_array().unwrap();
    let tools = steps.iter().flat_map(|step| step["tools"].as_array().unwrap());
    let evaluations = tools.filter_map(|tool| tool.get("evaluation"));
    evaluations.map(|evaluation| evaluation["graphs"][0]["status"].as_str().unwrap()).collect()
}

/// Tests what the first story sees of its scratch runs: of a wrong kernel, of the right one, of the cheat, and of a wrong call.
fn scratch_runs(trajectory: &Value) {
    let messages = trajectory["messages"].as_array().unwrap().iter();
    let seen: Vec<&str> = messages
        .filter(|message| message["name"] == "scratch_run")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    let expected = [
        ["pass `fuse_gelu_tanh` on float32[3, 5]: accuracy", "output 0"],
        ["float32[3, 5]: the results agree with the pattern", "pass: "],
        ["error: the passes cannot be imported", "PN"],
        ["error: `float32[3] on the moon` is no input", "write `float32[2, 64]`"],
    ];
    assert_eq!(seen.len(), expected.len(), "{seen:?}");
    for (text, parts) in seen.iter().zip(expected) {
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} {text}");
    }
}

#[test]
fn six_tasks_killed_resumed_replayed_and_exported() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let server = Server::start(|_, request| script(request));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out_text = out.to_str().unwrap();
    let mut arguments =
        vec!["agent", "run", "suites/demo", "--model", "scripted", "--base-url", &server.url, "--out", out_text];
    arguments.extend(["--graphs-per-task", "1", "--evaluations", "2", "--key-env", "TEST_AGENT_KEY"]);
    arguments.extend(MEASURE);
    arguments.extend(STORIES.iter().flat_map(|story| ["--filter", story.task]));

    // Killed outright while evaluations are going on.
    let mut child = command(&arguments)
        .env("TEST_AGENT_KEY", "sk-hidden")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = || server.seen.lock().unwrap().len();
    while begun() < 2 * STORIES.len() + 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!out.join("trajectories.jsonl").exists());
    let before = begun();

    let output = command(&arguments).env("TEST_AGENT_KEY", "sk-hidden").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    // At most the pending reply of each attempt is requested again.
    let (asked, replies) = (begun(), STORIES.len() * REPLIES + FURTHER);
    assert!((replies..=replies + STORIES.len()).contains(&asked), "{before} requests, then {asked}");
    let trajectories = json_lines(&out.join("trajectories.jsonl"));
    assert_eq!(trajectories.len(), STORIES.len());
    for trajectory in &trajectories {
        let (task, statuses) = (trajectory["task"]["id"].as_str().unwrap(), statuses(trajectory));
        assert_eq!(statuses[..2], ["no_match", "accuracy"], "{task}");
        let last = trajectory["evaluation"]["graphs"][0]["status"].as_str().unwrap();
        for status in [statuses[2], last] {
            assert!(status == "correct" || status == "unstable", "{task}: {status}");
        }
        let cheats = task == STORIES[0].task;
        if cheats {
            scratch_runs(trajectory);
        }
        assert_eq!(&statuses[3..], if cheats { &["integrity"][..] } else { &[] }, "{task}");
        assert_eq!(!trajectory["findings"].as_array().unwrap().is_empty(), cheats, "{task}: the cheat is labelled");
        assert!(!trajectory["passes"].to_string().contains("torch.tanh(out)"), "the cheat is not what is handed in");
    }
    let everything = walk(&out);
    assert!(
        everything.iter().all(|bytes| !String::from_utf8_lossy(bytes).contains("sk-hidden")),
        "the key is written nowhere"
    );

    let replayed = passnet(
        &[&["agent", "replay", out_text, "--suite", "suites/demo", "--only", "fcos"], MEASURE.as_slice()].concat(),
    );
    assert!(String::from_utf8_lossy(&replayed.stdout).contains("fcos-box-decode"), "{replayed:?}");
    exports(&out, folder.path());
}

/// Tests everything that is made from trajectories.
fn exports(run: &Path, folder: &Path) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let run = run.to_str().unwrap();
    let good = |arguments: &[&str]| {
        let output = passnet(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let html = path("stats.html");
    let stats: Value = serde_json::from_str(&good(&["traj", "stats", run, "--json", "--html", &html])).unwrap();
    assert_eq!((&stats["attempts"], &stats["cheated"]), (&json!(6), &json!(1)));
    assert!(std::fs::read_to_string(html).unwrap().contains("<path class=\"line\""), "the curve of scores is drawn");
    assert!(good(&["traj", "filter", run, "--honest", "--out", &path("honest.jsonl")]).starts_with("5 kept"));
    let packed = path("once.jsonl.zst");
    assert!(good(&["traj", "dedup", run, run, "--out", &packed]).starts_with("6 of 12"));
    let split = good(&["traj", "split", &packed, "--eval-suite", "suites/demo", "--out", &path("data")]);
    assert!(split.starts_with("0 for training, 0 for validation, 6 left out"), "{split}");
    good(&["traj", "export", run, "--format", "openai", "--out", &path("openai.jsonl")]);
    good(&["traj", "export", run, "--format", "sharegpt", "--out", &path("sharegpt.jsonl")]);
    good(&["traj", "export", run, "--format", "parquet", "--out", &path("t.parquet")]);
    let line = &json_lines(&folder.join("openai.jsonl"))[0];
    assert_eq!(line["messages"].as_array().unwrap().len(), line["loss_mask"].as_array().unwrap().len());
    assert_eq!(json_lines(&folder.join("sharegpt.jsonl"))[0]["conversations"][0]["from"], "system");
    let bad = passnet(&["traj", "stats", "Cargo.toml"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("Cargo.toml:1"));
}

fn walk(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![std::fs::read(path).unwrap()] }).collect()
}

#[test]
fn the_teacher_gives_lessons_in_four_styles_and_says_only_what_was_observed() {
    if super::is_left_out() {
        return;
    }
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("taught");
    let teach = ["traj", "teach", "suites/demo", "--out", out.to_str().unwrap(), "--filter", "gpt2-gelu-tanh"];
    let arguments = [teach.as_slice(), &["--each-graph", "--graphs-per-task", "1", "--jobs", "2"], &MEASURE].concat();
    let counted = passnet(&[arguments.as_slice(), &["--count"]].concat());
    assert!(!out.join("trajectories.jsonl").exists(), "counting writes nothing");
    let output = passnet(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let trajectories = json_lines(&out.join("trajectories.jsonl"));
    // A mistake in a part of a kernel that these shapes do not reach is left out, and counted.
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let left_out = said.rsplit_once(" are left out").map_or(0, |(before, _)| {
        before.rsplit(' ').next().unwrap().parse::<usize>().expect("a number of trajectories")
    });
    assert!(left_out <= 1, "{said}");
    let count = format!("{} lessons", trajectories.len() + left_out);
    assert!(String::from_utf8_lossy(&counted.stdout).starts_with(&count), "{count} {counted:?}");
    for trajectory in &trajectories {
        says_only_what_was_observed(trajectory);
        assert!(trajectory["evaluation"]["graphs"][0]["speedup"]["ratio"].is_number(), "{}", trajectory["evaluation"]);
    }
    styles(&out, &trajectories, folder.path());
    // Finished attempts are not repeated, and attempts on other graphs or of other styles are not continued.
    let again = passnet(&arguments);
    assert_eq!((again.status.code(), json_lines(&out.join("trajectories.jsonl"))), (Some(0), trajectories));
    for other in [&["--graphs-per-task", "2"][..], &["--each-graph", "--graphs-per-task", "1", "--style", "plain"]] {
        let refused = passnet(&[teach.as_slice(), other, &MEASURE].concat());
        assert_eq!(refused.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("choose another directory"), "{refused:?}");
    }
}

#[test]
fn each_graph_of_a_task_is_taught_by_itself_where_that_is_asked_for() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lessons = |more: &[&str]| {
        let out = folder.path().join("counted");
        let teach = ["traj", "teach", "suites/demo", "--out", out.to_str().unwrap(), "--filter", "bert-linear-gelu"];
        let output = passnet(&[&teach[..], &["--graphs-per-task", "2", "--style", "plain", "--count"], more].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        text.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(lessons(&["--each-graph"]), 2 * lessons(&[]));
}

/// Tests that each number with a fraction was in an earlier message, or is in a file that the teacher writes.
fn says_only_what_was_observed(trajectory: &Value) {
    let mut seen = String::new();
    for message in trajectory["messages"].as_array().unwrap() {
        let content = message["content"].as_str().unwrap_or_default();
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        calls.for_each(|call| seen.push_str(&call["arguments"].to_string()));
        if message["role"] == "assistant" {
            let said = content.split(|c: char| !c.is_ascii_digit() && c != '.').map(|n| n.trim_matches('.'));
            for number in said.filter(|number| number.contains('.')) {
                assert!(seen.contains(number), "{number} was not observed before: {content}");
            }
        }
        seen.push_str(content);
    }
}

/// Tests that styles are those of the verdicts, and that a mistake is not learnt.
fn styles(run: &Path, trajectories: &[Value], folder: &Path) {
    let export = folder.join("chat.jsonl");
    let exported = passnet(&["traj", "export", run.to_str().unwrap(), "--out", export.to_str().unwrap()]);
    assert_eq!(exported.status.code(), Some(0), "{exported:?}");
    let rows = json_lines(&export);
    let mut found = BTreeSet::new();
    for (trajectory, row) in trajectories.iter().zip(&rows) {
        let (statuses, style) = (statuses(trajectory), row["style"].as_str().unwrap());
        let is_right = |status: &&str| matches!(*status, "correct" | "unstable");
        let last = statuses.last().unwrap();
        assert!(is_right(last), "{style} {statuses:?}");
        let mistakes: Vec<_> = statuses.iter().copied().filter(|status| !is_right(status)).collect();
        let expected = match mistakes.as_slice() {
            [] => &["plain", "tuned"][..],
            ["integrity"] => &["refused"],
            [_] => &["repaired"],
            _ => panic!("{statuses:?}"),
        };
        assert!(expected.contains(&style), "{style} {statuses:?}");
        assert_eq!(row["conduct"], if style == "refused" { "corrected" } else { "clean" });
        let messages = row["messages"].as_array().unwrap();
        let replies: Vec<_> = messages.iter().zip(row["loss_mask"].as_array().unwrap()).collect();
        let replies: Vec<_> = replies.into_iter().filter(|(message, _)| message["role"] == "assistant").collect();
        let masked: Vec<_> = replies.iter().filter(|(_, mask)| **mask == 0).map(|(message, _)| message).collect();
        // The reply that writes the mistake. The one that has it evaluated and the correction are learnt.
        assert_eq!(masked.len(), mistakes.len(), "{style}");
        for reply in masked {
            let call = &reply["tool_calls"][0]["function"];
            assert_eq!(call["name"], "file_editor", "{reply}");
            assert!(call["arguments"].as_str().unwrap().contains("create"), "{reply}");
        }
        if style == "refused" {
            // The teacher names the rule of the verdict, and reads about it.
            let read = replies.iter().find_map(|(message, _)| {
                let call = &message["tool_calls"][0]["function"];
                (call["name"] == "docs").then(|| call["arguments"].as_str().unwrap())
            });
            let findings = trajectory["findings"].as_array().unwrap();
            assert!(read.is_none_or(|topic| findings.iter().any(|rule| topic.contains(rule.as_str().unwrap()))));
        }
        found.insert(style);
    }
    assert!(found.is_superset(&["refused", "repaired"].into()) && found.len() > 2, "{found:?}");
    let kept = passnet(
        &[
            &["traj", "filter", run.to_str().unwrap(), "--style", "refused", "--out"],
            &[folder.join("refused.jsonl").to_str().unwrap()][..],
        ]
        .concat(),
    );
    let refused = rows.iter().filter(|row| row["style"] == "refused").count();
    assert!(String::from_utf8_lossy(&kept.stdout).starts_with(&format!("{refused} kept")), "{kept:?}");
    // Most end in the same passes, but their replies differ.
    let kept = |by: &str| {
        let out = folder.join(format!("{by}.jsonl"));
        let once = passnet(&["traj", "dedup", run.to_str().unwrap(), "--by", by, "--out", out.to_str().unwrap()]);
        String::from_utf8(once.stdout).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    assert!(kept("passes") < rows.len());
    assert_eq!(kept("replies"), rows.len());
}

#[test]
fn wrong_usage_is_reported_before_anything_starts() {
    let code = |arguments: &[&str]| passnet(arguments).status.code();
    assert_eq!(code(&["agent", "run", "suites/demo"]), Some(2));
    assert_eq!(code(&["agent", "run", "suites/demo", "--model", "m", "--base-url", "localhost"]), Some(2));
    let nowhere = ["agent", "run", "suites/demo", "--model", "m", "--base-url", "http://no-such-host.invalid/v1"];
    assert_eq!(code(&nowhere), Some(3));
    assert_eq!(code(&[&nowhere[..], &["--price", "3,15,0.3"]].concat()), Some(3));
    assert_eq!(code(&[&nowhere[..], &["--price", "3"]].concat()), Some(2));
    assert_eq!(code(&["agent", "run", "suites/demo", "--model", "m", "--prompts", "/nowhere/at/all"]), Some(2));
    assert_eq!(code(&["agent", "run", "suites/demo", "--model", "m", "--key-file", "/nowhere/at/all"]), Some(2));
}
