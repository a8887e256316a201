//! `passnet optimize`: names that do not exist, and lines of progress.

use std::{path::Path, process::Command};

use crate::{has_torch, repository};

const MODEL: &str = "\
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()), (torch.randn(32, 64),)
";

/// Optimizes a model of the folder `home`. Returns the exit code and the messages.
fn optimize(home: &Path, model: &str, flags: &[&str]) -> (Option<i32>, String) {
    let python = std::env::var_os("PASSNET_PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(env!("CARGO_BIN_EXE_passnet"))
        .args(["optimize", model, "--out"])
        .arg(home.join("library"))
        .args(flags)
        .current_dir(home)
        .env("PASSNET_PYTHON", python)
        .env("PASSNET_SITE", repository().join("python"))
        .env("PASSNET_CACHE", home.join("cache"))
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// The names are checked before PyTorch is imported, so any Python will do.
#[test]
fn a_misspelt_file_or_function_gets_a_suggestion() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("model.py"), MODEL).unwrap();
    std::fs::write(home.path().join("empty.py"), "").unwrap();
    let check = |model: &str, expected: &str| {
        let (code, said) = optimize(home.path(), model, &[]);
        assert!(code == Some(2) && said.contains(expected), "{model}: {said}");
    };
    check("modle.py:build", "modle.py: there is no such file; did you mean `model.py`?");
    check("model:build", "model: there is no such file; did you mean `model.py`?");
    check(
        "other:nope",
        "other: there is no such file; name a Python file and a function in it, as in `model.py:build`",
    );
    check("model.py:biuld", "model.py: there is no function `biuld`; did you mean `build`?");
    check("model.py:nope", "model.py: there is no function `nope`; the file defines build");
    check("empty.py:build", "empty.py: there is no function `build`; write one that returns a model");
}

#[test]
fn each_step_is_named_while_it_runs() {
    if !has_torch() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("model.py"), MODEL).unwrap();
    // The exit code says whether the model became faster, which depends on the machine.
    let (_, said) = optimize(home.path(), "model.py:build", &[]);
    let steps: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert!(steps.starts_with(&["extract", "author", "verify"]), "{said}");
    std::fs::remove_dir_all(home.path().join("library")).unwrap();
    let (_, said) = optimize(home.path(), "model.py:build", &["--quiet"]);
    assert!(!said.contains("extract: "), "{said}");
}
