//! Places: the files and functions that the guides for contributors name exist.

use super::violation::{BrokenRule, TextFile};

/// Pages that lead through the sources.
const PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Folders that a path on these pages may be relative to.
const BASES: &[&str] = &["", "crates/", "crates/passnet-eval/src/"];

pub(super) fn check(sources: &[TextFile], violations: &mut Vec<BrokenRule>) {
    for page in sources.iter().filter(|source| PAGES.iter().any(|page| source.path.as_os_str() == *page)) {
        for (line, message) in wrong_places(&page.text, sources) {
            violations.push(BrokenRule::new("place", &page.path, line, message));
        }
    }
}

/// Returns the lines of a page that name a file that does not exist, or something that a file does not have.
fn wrong_places(page: &str, sources: &[TextFile]) -> Vec<(usize, String)> {
    // Odd parts are code. A fence is three backticks, which leaves two empty parts and the same parity.
    let parts: Vec<&str> = page.split('`').collect();
    let (mut found, mut line) = (Vec::new(), 1);
    for (index, part) in parts.iter().enumerate() {
        if index % 2 == 1 && is_path(part) {
            let files = files_at(part, sources);
            if files.is_empty() {
                found.push((line, format!("`{part}` does not exist")));
            } else if index >= 2 && parts[index - 1].split_whitespace().eq(["in"]) {
                // "`name` in `path`"
                let name = parts[index - 2].rsplit("::").next().unwrap_or_default();
                let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                if is_name && !files.iter().any(|file| file.text.contains(name)) {
                    found.push((line, format!("`{part}` has no `{name}`")));
                }
            }
        }
        line += part.matches('\n').count();
    }
    found
}

/// Returns whether code on a page is the path of a source. Words in capitals stand for any name.
fn is_path(code: &str) -> bool {
    let is_source = [".rs", ".py"].iter().any(|extension| code.ends_with(extension));
    let is_folder = code.ends_with('/') || code.starts_with("crates/") || code.starts_with("python/");
    let is_plain = code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-".contains(c));
    is_plain && (is_source || is_folder && code.contains('/'))
}

/// Returns the files that a path names: one, all of a folder, or those whose path ends with it.
fn files_at<'a>(path: &str, sources: &'a [TextFile]) -> Vec<&'a TextFile> {
    let full: Vec<String> = BASES.iter().map(|base| format!("{base}{path}")).collect();
    let ends = format!("/{path}");
    let matches = |source: &&TextFile| {
        let found = source.path.to_string_lossy();
        full.iter().any(|full| {
            found == full.as_str()
                || found.strip_prefix(full.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        }) || found.ends_with(&ends)
    };
    sources.iter().filter(matches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_do_not_exist_are_found() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.to_owned() };
        let sources = [
            file("crates/passnet-eval/src/zygote.rs", "impl Zygote { fn fork() {} }"),
            file("crates/passnet-run/src/suite.rs", "pub struct Suite;"),
            file("python/passnet/_zoo/__init__.py", "_LIBRARIES = {}"),
        ];
        let check = |page: &str, expected: &[(usize, &str)]| {
            let found = wrong_places(page, &sources);
            let found: Vec<_> = found.iter().map(|(line, message)| (*line, message.as_str())).collect();
            assert_eq!(found, expected, "{page}");
        };
        check("`Zygote::fork` in `zygote.rs`, `Suite` in\n`passnet-run/src/suite.rs`", &[]);
        check("a\n`Zygote::kill` in `zygote.rs`", &[(2, "`zygote.rs` has no `kill`")]);
        check("`Suites` in\n`passnet-run/src/suite.rs`", &[(2, "`passnet-run/src/suite.rs` has no `Suites`")]);
        check("in `python/passnet/_zoo/`, `_LIBRARIES` of `_zoo/__init__.py`", &[]);
        check(
            "`crates/passnet-gone/src/`\n\n`gone.rs`",
            &[(1, "`crates/passnet-gone/src/` does not exist"), (3, "`gone.rs` does not exist")],
        );
        check("```text\na/b.rs\n```\n`attacks/FAMILY/` and `model` and `--flag`", &[]);
    }
}
