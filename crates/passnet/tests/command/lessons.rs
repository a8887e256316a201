//! Lessons of `passnet traj teach` on parts of a suite, and the measurements that they share.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use crate::passnet;

const TEACH: [&str; 8] = ["traj", "teach", "suites/demo", "--style", "plain", "--each-graph", "--graphs-per-task", "1"];

fn is_skipped() -> bool {
    let is_skipped = std::env::var_os("PASSNET_PYTHON").is_none();
    if is_skipped {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
    }
    is_skipped
}

#[test]
fn shards_have_all_lessons_between_them() {
    if is_skipped() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let teach = |more: &[&str]| passnet(&[&TEACH[..], &["--tasks", "3", "--count", "--out", out], more].concat());
    let lessons = |more: &[&str]| {
        let text = String::from_utf8(teach(more).stdout).unwrap();
        text.split(' ').next().unwrap().parse::<usize>().unwrap_or_else(|_| panic!("{text}"))
    };
    let parts = [lessons(&["--shard", "1/2"]), lessons(&["--shard", "2/2"])];
    assert!(parts.iter().all(|count| *count > 0), "{parts:?}");
    assert_eq!(parts.iter().sum::<usize>(), lessons(&[]));
    let empty = teach(&["--shard", "4/4"]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&empty.stderr).contains("there are only 3 tasks"), "{empty:?}");
}

#[test]
fn lessons_that_end_in_equal_passes_share_the_second_measurement() {
    if is_skipped() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("taught");
    let tasks = ["--filter", "roberta-position-ids", "--filter", "fcos-box-decode"];
    let measure = ["--trials", "10", "--warmup", "1", "--paths", "direct", "--jobs", "2"];
    let given = passnet(&[&TEACH[..], &tasks, &measure, &["--out", out.to_str().unwrap()]].concat());
    assert_eq!(given.status.code(), Some(0), "{given:?}");
    let trajectories = json_lines(&out.join("trajectories.jsonl"));
    assert!(trajectories.len() > 1, "one lesson shares nothing");
    let mut measured: BTreeMap<&str, &Value> = BTreeMap::new();
    for trajectory in &trajectories {
        let end = &trajectory["evaluation"]["graphs"][0];
        // Not the measurement by which the lesson chose its final passes.
        let states = trajectory["steps"].as_array().unwrap().iter().flat_map(|step| step["tools"].as_array().unwrap());
        let mut seen = states.filter_map(|tool| tool["evaluation"]["graphs"][0]["key"].as_str());
        assert!(seen.all(|key| end["key"] != *key), "{trajectory}");
        let passes = trajectory["evaluation"]["passes"].as_str().unwrap();
        let first = measured.entry(passes).or_insert(end);
        assert_eq!((&first["key"], &first["speedup"]), (&end["key"], &end["speedup"]));
    }
    let cached = |trajectory: &&Value| trajectory["evaluation"]["graphs"][0]["cached"] == true;
    assert_eq!(trajectories.iter().filter(cached).count(), trajectories.len() - measured.len());
}

fn json_lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
