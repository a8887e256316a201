//! Suggestions for paths that do not exist.

use std::path::{Path, PathBuf};

use fs_err as fs;
use passnet_record::counted;

/// Similarity below which two names have little in common. The value is that of the command-line parser.
const LEAST: f64 = 0.7;

/// The same for a pattern and the most similar part of a name: among many parts, one is similar by chance.
const LEAST_OF_PARTS: f64 = 0.85;
/// Names of tasks that a message lists.
const SHOWN: usize = 3;

/// Returns an existing path that differs from a missing path in one misspelt name.
pub(super) fn similar_path(missing: &Path) -> Option<PathBuf> {
    let existing = missing.ancestors().find(|folder| folder.exists()).unwrap_or_else(|| Path::new(""));
    let mut rest = missing.strip_prefix(existing).ok()?.components();
    let name = rest.next()?.as_os_str().to_string_lossy().into_owned();
    let folder = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Suites are folders and archives.
    let names = names.filter(|name| folder.join(name).is_dir() || name.ends_with(".tar.zst"));
    let near = |other: String| (strsim::jaro(&name, &other), other);
    let (likeness, found) = names.map(near).max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1)))?;
    // Joining an empty rest would append a slash.
    let path = rest.fold(existing.join(found), |path, name| path.join(name));
    (likeness > LEAST && path.exists()).then_some(path)
}

/// Returns the task whose name resembles a pattern without a match; without such a task, the first names of the suite.
pub(super) fn existing_tasks(patterns: &[String], tasks: &[String]) -> String {
    let pairs = patterns.iter().flat_map(|pattern| tasks.iter().map(move |task| (likeness(pattern, task), task)));
    match pairs.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, task)) if likeness > LEAST_OF_PARTS => format!("did you mean `{task}`?"),
        _ => {
            let names: Vec<&str> = tasks.iter().take(SHOWN).map(String::as_str).collect();
            let more = if tasks.len() > SHOWN { ", ..." } else { "" };
            format!("the suite has {}: {}{more}", counted(tasks.len(), "task"), names.join(", "))
        }
    }
}

/// Returns the similarity of a pattern and the most similar words of a name: `rms_norm` resembles `llama-rms-norm`.
fn likeness(pattern: &str, name: &str) -> f64 {
    let (pattern, name) = (pattern.replace('_', "-"), name.replace('_', "-"));
    let starts = || std::iter::once(0).chain(name.match_indices('-').map(|(at, _)| at + 1));
    let parts = starts().flat_map(|start| ends(&name, start).map(|end| &name[start..end]).collect::<Vec<_>>());
    parts.map(|part| strsim::jaro(&pattern, part)).fold(0.0, f64::max)
}

/// Returns the places after `start` where a word of a name ends.
fn ends(name: &str, start: usize) -> impl Iterator<Item = usize> {
    let inner = name.match_indices('-').map(|(at, _)| at).filter(move |&at| at > start);
    inner.chain([name.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_found_in_each_place_of_a_path() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("demo/llama-rms-norm/000")).unwrap();
        fs::create_dir_all(root.path().join("demo/llama-rope")).unwrap();
        let check = |missing: &str, expected: Option<&str>| {
            let found = similar_path(&root.path().join(missing));
            assert_eq!(found, expected.map(|path| root.path().join(path)), "{missing}");
        };
        check("demo/llama-rms-nrom", Some("demo/llama-rms-norm"));
        check("demo/lama-rope", Some("demo/llama-rope"));
        check("deom/llama-rope", Some("demo/llama-rope"));
        check("demo/llama_rms_norm/000", Some("demo/llama-rms-norm/000"));
        check("demo/llama-rms-norm/00", Some("demo/llama-rms-norm/000"));
        check("deom/llama-rpoe", None);
        check("demo/xyz", None);
        fs::write(root.path().join("demo/other.txt"), "").unwrap();
        check("demo/other.tst", None);
        check("no/such/task", None);
    }

    #[test]
    fn a_misspelt_pattern_gets_a_task() {
        let tasks = ["bert-linear-gelu", "llama-rms-norm", "llama-rope", "vit-layernorm"].map(str::to_owned);
        let check = |pattern: &str, expected: &str| {
            assert_eq!(existing_tasks(&[pattern.to_owned()], &tasks), expected, "{pattern}");
        };
        check("rms_norm", "did you mean `llama-rms-norm`?");
        check("lama-rope", "did you mean `llama-rope`?");
        check("layrnorm", "did you mean `vit-layernorm`?");
        check("batchnrm", "the suite has 4 tasks: bert-linear-gelu, llama-rms-norm, llama-rope, ...");
        check("zzz", "the suite has 4 tasks: bert-linear-gelu, llama-rms-norm, llama-rope, ...");
    }
}
