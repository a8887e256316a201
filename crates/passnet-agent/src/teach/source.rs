//! Parts of a pass file as the built-in author writes it.

use std::ops::Range;

/// Lines of a pass file.
pub(super) struct PassLines<'a> {
    lines: Vec<&'a str>,
}

impl<'a> PassLines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { lines: text.lines().collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, index: usize) -> &'a str {
        self.lines[index]
    }

    /// Returns lines as one text.
    pub(super) fn lines(&self, range: Range<usize>) -> String {
        self.lines[range].join("\n")
    }

    /// Returns the file with another text in place of a line.
    pub(super) fn with_line(&self, index: usize, text: &str) -> String {
        let mut lines = self.lines.clone();
        lines[index] = text;
        lines.join("\n") + "\n"
    }

    /// Returns the first line that begins with a text.
    pub(super) fn find(&self, begin: &str) -> Option<usize> {
        self.lines.iter().position(|line| line.starts_with(begin))
    }

    /// Returns the lines of a function's body.
    pub(super) fn body(&self, definition: &str) -> Option<Range<usize>> {
        let begin = self.find(definition)?;
        // A long list of parameters has lines of its own.
        let first = begin + 1 + self.lines[begin..].iter().position(|line| line.ends_with("):"))?;
        let body = self.lines[first..].iter().take_while(|line| line.starts_with("    ")).count();
        (body > 0).then_some(first..first + body)
    }

    /// Returns the lines of the pattern's body.
    pub(super) fn pattern(&self) -> Option<Range<usize>> {
        self.body("def pattern(")
    }

    /// Returns the line that defines the replacement function.
    pub(super) fn definition_of_wrapper(&self) -> Option<usize> {
        let name = self.line(self.body("def replacement_func(")?.start).trim().strip_prefix("return ")?;
        self.find(&format!("def {name}("))
    }

    /// Returns the lines of the replacement function's body.
    pub(super) fn wrapper(&self) -> Option<Range<usize>> {
        self.body(self.line(self.definition_of_wrapper()?))
    }

    /// Returns the lines of a table, without its brackets.
    pub(super) fn table(&self, begin: &str) -> Option<Range<usize>> {
        let first = self.find(begin)? + 1;
        let rows = self.lines[first..].iter().position(|line| *line == "}")?;
        Some(first..first + rows)
    }

    /// Returns the lines of all kernels: the C++ source, or the functions of Triton.
    pub(super) fn kernels(&self) -> Option<Range<usize>> {
        if let Some(begin) = self.find("SOURCE = \"\"\"") {
            let rows = self.lines[begin + 1..].iter().position(|line| *line == "\"\"\"")?;
            return Some(begin + 1..begin + 1 + rows);
        }
        let begin = self.find("@triton.jit")?;
        Some(begin..self.find("PLANS = {")?.max(begin))
    }

    /// Returns the name of a value that a line of a kernel defines, such as `v3`.
    pub(super) fn defines(&self, index: usize) -> Option<&'a str> {
        let (left, _) = self.line(index).trim_start().split_once(" = ")?;
        let name = ["const vec ", "const float ", "const double "]
            .iter()
            .find_map(|begin| left.strip_prefix(begin))
            .unwrap_or(left);
        let number = name.strip_prefix(['v', 'x'])?;
        (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(name)
    }

    /// Returns whether a name occurs in a line.
    pub(super) fn has_word(&self, index: usize, name: &str) -> bool {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.line(index).split(|c| !part(c)).any(|word| word == name)
    }
}

/// Returns the places of unsigned numbers in a line of Python.
pub(super) fn numbers(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            // Digits within a name belong to the name.
            let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
            at += if part(&bytes[at]) { bytes[at..].iter().take_while(|byte| part(byte)).count() } else { 1 };
            continue;
        }
        let begin = at;
        while at < bytes.len()
            && (bytes[at].is_ascii_digit()
                || matches!(bytes[at], b'.' | b'e')
                || bytes[at] == b'-' && bytes[at - 1] == b'e')
        {
            at += 1;
        }
        found.push(begin..at);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_outside_of_names() {
        let line = "    t1 = torch.pow(in0, 3.0) + 1e-06 * t0.view(-1, 128)";
        let found: Vec<&str> = numbers(line).into_iter().map(|range| &line[range]).collect();
        assert_eq!(found, ["3.0", "1e-06", "1", "128"]);
    }
}
