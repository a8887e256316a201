//! The file that lists the passes of a directory, and the places of its mistakes.

use std::ops::Range;

use ruff_text_size::{TextRange, TextSize};

use crate::source::MAX_FILE_BYTES;

/// Name of the file that lists the passes in their order of application.
pub const ORDER_FILE: &str = "sorted_output_pass_rule_names.json";

/// A mistake in the order file.
#[derive(Debug)]
pub(crate) struct OrderProblem {
    pub(crate) subject: String,
    /// Bytes of the file that are wrong; the default range for the file as a whole.
    pub(crate) range: TextRange,
}

impl OrderProblem {
    fn whole(subject: String) -> Self {
        Self { subject, range: TextRange::default() }
    }

    fn at(subject: String, bytes: Range<usize>) -> Self {
        // The size of the file is limited, so the offsets fit.
        let [start, end] = [bytes.start, bytes.end].map(|offset| TextSize::new(offset as u32));
        Self { subject, range: TextRange::new(start, end) }
    }
}

/// Returns the names that the order file lists.
pub(crate) fn listed_names(order: Option<&[u8]>, files: &[(&str, &[u8])]) -> Result<Vec<String>, OrderProblem> {
    let bytes = order.ok_or_else(|| OrderProblem::whole(format!("there is no `{ORDER_FILE}`")))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(OrderProblem::whole(format!("`{ORDER_FILE}` is too large")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| OrderProblem::whole(not_a_list(&error.to_string())))?;
    let names: Vec<String> = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message);
        OrderProblem::at(not_a_list(message), character(text, error.line(), error.column()))
    })?;
    let mut listed: Vec<String> = Vec::new();
    for (name, place) in names.into_iter().zip(strings(text)) {
        let stem = name.strip_suffix(".py").unwrap_or(&name).to_owned();
        if !files.iter().any(|(file, _)| file.strip_suffix(".py") == Some(stem.as_str())) {
            return Err(OrderProblem::at(format!("`{name}` is not a pass of this directory"), place));
        }
        if listed.contains(&stem) {
            return Err(OrderProblem::at(format!("`{name}` is listed twice"), place));
        }
        listed.push(stem);
    }
    Ok(listed)
}

fn not_a_list(message: &str) -> String {
    format!("not a JSON list of names: {message}")
}

/// Returns the bytes of the character at a position of `serde_json`, whose columns are the bytes of the line that it has read.
fn character(text: &str, line: usize, column: usize) -> Range<usize> {
    let line_start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let start = text.floor_char_boundary(line_start + column.saturating_sub(1));
    start..start + text[start..].chars().next().map_or(0, char::len_utf8)
}

/// Returns the bytes of each string of a JSON list of strings, with its quotes.
fn strings(text: &str) -> impl Iterator<Item = Range<usize>> {
    let (mut start, mut escaped) = (None, false);
    text.bytes().enumerate().filter_map(move |(index, byte)| {
        let Some(begin) = start else {
            start = (byte == b'"').then_some(index);
            return None;
        };
        if byte == b'"' && !escaped {
            start = None;
            return Some(begin..index + 1);
        }
        escaped = byte == b'\\' && !escaped;
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint_dir;

    /// Checks the only place that a finding about an order file names, and its message.
    #[track_caller]
    fn check(order: &str, place: (usize, usize), message: &str) {
        let pass = "import torch\n";
        let findings = lint_dir(&[("a.py", pass.as_bytes()), ("\u{e9}.py", b""), (ORDER_FILE, order.as_bytes())]);
        let found: Vec<_> = findings.iter().filter(|finding| finding.rule == "PN105").collect();
        let [finding] = found.as_slice() else { panic!("{findings:?}") };
        assert_eq!((finding.start.line, finding.start.column), place, "{finding:?}");
        assert!(finding.message.contains(message), "{finding:?}");
        assert!(!finding.message.contains("line"), "{finding:?}");
    }

    #[test]
    fn a_mistake_has_one_place() {
        check("[\n  \"a\",\n  \"b\"\n]", (3, 3), "`b` is not a pass");
        check(r#"["a", "\u00e9", "é", "b"]"#, (1, 17), "`é` is listed twice");
        check(r#"["a", "b\\\"", "a"]"#, (1, 7), "is not a pass");
        check("[\"a\",\n \"b\"", (2, 4), "EOF while parsing a list");
        check("[\"a\",\n", (2, 1), "EOF while parsing");
        check("{}", (1, 1), "expected a sequence");
        check("[\"a\", 7]", (1, 7), "expected a string");
        check("", (1, 1), "EOF");
    }

    #[test]
    fn bytes_that_are_no_text_have_no_place() {
        let problem = listed_names(Some(b"[\"\xff\"]"), &[]).unwrap_err();
        assert!(problem.range.is_empty() && problem.subject.contains("utf-8"), "{problem:?}");
    }
}
