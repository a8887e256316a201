//! `--tune-seconds` with the real command on a CPU. The tests print a reason and skip if `PASSNET_PYTHON` is not set.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::repository;

/// Runs `passnet fuse` on one graph of a task with a softmax. Returns the files that it writes and its messages.
fn fuse(home: &Path, out: &str, flags: &[&str]) -> (BTreeMap<String, String>, String) {
    let said = crate::fuse(home, "task", out, flags);
    let text =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap());
    let files = fs::read_dir(home.join(out).join("task")).unwrap().map(|entry| text(entry.unwrap())).collect();
    (files, said)
}

fn only_entry(home: &Path) -> PathBuf {
    let entries = fs::read_dir(home.join("cache/tuning-1")).unwrap();
    let [entry] = entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    entry
}

#[test]
fn kernels_are_measured_once_and_remembered() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let sample = repository().join("suites/demo/bert-scale-mask-softmax/000");
    let copy = home.path().join("task/000");
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(sample).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }

    let (tuned, said) = fuse(home.path(), "tuned", &["--tune-seconds", "600"]);
    assert!(said.contains("1 kernel measured, 0 known, 0 kept"), "{said}");
    let entry = only_entry(home.path());
    let text = fs::read_to_string(&entry).unwrap();
    assert!(text.contains("\"speedup\"") && text.contains("\"cxx\""), "{text}");

    // From then on, the author writes the configuration of the entry.
    let best = |vectors: bool| format!("\"best\": {{\n    \"nests\": {{\n      \"vectors\": {vectors}");
    let chosen = text.contains(&best(true));
    fs::write(&entry, text.replace(&best(chosen), &best(!chosen))).unwrap();
    let (other, _) = fuse(home.path(), "other", &[]);
    assert_ne!(tuned, other);

    // A damaged entry counts as absent, and without time nothing is measured.
    fs::write(&entry, "{").unwrap();
    let (_, said) = fuse(home.path(), "model", &["--tune-seconds", "0"]);
    assert!(said.contains("not an entry of the tuning database"), "{said}");
    assert!(said.contains("0 kernels measured, 0 known, 1 kept"), "{said}");
}
