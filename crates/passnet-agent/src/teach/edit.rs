//! Edits that turn one pass directory into another.

use passnet_record::{ORDER_FILE, PassDirectory};
use serde_json::{Value, json};

use crate::workspace::ROOT;

/// Maximum lines that a replacement changes; more are written as a file.
const MAX_CHANGED: usize = 24;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Create {
        name: String,
        text: String,
    },
    /// Replaces a text that occurs once.
    Replace {
        name: String,
        old: String,
        new: String,
    },
    Delete {
        name: String,
    },
}

impl Edit {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Create { name, .. } | Self::Replace { name, .. } | Self::Delete { name } => name,
        }
    }

    pub(super) fn arguments(&self) -> Value {
        let path = format!("{ROOT}/{}", self.name());
        match self {
            Self::Create { text, .. } => json!({"command": "create", "path": path, "file_text": text}),
            Self::Replace { old, new, .. } => {
                json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
            }
            Self::Delete { .. } => json!({"command": "delete", "path": path}),
        }
    }
}

/// Returns the edits that turn one directory into another; the order of the passes comes last.
pub(super) fn edits(before: &PassDirectory, after: &PassDirectory) -> Vec<Edit> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let gone = before.files().iter().filter(|(name, _)| after.files().iter().all(|(other, _)| other != name));
    let mut edits: Vec<Edit> = gone.map(|(name, _)| Edit::Delete { name: name.clone() }).collect();
    let new = after.files().iter().filter(|file| !before.files().contains(file));
    edits.extend(new.map(|(name, bytes)| {
        let old = before.files().iter().find(|(other, _)| other == name);
        old.and_then(|(_, old)| replacement(name, &text(old), &text(bytes)))
            .unwrap_or_else(|| Edit::Create { name: name.clone(), text: text(bytes) })
    }));
    // The order names passes, so it is only valid when their files exist.
    edits.sort_by_key(|edit| edit.name() == ORDER_FILE);
    edits
}

/// Returns one replacement that turns a text into another; `None` if too much is different.
fn replacement(name: &str, old: &str, new: &str) -> Option<Edit> {
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let equal = |mut pairs: Box<dyn Iterator<Item = bool> + '_>| pairs.by_ref().take_while(|same| *same).count();
    let mut head = equal(Box::new(before.iter().zip(&after).map(|(a, b)| a == b)));
    let most = before.len().min(after.len()) - head;
    let mut tail = equal(Box::new(before.iter().rev().zip(after.iter().rev()).take(most).map(|(a, b)| a == b)));
    let changed = before.len().max(after.len()) - head - tail;
    if changed > MAX_CHANGED || old.ends_with('\n') != new.ends_with('\n') {
        return None;
    }
    // Adds lines around the change until the text occurs once.
    loop {
        let part = |lines: &[&str]| lines[head..lines.len() - tail].join("\n");
        let (from, to) = (part(&before), part(&after));
        // Without lines on one side the line end between them would be left over.
        if !from.is_empty() && !to.is_empty() && old.matches(from.as_str()).count() == 1 {
            return Some(Edit::Replace { name: name.to_owned(), old: from, new: to });
        }
        if head == 0 && tail == 0 {
            return None;
        }
        head = head.saturating_sub(1);
        tail = tail.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::PassDirectory;

    use super::*;
    use crate::workspace::Workspace;

    fn directory(files: &[(&str, &str)]) -> PassDirectory {
        PassDirectory::new(files.iter().copied()).unwrap()
    }

    fn apply(before: &PassDirectory, edits: &[Edit]) -> PassDirectory {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut files = Workspace::new(before.files().iter().map(|(name, bytes)| (name.clone(), text(bytes)))).unwrap();
        for edit in edits {
            match edit {
                Edit::Create { name, text } => files.write(name, text.clone()).unwrap(),
                Edit::Replace { name, old, new } => files.replace(name, old, new).unwrap(),
                Edit::Delete { name } => files.delete(name).unwrap(),
            }
        }
        files.passes()
    }

    #[test]
    fn edits_lead_from_one_directory_to_the_next() {
        let long: String = (0..60).map(|line| format!("line {line}\n")).collect();
        let other = long.replace("line", "row");
        let before = directory(&[("a.py", &long), ("b.py", "2"), (ORDER_FILE, "[\"a\", \"b\"]")]);
        let after = directory(&[("a.py", &other), (ORDER_FILE, "[\"a\"]"), ("z.py", "4")]);
        let edits = edits(&before, &after);
        let named: Vec<_> = edits.iter().map(|edit| (edit.name(), matches!(edit, Edit::Delete { .. }))).collect();
        assert_eq!(named, [("b.py", true), ("a.py", false), ("z.py", false), (ORDER_FILE, false)]);
        assert!(matches!(edits[1], Edit::Create { .. }));
        assert_eq!(apply(&before, &edits).id(), after.id());
    }

    #[test]
    fn a_small_change_is_a_replacement_of_what_occurs_once() {
        let cases = [
            ("a\nb\nc\n", "a\nB\nc\n"),
            ("x = 1\ny = 2\nx = 1\nz = 3\n", "x = 1\ny = 2\nx = 7\nz = 3\n"),
            ("a\nnew\nb\n", "a\nb\n"),
            ("a\nb\n", "a\nnew\nb\n"),
            ("a\na\na\n", "a\na\n"),
            ("a\n", "b"),
        ];
        for (old, new) in cases {
            let (before, after) = (directory(&[("a.py", old)]), directory(&[("a.py", new)]));
            assert_eq!(apply(&before, &edits(&before, &after)).id(), after.id(), "{old:?} {new:?}");
        }
        let replaced = replacement("a.py", cases[1].0, cases[1].1);
        assert!(matches!(replaced, Some(Edit::Replace { .. })), "{replaced:?}");
    }
}
