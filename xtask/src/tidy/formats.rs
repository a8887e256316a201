//! Formats: JSON that PassNet reads from disk or from another process, or that it writes there, is a type of `passnet-record`.
//!
//! The rule finds types that are read from JSON, and JSON that is written without a type: by `json!` or as text. A type that only has
//! `Serialize` is printed for other programs (`--json`) and is not checked.

use super::violation::{BrokenRule, TextFile};

pub(super) fn check(sources: &[TextFile], violations: &mut Vec<BrokenRule>) {
    let is_library = |source: &&TextFile| {
        source.has_extension("rs")
            && source.path.starts_with("crates")
            && !source.path.starts_with("crates/passnet-record")
            && source.path.iter().any(|part| part == "src")
    };
    for source in sources.iter().filter(is_library) {
        if source.path.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        for (line, message) in formats(&source.text) {
            violations.push(BrokenRule::new("format", &source.path, line, message));
        }
    }
}

const READ: &str = "a type that is read from JSON; move it to `passnet-record`, with a version";
const WRITTEN: &str = "JSON without a type; write a type of `passnet-record`, with a version";

/// Returns the lines of a file that read or write JSON without a type of `passnet-record`, outside its tests.
fn formats(text: &str) -> Vec<(usize, &'static str)> {
    let code = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let broken = |line: &str| {
        if line.starts_with("//") {
            return None;
        }
        let reads = line.contains("derive(") && line.contains("Deserialize") || line.contains("Deserialize<'de> for ");
        // A brace and a quoted key, also in a format string, where braces are doubled.
        let writes = ["json!(", "\"{\\\"", "\"{{\\\"", "r#\"{\"", "r#\"{{\""].iter().any(|form| line.contains(form));
        if reads { Some(READ) } else { writes.then_some(WRITTEN) }
    };
    let lines = code.lines().enumerate();
    lines.filter_map(|(index, line)| Some((index + 1, broken(line.trim_start())?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{READ, WRITTEN, formats};

    #[test]
    fn readable_types_are_found() {
        let check = |text: &str, expected: &[usize]| {
            let expected: Vec<_> = expected.iter().map(|&line| (line, READ)).collect();
            assert_eq!(formats(text), expected, "{text}");
        };
        check("use serde::Deserialize;\nfn read<T: for<'de> Deserialize<'de>>() {}\n", &[]);
        check("#[derive(Debug, Serialize)]\nstruct A;\n", &[]);
        check("#[derive(Debug, Deserialize)]\nstruct A;\n", &[1]);
        check("mod a {\n    #[derive(serde::Deserialize)]\n    struct A;\n}\n", &[2]);
        check("struct A;\nimpl<'de> Deserialize<'de> for A {}\n", &[2]);
        check("struct A;\n#[cfg(test)]\nmod tests {\n    #[derive(Deserialize)]\n    struct B;\n}\n", &[]);
    }

    #[test]
    fn untyped_json_is_found() {
        let check = |text: &str, expected: &[usize]| {
            let expected: Vec<_> = expected.iter().map(|&line| (line, WRITTEN)).collect();
            assert_eq!(formats(text), expected, "{text}");
        };
        check("fn a() -> Value {\n    json!({\"a\": 1})\n}\n", &[2]);
        check("let a = serde_json::json!([1]);\n", &[1]);
        check("let a = \"{\\\"error\\\": 1}\";\nlet b = format!(\"{{\\\"error\\\": {a}}}\");\n", &[1, 2]);
        check("let a = r#\"{\"error\": 1}\"#;\n", &[1]);
        check("//! let question = json!({});\n/// A `json!({})`.\nfn a() {}\n", &[]);
        check("let a = format!(\"{a}\\\"{b}\");\n", &[]);
        check("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { json!({}) }\n}\n", &[]);
    }
}
