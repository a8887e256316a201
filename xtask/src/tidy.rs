//! `cargo xtask tidy`: the invariants of ARCHITECTURE.md that no compiler checks.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde_json::Value;

use crate::cargo;

/// Which crates of the workspace a crate may depend on: the arrows of ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("passnet-record", &[]),
    ("passnet-graph", &["passnet-record"]),
    ("passnet-python", &["passnet-record", "passnet-graph"]),
    ("passnet-dataset", &["passnet-record", "passnet-graph", "passnet-python"]),
    ("passnet-score", &["passnet-record"]),
    ("passnet-fuse", &["passnet-record", "passnet-graph"]),
    ("passnet-eval", &["passnet-record", "passnet-graph", "passnet-python", "passnet-score", "passnet-fuse"]),
    ("passnet-native", &["passnet-record", "passnet-graph"]),
    (
        "passnet-agent",
        &["passnet-record", "passnet-graph", "passnet-python", "passnet-score", "passnet-fuse", "passnet-eval"],
    ),
    ("passnet-web", &["passnet-record", "passnet-graph", "passnet-score"]),
    (
        "passnet",
        &[
            "passnet-agent",
            "passnet-record",
            "passnet-graph",
            "passnet-python",
            "passnet-dataset",
            "passnet-score",
            "passnet-eval",
            "passnet-web",
        ],
    ),
    ("xtask", &[]),
];

/// Dependencies (by prefix of their name) that only the listed crates may have.
const RESERVED: &[(&str, &[&str])] = &[
    ("ruff_", &["passnet-python"]),
    ("pyo3", &["passnet-native"]),
    ("parquet", &["passnet-dataset"]),
    ("arrow", &["passnet-dataset"]),
    ("tokio", &["passnet"]),
    ("axum", &["passnet"]),
    ("rayon", &["passnet-dataset"]),
    ("maud", &["passnet-web"]),
    ("ureq", &["passnet-agent"]),
    ("clap", &["passnet"]),
    ("comfy-table", &["passnet"]),
    ("indicatif", &["passnet"]),
];

/// Crates whose sources may not reach outside themselves: no files, clock, environment, network, processes, threads.
const PURE: &[&str] = &["passnet-record", "passnet-graph", "passnet-fuse", "passnet-score", "passnet-web"];

/// What a pure crate's sources may not name.
const IMPURE: &[&str] =
    &["std::fs", "fs_err", "std::time", "std::env", "std::net", "std::process", "std::thread", "SystemTime", "Instant"];

/// A source file longer than this holds more than one thing.
const MAX_LINES: usize = 800;

/// Checks all invariants and lists every violation.
pub(crate) fn tidy(root: &Path) -> Result<()> {
    let mut violations = Vec::new();
    check_arrows(root, &mut violations)?;
    let files = tracked_files(root)?;
    for file in &files {
        // Binary files have no lines to check.
        if let Ok(text) = fs::read_to_string(root.join(file)) {
            check_text(file, &text, &mut violations);
        }
    }
    check_links(root, &files, &mut violations)?;
    if violations.is_empty() {
        println!("tidy: {} files, no violation", files.len());
        return Ok(());
    }
    for violation in &violations {
        eprintln!("tidy: {violation}");
    }
    bail!("{} violations of the invariants in ARCHITECTURE.md", violations.len())
}

fn tracked_files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output().context("cannot run git")?;
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).filter(|p| root.join(p).exists()).collect())
}

fn check_arrows(root: &Path, violations: &mut Vec<String>) -> Result<()> {
    let output = cargo(root).args(["metadata", "--format-version=1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let members: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = arrows.get(name) else {
            violations.push(format!("crate {name} is not in the list of arrows (xtask/src/tidy.rs, ARCHITECTURE.md)"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev");
            if members.contains(target) && !for_tests && !allowed.contains(&target) {
                violations.push(format!("{name} depends on {target}: no such arrow"));
            }
            for (prefix, owners) in RESERVED {
                if target.starts_with(prefix) && !for_tests && !owners.contains(&name) {
                    violations.push(format!("{name} depends on {target}, reserved for {owners:?}"));
                }
            }
        }
    }
    Ok(())
}

fn check_text(file: &Path, text: &str, violations: &mut Vec<String>) {
    let mut report = |line: usize, what: &str| violations.push(format!("{}:{line}: {what}", file.display()));
    let name = file.to_string_lossy();
    let is_code = name.ends_with(".rs") || name.ends_with(".py");
    let is_generated = name.ends_with(".lock") || name.ends_with(".snap");
    if is_code && text.lines().count() > MAX_LINES {
        report(1, &format!("longer than {MAX_LINES} lines"));
    }
    if name.ends_with("src/lib.rs") && !text.starts_with("//!") {
        report(1, "a crate opens with its documentation");
    }
    let pure = PURE.iter().any(|package| name.starts_with(&format!("crates/{package}/src/")));
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if !is_generated && (line.contains(concat!("/", "root/")) || line.contains(concat!("/", "work/"))) {
            report(number, "an absolute path of one machine");
        }
        if is_code && (line.contains(concat!("TO", "DO")) || line.contains(concat!("FIX", "ME"))) {
            report(number, "unfinished business; file an issue instead");
        }
        if pure && let Some(word) = IMPURE.iter().find(|word| line.contains(**word)) {
            report(number, &format!("{word} in a pure crate"));
        }
    }
}

/// Relative links in Markdown files lead somewhere. Code has none.
fn check_links(root: &Path, files: &[PathBuf], violations: &mut Vec<String>) -> Result<()> {
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(root.join(file))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut in_code = false;
        for (index, line) in text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            if in_code || is_fence {
                continue;
            }
            // Every second part stands between backquotes.
            let prose: String = line.split('`').step_by(2).collect();
            for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = link.split('#').next().unwrap_or_default();
                let external = target.contains("://") || target.starts_with("mailto:") || target.is_empty();
                if !external && !root.join(folder).join(target).exists() {
                    violations.push(format!("{}:{}: link to `{target}` leads nowhere", file.display(), index + 1));
                }
            }
        }
    }
    Ok(())
}
