//! `cargo xtask tidy`: the invariants of ARCHITECTURE.md and STYLE.md that no compiler checks.

mod arrows;
mod cycles;
mod exceptions;
mod formats;
mod modules;
mod names;
mod places;
mod sizes;
mod text;
mod violation;
mod words;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use violation::{BrokenRule, TextFile};

/// Checks all invariants and lists every violation, or only those whose path begins with one of `scopes`.
pub(crate) fn tidy(root: &Path, scopes: &[&str]) -> Result<()> {
    let sources = tracked_sources(root)?;
    let crates = modules::read_crates(root, &sources)?;
    let mut violations = Vec::new();
    arrows::check(root, &mut violations)?;
    cycles::check(&crates, &mut violations);
    formats::check(&sources, &mut violations);
    places::check(&sources, &mut violations);
    sizes::check(&sources, &crates, &mut violations);
    text::check(root, &sources, &mut violations);
    words::check(&sources, &mut violations);
    exceptions::apply(&mut violations);
    if !scopes.is_empty() {
        violations.retain(|violation| scopes.iter().any(|scope| violation.file.starts_with(scope)));
    }
    for violation in &violations {
        eprintln!("{violation}");
    }
    report(&sources, &crates, &violations)
}

fn report(sources: &[TextFile], crates: &[modules::CrateModules], violations: &[BrokenRule]) -> Result<()> {
    let modules: usize = crates.iter().map(|package| package.files.len()).sum();
    if violations.is_empty() {
        println!("tidy: {} files, {} crates, {modules} modules, no violation", sources.len(), crates.len());
        println!(
            "checked: arrows between crates, import cycles, stored formats, lengths of files and functions, module style, links, places in the sources that guides name, words"
        );
        return Ok(());
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for violation in violations {
        *counts.entry(violation.rule).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    bail!("{} violations of ARCHITECTURE.md or STYLE.md: {}", violations.len(), counts.join(", "))
}

/// Tracked files that are text. Binary files have no lines to check.
fn tracked_sources(root: &Path) -> Result<Vec<TextFile>> {
    let output = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output().context("cannot run git")?;
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let paths = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(paths.filter_map(|path| fs::read_to_string(root.join(&path)).ok().map(|text| TextFile { path, text })).collect())
}
