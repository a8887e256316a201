//! Dependencies between crates: the arrows of ARCHITECTURE.md, and the heavy dependencies that few crates may have.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result};
use fs_err as fs;
use serde_json::Value;

use super::violation::BrokenRule;
use crate::command::cargo;

/// Crates of the workspace that a crate may depend on: the arrows of ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("passnet-record", &[]),
    ("passnet-graph", &["passnet-record"]),
    ("passnet-graphnet", &["passnet-record", "passnet-graph"]),
    ("passnet-lint", &[]),
    ("passnet-objects", &[]),
    ("passnet-score", &["passnet-record"]),
    (
        "passnet-run",
        &["passnet-record", "passnet-graph", "passnet-graphnet", "passnet-lint", "passnet-score", "passnet-web"],
    ),
    ("passnet-compare", &["passnet-record", "passnet-score"]),
    ("passnet-inputs", &["passnet-record", "passnet-graph"]),
    ("passnet-dataset", &["passnet-record", "passnet-graph", "passnet-graphnet", "passnet-run"]),
    ("passnet-fuse", &["passnet-record", "passnet-graph"]),
    ("passnet-services", &["passnet-record", "passnet-graph", "passnet-run"]),
    (
        "passnet-eval",
        &[
            "passnet-record",
            "passnet-graph",
            "passnet-graphnet",
            "passnet-lint",
            "passnet-run",
            "passnet-score",
            "passnet-compare",
            "passnet-inputs",
            "passnet-services",
        ],
    ),
    (
        "passnet-author",
        &["passnet-record", "passnet-graph", "passnet-run", "passnet-services", "passnet-fuse", "passnet-eval"],
    ),
    ("passnet-native", &["passnet-objects"]),
    ("passnet-python", &["passnet-record", "passnet-graph", "passnet-objects", "passnet-fuse", "passnet-native"]),
    (
        "passnet-agent",
        &[
            "passnet-record",
            "passnet-graph",
            "passnet-graphnet",
            "passnet-lint",
            "passnet-run",
            "passnet-score",
            "passnet-services",
            "passnet-fuse",
            "passnet-eval",
            "passnet-author",
            "passnet-web",
        ],
    ),
    (
        "passnet-fleet",
        &[
            "passnet-record",
            "passnet-graph",
            "passnet-run",
            "passnet-services",
            "passnet-dataset",
            "passnet-eval",
            "passnet-web",
        ],
    ),
    ("passnet-attacks", &["passnet-record", "passnet-graphnet", "passnet-run", "passnet-services", "passnet-eval"]),
    ("passnet-board", &["passnet-record", "passnet-run", "passnet-eval"]),
    ("passnet-web", &["passnet-record", "passnet-graph", "passnet-score"]),
    (
        "passnet-site",
        &[
            "passnet-record",
            "passnet-graph",
            "passnet-run",
            "passnet-services",
            "passnet-dataset",
            "passnet-agent",
            "passnet-board",
            "passnet-web",
        ],
    ),
    (
        "passnet",
        &[
            "passnet-agent",
            "passnet-attacks",
            "passnet-board",
            "passnet-flags",
            "passnet-fleet",
            "passnet-record",
            "passnet-graph",
            "passnet-graphnet",
            "passnet-lint",
            "passnet-dataset",
            "passnet-run",
            "passnet-score",
            "passnet-services",
            "passnet-eval",
            "passnet-author",
            "passnet-site",
            "passnet-web",
        ],
    ),
    (
        "passnet-flags",
        &[
            "passnet-record",
            "passnet-run",
            "passnet-score",
            "passnet-services",
            "passnet-dataset",
            "passnet-author",
            "passnet-agent",
            "passnet-site",
        ],
    ),
    ("xtask", &[]),
];

/// Dependencies (by prefix of their name) that only the listed crates may have.
const RESERVED: &[(&str, &[&str])] = &[
    ("ruff_", &["passnet-graphnet", "passnet-lint"]),
    ("pyo3", &["passnet-python"]),
    ("parquet", &["passnet-dataset"]),
    ("arrow", &["passnet-dataset"]),
    ("tokio", &["passnet-site"]),
    ("axum", &["passnet-site"]),
    ("rayon", &["passnet-dataset"]),
    ("maud", &["passnet-web"]),
    ("tower", &["passnet-site"]),
    ("ed25519", &["passnet-board"]),
    ("ureq", &["passnet-agent", "passnet-board", "passnet-dataset"]),
    ("clap", &["passnet", "passnet-flags"]),
    ("comfy-table", &["passnet"]),
    ("indicatif", &["passnet"]),
];

pub(super) fn check(root: &Path, violations: &mut Vec<BrokenRule>) -> Result<()> {
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let mut report = |message| violations.push(BrokenRule::new("arrow", Path::new("ARCHITECTURE.md"), 0, message));
    let documented = documented_arrows(&architecture);
    // The command is above all libraries, and `xtask` is no part of the product: the document has no lines for them.
    for (name, allowed) in ARROWS.iter().filter(|(name, _)| !["passnet", "xtask"].contains(name)) {
        let expected: BTreeSet<&str> = allowed.iter().map(|name| short(name)).collect();
        if documented.get(short(name)) != Some(&expected) {
            let expected: Vec<&str> = expected.into_iter().collect();
            report(format!("the line of {} in the list of arrows should name: {}", short(name), expected.join(", ")));
        }
    }
    let output = cargo(root).args(["metadata", "--format-version=1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let members: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = arrows.get(name) else {
            report(format!("crate {name} is not in the list of arrows (xtask/src/tidy/arrows.rs)"));
            continue;
        };
        if !architecture.contains(&format!("| `{name}` |")) {
            report(format!("crate {name} is missing from the code map"));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            // Tests are not shipped, so they may use crates of higher floors.
            let for_tests = dependency["kind"].as_str() == Some("dev");
            if members.contains(target) && !for_tests && !allowed.contains(&target) {
                report(format!("{name} depends on {target}: no such arrow"));
            }
            for (prefix, owners) in RESERVED {
                if target.starts_with(prefix) && !for_tests && !owners.contains(&name) {
                    report(format!("{name} depends on {target}, reserved for {owners:?}"));
                }
            }
        }
    }
    Ok(())
}

/// Returns the arrows that ARCHITECTURE.md lists: a line for each crate, in the block after the name of this file.
fn documented_arrows(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let lines = text.lines().skip_while(|line| !line.contains("xtask/src/tidy/arrows.rs"));
    let block = lines.skip_while(|line| !line.starts_with("```")).skip(1).take_while(|line| !line.starts_with("```"));
    let arrows = block.filter_map(|line| line.split_once(' '));
    arrows
        .map(|(name, targets)| (name, targets.split(", ").map(str::trim).filter(|name| *name != "-").collect()))
        .collect()
}

/// Returns the name of a crate without the prefix that all crates have.
fn short(name: &str) -> &str {
    name.strip_prefix("passnet-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_lists_a_line_for_each_crate() {
        let text = "as `xtask/src/tidy/arrows.rs`:\n\n```\na   -\nbc  a, d\n```\n\n```\nx   y\n```\n";
        let arrows = documented_arrows(text);
        assert_eq!(
            arrows.into_iter().collect::<Vec<_>>(),
            [("a", BTreeSet::new()), ("bc", BTreeSet::from(["a", "d"]))]
        );
    }
}
