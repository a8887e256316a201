//! `docs/reference/environment.md` lists every variable that the sources name, and no other.

use std::{collections::BTreeSet, path::Path};

use crate::repository;

/// Prefix of the names, written in two parts so that this file names no variable.
const PREFIX: &str = concat!("PASS", "NET_");

#[test]
fn the_page_of_environment_variables_is_complete() {
    let mut sources = BTreeSet::new();
    for folder in ["crates", "python", "xtask", "benches", "packaging", "recipes", "examples", "suites", "fuzz", ".ci"]
    {
        collect(&repository().join(folder), &mut sources);
    }
    let mut listed = BTreeSet::new();
    names(&std::fs::read_to_string(repository().join("docs/reference/environment.md")).unwrap(), &mut listed);
    let missing: Vec<_> = sources.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&sources).collect();
    assert!(sources.len() > 10 && missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
}

/// The names in all sources below a folder.
fn collect(folder: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "__pycache__" {
            collect(&path, found);
        } else if [".rs", ".py", ".sh", "run"].iter().any(|end| name.ends_with(end)) {
            names(&std::fs::read_to_string(&path).unwrap_or_default(), found);
        }
    }
}

fn names(text: &str, found: &mut BTreeSet<String>) {
    for (start, _) in text.match_indices(PREFIX) {
        let rest = &text[start..];
        let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
        if end > PREFIX.len() {
            found.insert(rest[..end].trim_end_matches('_').to_owned());
        }
    }
}
