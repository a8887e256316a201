//! The tool `best_state`: compares the files with the best evaluated ones, or restores those.

use std::collections::BTreeMap;

use passnet_record::PassDirectory;
use serde_json::Value;
use similar::TextDiff;

use super::arguments::Arguments;
use crate::{shorten::shortened, workspace::Workspace};

/// Lines of context around a difference.
const CONTEXT: usize = 3;

/// Carries out `diff` or `restore`; returns the text for the model.
pub(super) fn best_state(
    files: &mut Workspace,
    best: Option<&PassDirectory>,
    arguments: &Value,
) -> Result<String, String> {
    let arguments = Arguments::of(arguments, &["command"])?;
    let command = arguments.need_text(&["command"])?;
    if !matches!(command, "diff" | "restore") {
        return Err(format!("there is no command `{}`; the commands are diff and restore", shortened(command, 80)));
    }
    let best = best.ok_or("nothing has been evaluated yet, so there is no best state")?;
    let best = texts(best);
    if command == "restore" {
        *files = Workspace::new(best).map_err(|error| error.to_string())?;
        return Ok(format!("restored. {}", files.list()));
    }
    let changes = diff(&best, files.files());
    Ok(if changes.is_empty() { "the files equal the best evaluated state".to_owned() } else { changes })
}

fn texts(passes: &PassDirectory) -> BTreeMap<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    passes.files().iter().map(|(name, bytes)| (name.clone(), text(bytes))).collect()
}

/// Returns the unified diff from the best files to the current ones; empty if they are equal.
fn diff(best: &BTreeMap<String, String>, current: &BTreeMap<String, String>) -> String {
    let mut names: Vec<&String> = best.keys().chain(current.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let empty = String::new();
    let mut text = String::new();
    for name in names {
        let (before, after) = (best.get(name).unwrap_or(&empty), current.get(name).unwrap_or(&empty));
        // An empty file and a missing one have the same text, but not the same meaning.
        if before != after || best.contains_key(name) != current.contains_key(name) {
            let changes = TextDiff::from_lines(before, after);
            let mut unified = changes.unified_diff();
            unified.context_radius(CONTEXT).header(&format!("best/{name}"), &format!("current/{name}"));
            text.push_str(&unified.to_string());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_files_are_compared_and_restored() {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let best = PassDirectory::new([file("a.py", "one\ntwo\n"), file("b.py", "b\n")]).unwrap();
        let mut files = Workspace::new([file("a.py", "one\nthree\n"), file("c.py", "c\n")]).unwrap();
        let diff = |files: &mut Workspace| best_state(files, Some(&best), &json!({"command": "diff"}));
        let text = diff(&mut files).unwrap();
        for line in ["-two", "+three", "--- best/b.py", "-b", "+++ current/c.py", "+c"] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        best_state(&mut files, Some(&best), &json!({"command": "restore"})).unwrap();
        assert_eq!(files.passes().id(), best.id());
        assert!(diff(&mut files).unwrap().contains("equal the best evaluated state"));
        assert!(best_state(&mut files, None, &json!({"command": "restore"})).unwrap_err().contains("nothing"));
        assert!(best_state(&mut files, Some(&best), &json!({"command": "undo"})).is_err());
    }
}
