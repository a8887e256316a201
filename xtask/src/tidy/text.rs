//! Rules for the text of files: crate documentation, purity, machine paths, unfinished work, links.

use std::path::Path;

use super::violation::{TextFile, Violation};

/// Crates whose sources may not reach outside themselves: no files, clock, environment, network, processes, threads.
const PURE: &[&str] =
    &["passnet-record", "passnet-graph", "passnet-fuse", "passnet-score", "passnet-web", "passnet-objects"];

/// Names that a pure crate's sources may not contain.
const IMPURE: &[&str] =
    &["std::fs", "fs_err", "std::time", "std::env", "std::net", "std::process", "std::thread", "SystemTime", "Instant"];

pub(super) fn check(root: &Path, sources: &[TextFile], violations: &mut Vec<Violation>) {
    for source in sources {
        check_text(source, violations);
        if source.has_extension("md") {
            check_links(root, source, violations);
        }
    }
}

fn check_text(source: &TextFile, violations: &mut Vec<Violation>) {
    let mut report = |rule, line, message: String| violations.push(Violation::new(rule, &source.path, line, message));
    let is_code = source.has_extension("rs") || source.has_extension("py");
    let is_generated = source.has_extension("lock") || source.has_extension("snap");
    if source.path.ends_with("src/lib.rs") && !source.text.starts_with("//!") {
        report("crate-docs", 1, "a crate begins with its documentation".to_owned());
    }
    let pure = PURE.iter().any(|package| source.path.starts_with(format!("crates/{package}/src")));
    for (index, line) in source.text.lines().enumerate() {
        let number = index + 1;
        if !is_generated && (line.contains(concat!("/", "root/")) || line.contains(concat!("/", "work/"))) {
            report("machine-path", number, "an absolute path of one machine".to_owned());
        }
        if is_code && (line.contains(concat!("TO", "DO")) || line.contains(concat!("FIX", "ME"))) {
            report("unfinished", number, "unfinished work; file an issue instead".to_owned());
        }
        if pure && let Some(word) = IMPURE.iter().find(|word| line.contains(**word)) {
            report("purity", number, format!("{word} in a pure crate"));
        }
    }
}

/// Checks that relative links lead to a file. Code blocks have no links.
fn check_links(root: &Path, source: &TextFile, violations: &mut Vec<Violation>) {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let mut in_code = false;
    for (index, line) in source.text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence {
            continue;
        }
        // Every second part is between backquotes.
        let prose: String = line.split('`').step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let external = target.contains("://") || target.starts_with("mailto:") || target.is_empty();
            if !external && !root.join(folder).join(target).exists() {
                let message = format!("link to `{target}`, which does not exist");
                violations.push(Violation::new("link", &source.path, index + 1, message));
            }
        }
    }
}
