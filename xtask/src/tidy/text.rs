//! Rules for the text of files: crate documentation, purity, machine paths, unfinished work, links.

use std::path::Path;

use super::violation::{BrokenRule, TextFile};

/// Crates whose sources may not reach outside themselves: no files, clock, environment, network, processes, threads.
const PURE: &[&str] =
    &["passnet-record", "passnet-graph", "passnet-fuse", "passnet-score", "passnet-web", "passnet-objects"];

/// Names that a pure crate's sources may not contain.
const IMPURE: &[&str] =
    &["std::fs", "fs_err", "std::time", "std::env", "std::net", "std::process", "std::thread", "SystemTime", "Instant"];

pub(super) fn check(root: &Path, sources: &[TextFile], violations: &mut Vec<BrokenRule>) {
    for source in sources {
        check_text(source, violations);
        if source.has_extension("md") {
            check_links(root, source, violations);
        }
    }
}

fn check_text(source: &TextFile, violations: &mut Vec<BrokenRule>) {
    let mut report = |rule, line, message: String| violations.push(BrokenRule::new(rule, &source.path, line, message));
    let is_code = source.has_extension("rs") || source.has_extension("py");
    let is_generated = source.has_extension("lock") || source.has_extension("snap");
    if source.path.ends_with("src/lib.rs")
        && let Some(missing) = missing_on_front_page(&source.text)
    {
        report("crate-docs", 1, format!("the documentation of a crate has {missing}"));
    }
    let pure = PURE.iter().any(|package| source.path.starts_with(format!("crates/{package}/src")));
    for (index, line) in source.text.lines().enumerate() {
        let number = index + 1;
        // In parts, here and below, so that these lines do not break the rules themselves.
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

/// Returns what the front page of a crate lacks: documentation, a sentence with "never", or an example.
fn missing_on_front_page(text: &str) -> Option<&'static str> {
    let page: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    if page.is_empty() {
        return Some("to come first in the file");
    }
    if !page.iter().any(|line| line.contains("never")) {
        return Some("to say what the crate never does");
    }
    // A block in another language, such as `text`, is a drawing.
    let is_example = |line: &&str| ["```", "```no_run", "```rust", "```python"].contains(line);
    // Every block of code has two such lines, and every drawing has one.
    let fences = page.iter().filter(|line| line.starts_with("```")).count();
    let examples = page.iter().copied().filter(|line| is_example(line)).count();
    (examples * 2 <= fences).then_some("to show an example")
}

/// Checks that relative links lead to a file. Code blocks have no links.
fn check_links(root: &Path, source: &TextFile, violations: &mut Vec<BrokenRule>) {
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
                violations.push(BrokenRule::new("link", &source.path, index + 1, message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::missing_on_front_page;

    #[test]
    fn a_front_page_has_limits_and_an_example() {
        let check = |text: &str| missing_on_front_page(text).is_none();
        assert!(check("//! A crate that never prints.\n//!\n//! ```\n//! f();\n//! ```\n\nmod f;\n"));
        assert!(check("//! Never.\n//! never\n//! ```text\n//! a -> b\n//! ```\n//! ```no_run\n//! f();\n//! ```\n"));
        assert!(!check("mod f;\n"));
        assert!(!check("//! A crate.\n//! ```\n//! f();\n//! ```\n"));
        assert!(!check("//! A crate that never prints.\n//! ```text\n//! a -> b\n//! ```\n"));
    }
}
