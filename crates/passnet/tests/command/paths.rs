//! Paths that are missing or of the wrong kind, and numbers that make no sense. None of the commands needs PyTorch.

use std::path::Path;

use crate::messages::{TASK, check};

#[test]
fn a_path_that_is_missing_or_of_another_kind_is_named_with_what_belongs_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, empty, out) = (path("a file"), path("empty"), path("out"));
    std::fs::write(&file, "text").unwrap();
    std::fs::create_dir(&empty).unwrap();

    let bundle = "`passnet bundle RUN --out run.pnb` makes";
    let missing = "no/such: there is no such file; name a bundle";
    for to in ["http://127.0.0.1:1", &empty] {
        check(&["submit", "no/such", "--to", to], 2, &[missing, bundle]);
    }
    check(&["bundle", "--verify", "no/such"], 2, &[missing, bundle]);
    check(&["bundle", "--verify", &empty], 2, &["empty: this is a folder; name a bundle", bundle]);
    check(&["bundle", "--verify", &file], 1, &["a file: the bundle is damaged, or no bundle; get it again"]);
    let missing = ["no/such: there is no such folder; name one that contains samples", "passnet extract"];
    let no_folder = ["a file: a file and no folder; name a folder that contains samples", "passnet extract"];
    for (from, said) in [("no/such", missing), (&file, no_folder)] {
        check(&["dataset", "import", from, "--out", &out], 2, &said);
        check(&["dataset", "import", from, "--out", &out, "--tasks"], 2, &said);
        check(&["dataset", "build-suites", from, "--work", &path("work"), "--out", &out], 2, &said);
    }
    check(&["dataset", "import", &empty, "--out", &out], 2, &["no samples found"]);
    assert!(!Path::new(&out).exists());

    let passes = ["no/such: there is no such pass directory; `passnet new TASK --out DIR` writes one"];
    let no_passes = ["a file: a file and no pass directory; name the folder that it is in"];
    for (given, said) in [("no/such", passes), (&file, no_passes)] {
        check(&["lint", given], 2, &said);
        check(&["eval", TASK, "--passes", given], 2, &said);
        check(&["bench", "run", TASK, "--author", &format!("dir:{given}")], 2, &said);
    }
    let readers: [&[&str]; 4] = [
        &["report", &file],
        &["site", &out, &file],
        &["study", "--from", &file, "--out", &out],
        &["bisect", TASK, "--run", &file, "--out", &out],
    ];
    for reader in readers {
        check(reader, 2, &["a file: neither a run directory nor a sound bundle; `passnet bundle RUN` makes bundles"]);
    }
    check(&["fleet", "simulate", &file], 2, &["a file: not a run", "passnet bench run"]);
    check(&["score", "no/such"], 2, &["no/such: there is no such file or folder; name a run", "evaluation log"]);
    check(
        &["serve", &empty, "--port", "0", "--bisected", "no/such"],
        2,
        &["no/such: no such folder", "passnet bisect"],
    );
    check(&["attacks", &empty], 2, &["empty: no attack suite"]);
    check(&["extract", "--suite", "no/such"], 2, &["no/such: there is no capture.json; name a suite that has one"]);
}

/// Before, some commands worked for minutes and could then not write their results.
#[test]
fn a_place_for_results_that_cannot_be_one_is_refused_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, empty) = (path("a file"), path("empty"));
    std::fs::write(&file, "text").unwrap();
    std::fs::create_dir(&empty).unwrap();
    let inside = path("a file/inside");
    let agent = ["agent", "run", TASK, "--model", "m", "--base-url", "http://127.0.0.1:1"];
    let with_folders: [&[&str]; 10] = [
        &["study", TASK],
        &["plot", "crates/passnet-score/tests/data/synthetic.log"],
        &["bisect", TASK, "--author", "eager"],
        &["extract", "timm:resnet18"],
        &agent,
        &["traj", "split", &empty, "--eval-suite", TASK],
        &["traj", "teach", TASK],
        &["dataset", "import", "suites/demo"],
        &["new", TASK],
        &["bench", "run", TASK, "--author", "eager"],
    ];
    for arguments in with_folders {
        for out in [&file, &inside] {
            check(&[arguments, &["--out", out]].concat(), 2, &["cannot be a folder", "a file is a file"]);
        }
    }
    check(&["site", &file, &empty], 2, &["cannot be a folder"]);
    check(&["board", &file, "--hidden", "suites/demo", "--once"], 2, &["cannot be a folder"]);
    for name in ["filter", "dedup", "export"] {
        check(&["traj", name, &empty, "--out", &inside], 2, &["cannot be a folder"]);
        check(&["traj", name, &empty, "--out", &empty], 2, &["this is a folder; name a file"]);
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"text");
}

#[test]
fn a_number_of_jobs_is_at_least_1() {
    let counted: [(&[&str], &str); 6] = [
        (&["bench", "run", TASK, "--author", "eager"], "--jobs"),
        (&["study", TASK], "--jobs"),
        (&["attacks"], "--jobs"),
        (&["agent", "run", TASK, "--model", "m"], "--evaluations"),
        (&["bisect", TASK, "--author", "eager", "--out", "target/none"], "--max-evaluations"),
        (&["fleet", "simulate", "runs", "--tasks", "1"], "--devices"),
    ];
    for (arguments, flag) in counted {
        check(&[arguments, &[flag, "0"]].concat(), 2, &[flag, "at least 1"]);
    }
}
