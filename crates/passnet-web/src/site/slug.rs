//! Names of pages, restricted to characters that a URL and any file system accept.

use std::collections::BTreeSet;

/// Longest name of a page, so that no path grows beyond what file systems take.
const MAX: usize = 80;

/// Assigns a unique name of lower-case letters, digits, `-`, `_` and `.` to each text.
#[derive(Debug, Default)]
pub(crate) struct Slugs {
    taken: BTreeSet<String>,
}

impl Slugs {
    /// A name that was not given before.
    pub(crate) fn name(&mut self, text: &str) -> String {
        let base = slug(text);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        // There are endless candidates, so one of them is free.
        let name =
            std::iter::once(base.clone()).chain(numbered).find(|name| !self.taken.contains(name)).unwrap_or(base);
        self.taken.insert(name.clone());
        name
    }
}

fn slug(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().take(MAX) {
        let c = c.to_ascii_lowercase();
        match c {
            'a'..='z' | '0'..='9' | '_' | '.' => name.push(c),
            // Several special characters in a row become one dash.
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    // A leading dot would hide the file, and `..` would be the folder above.
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_differ() {
        let mut slugs = Slugs::default();
        let names =
            ["A b", "a B", "../../etc/passwd", "<script>", "", "..", "dir:passes/x"].map(|text| slugs.name(text));
        assert_eq!(names, ["a-b", "a-b-2", "etc-passwd", "script", "unnamed", "unnamed-2", "dir-passes-x"]);
        assert!(slugs.name(&"é".repeat(500)).len() <= MAX);
    }
}
