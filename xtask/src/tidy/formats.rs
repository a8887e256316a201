//! Formats: what PassNet reads from disk or from another process is a type of `passnet-record`.
//!
//! A type that only has `Serialize` is printed for other programs (`--json`) and is checked by no rule.

use super::violation::{BrokenRule, TextFile};

pub(super) fn check(sources: &[TextFile], violations: &mut Vec<BrokenRule>) {
    let is_library = |source: &&TextFile| {
        source.has_extension("rs")
            && source.path.starts_with("crates")
            && !source.path.starts_with("crates/passnet-record")
            && source.path.iter().any(|part| part == "src")
    };
    for source in sources.iter().filter(is_library) {
        for line in formats(&source.text) {
            let message = "a type that is read from JSON; move it to `passnet-record`, with a version";
            violations.push(BrokenRule::new("format", &source.path, line, message));
        }
    }
}

/// Returns the lines of a file that make a type readable, outside its tests.
fn formats(text: &str) -> Vec<usize> {
    let code = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let reads = |line: &str| {
        let derives = line.contains("derive(") && line.contains("Deserialize");
        derives || line.contains("Deserialize<'de> for ")
    };
    let lines = code.lines().enumerate();
    lines.filter(|(_, line)| reads(line.trim_start())).map(|(index, _)| index + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::formats;

    #[test]
    fn readable_types_are_found() {
        let check = |text: &str, expected: &[usize]| assert_eq!(formats(text), expected, "{text}");
        check("use serde::Deserialize;\nfn read<T: for<'de> Deserialize<'de>>() {}\n", &[]);
        check("#[derive(Debug, Serialize)]\nstruct A;\n", &[]);
        check("#[derive(Debug, Deserialize)]\nstruct A;\n", &[1]);
        check("mod a {\n    #[derive(serde::Deserialize)]\n    struct A;\n}\n", &[2]);
        check("struct A;\nimpl<'de> Deserialize<'de> for A {}\n", &[2]);
        check("struct A;\n#[cfg(test)]\nmod tests {\n    #[derive(Deserialize)]\n    struct B;\n}\n", &[]);
    }
}
