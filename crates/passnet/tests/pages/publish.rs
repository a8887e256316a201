//! Bundles, comparisons and reports: what leaves the machine.

use std::process::Command;

use crate::{passnet, root, runs};

#[test]
fn bundles_are_whole_and_show_any_change() {
    let runs = runs();
    let path = |name: &str| runs.path().join(name).to_str().unwrap().to_owned();
    let (run, bundle) = (path("demo-passes"), path("demo.pnb"));
    let (code, id) = passnet(&["-q", "bundle", &run, "--out", &bundle]);
    assert_eq!(code, 0, "{id}");
    let id = id.lines().find(|line| line.len() == 64).unwrap().to_owned();
    let (code, text) = passnet(&["bundle", "--verify", &bundle, "--expect", &id]);
    assert!(code == 0 && text.contains(&id), "{text}");
    assert_eq!(passnet(&["bundle", "--verify", &bundle, "--expect", &"0".repeat(64)]).0, 1);
    let again = path("again.pnb");
    passnet(&["bundle", &run, "--out", &again]);
    assert_eq!(std::fs::read(&bundle).unwrap(), std::fs::read(&again).unwrap(), "equal runs give equal bundles");

    let unpacked = zstd::decode_all(std::fs::File::open(&bundle).unwrap()).unwrap();
    let refused = |name: &str, tar: &[u8], why: &str| {
        let changed = path(name);
        std::fs::write(&changed, zstd::encode_all(tar, 1).unwrap()).unwrap();
        let (code, text) = passnet(&["bundle", "--verify", &changed]);
        assert!(code == 1 && text.contains(why), "{name}: {text}");
    };
    let mut slower = unpacked.clone();
    let at = find(&slower, b"\"status\":\"no_match\"");
    slower[at + 10..at + 18].copy_from_slice(b"correct\"");
    refused("changed.pnb", &slower, "changed or damaged");
    refused("cut.pnb", &unpacked[..unpacked.len() / 2], "");
    let mut evil = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..16].copy_from_slice(b"../../etc/passwd");
    header.set_size(3);
    header.set_cksum();
    evil.append(&header, &b"abc"[..]).unwrap();
    refused("evil.pnb", &evil.into_inner().unwrap(), "`manifest.json` is expected here");
    refused("bomb.pnb", &bomb(), "the limit for a bundle");
    std::fs::write(path("rubbish.pnb"), b"rubbish").unwrap();
    assert_eq!(passnet(&["bundle", "--verify", &path("rubbish.pnb")]).0, 1);
}

fn find(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len()).position(|window| window == word).unwrap()
}

/// A manifest that announces 2 GiB.
fn bomb() -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("manifest.json").unwrap();
    header.set_size(2 << 30);
    header.set_cksum();
    let mut tar = header.as_bytes().to_vec();
    tar.resize(1 << 20, b' ');
    tar
}

#[test]
fn comparisons_gate_and_reports_have_every_form() {
    let runs = runs();
    let path = |name: &str| runs.path().join(name).to_str().unwrap().to_owned();
    let (eager, inductor) = (path("eager"), path("inductor"));
    let (code, text) = passnet(&["compare", &eager, &inductor, "--fail-on", "AS<-2%"]);
    assert!(code == 1 && text.contains("failed: AS<-2%") && text.contains("newly wrong"), "{text}");
    assert_eq!(passnet(&["compare", &eager, &eager, "--fail-on", "AS<-2%", "--fail-on", "slower>0"]).0, 0);
    assert_eq!(passnet(&["compare", &eager, &inductor, "--fail-on", "speed<1"]).0, 2);
    assert_eq!(passnet(&["compare", &eager, &path("demo-passes")]).0, 2);
    for (format, word) in [
        ("md", "| inductor |"),
        ("csv", "run,author,suite"),
        ("html", "<!DOCTYPE html>"),
        ("json", "\"schema_version\": 1"),
    ] {
        let (code, text) = passnet(&["report", &eager, &inductor, "--format", format]);
        assert!(code == 0 && text.contains(word), "{format}");
    }
    let parquet = path("results.parquet");
    assert_eq!(passnet(&["report", &eager, "--format", "parquet"]).0, 2);
    assert_eq!(passnet(&["report", &eager, "--format", "parquet", "--out", &parquet]).0, 0);
    assert!(std::fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    let study = path("study");
    let (code, text) = passnet(&["study", "--from", &inductor, "--out", &study]);
    assert!(code == 0 && text.contains("| slower end to end |") && text.contains("43.0 %"), "{text}");
}

#[test]
fn the_example_reads_what_the_report_writes() {
    let Some(python) = std::env::var_os("PASSNET_PYTHON") else {
        println!("skipped: PASSNET_PYTHON names no Python");
        return;
    };
    if !Command::new(&python).args(["-c", "import pandas"]).output().unwrap().status.success() {
        println!("skipped: that Python has no pandas");
        return;
    }
    let runs = runs();
    let results = runs.path().join("results.csv");
    let named: Vec<String> =
        ["eager", "inductor"].map(|run| runs.path().join(run).to_str().unwrap().to_owned()).to_vec();
    let (code, text) =
        passnet(&["report", &named[0], &named[1], "--format", "csv", "--out", results.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let output = Command::new(python).arg(root().join("examples/analyse_runs.py")).arg(&results).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let row = |author: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(author)).unwrap_or_else(|| panic!("{author} in {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    // Author, settled graphs, share that is correct, geometric mean of speed-ups: as in the study of these logs.
    assert_eq!(row("inductor ")[1..4], ["96", "0.99", "0.847"]);
    assert!(text.contains("Largest certain speed-ups:"), "{text}");
}
