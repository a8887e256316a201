//! Source code as lines of HTML with keywords, strings and comments marked.
//!
//! Passes are Python, and their kernels are C++ in files or in strings. One scanner serves both: it knows comments, strings and
//! words, which is enough for a reader. It never fails: text that it does not know stays plain.

use maud::{Escaper, Markup, PreEscaped};
use std::fmt::Write as _;

/// Language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Cpp,
    /// Not marked.
    Plain,
}

impl Language {
    /// Returns the language of a file by its name.
    pub(crate) fn of(path: &str) -> Self {
        match path.rsplit('.').next() {
            Some("py") => Self::Python,
            Some("cpp" | "cc" | "cu" | "cuh" | "h" | "hpp") => Self::Cpp,
            _ => Self::Plain,
        }
    }

    fn keywords(self) -> &'static [&'static str] {
        match self {
            Self::Python => &[
                "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
                "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
                "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
            ],
            Self::Cpp => &[
                "__device__",
                "__global__",
                "__restrict__",
                "__shared__",
                "auto",
                "bool",
                "break",
                "case",
                "char",
                "const",
                "constexpr",
                "continue",
                "do",
                "double",
                "else",
                "extern",
                "false",
                "float",
                "for",
                "if",
                "inline",
                "int",
                "int64_t",
                "long",
                "namespace",
                "return",
                "short",
                "size_t",
                "sizeof",
                "static",
                "static_cast",
                "struct",
                "switch",
                "template",
                "true",
                "typedef",
                "typename",
                "unsigned",
                "using",
                "void",
                "while",
            ],
            Self::Plain => &[],
        }
    }
}

/// A part of the source that is marked, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marking {
    Plain,
    Keyword,
    Text,
    Comment,
}

impl Marking {
    /// Element that marks the part. The names are short, because a page has thousands of them.
    fn element(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Keyword => Some("b"),
            Self::Text => Some("u"),
            Self::Comment => Some("em"),
        }
    }
}

/// Returns the lines of a source. `most` bounds the bytes that are marked, because marks make a page heavier; the rest is plain.
pub(crate) fn highlighted(source: &str, language: Language, most: usize) -> Vec<Markup> {
    let marked = source.floor_char_boundary(most);
    let mut lines = vec![String::new()];
    for (kind, text) in scan(&source[..marked], language) {
        put(&mut lines, kind, text);
    }
    put(&mut lines, Marking::Plain, &source[marked..]);
    // A last line without an end is a line; an empty one is not.
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.into_iter().map(PreEscaped).collect()
}

fn put(lines: &mut Vec<String>, kind: Marking, text: &str) {
    for (index, part) in text.split('\n').enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        let part = part.strip_suffix('\r').unwrap_or(part);
        let Some(line) = lines.last_mut().filter(|_| !part.is_empty()) else { continue };
        // Writing to a string does not fail.
        let element = kind.element().filter(|_| !part.trim().is_empty());
        if let Some(element) = element {
            let _ = write!(line, "<{element}>");
        }
        let _ = Escaper::new(line).write_str(part);
        if let Some(element) = element {
            let _ = write!(line, "</{element}>");
        }
    }
}

/// Splits a source into parts; together they are the source.
fn scan(source: &str, language: Language) -> Vec<(Marking, &str)> {
    let mut parts = Vec::new();
    if language == Language::Plain {
        return vec![(Marking::Plain, source)];
    }
    let (mut at, mut plain) = (0, 0);
    while at < source.len() {
        let rest = &source[at..];
        let Some((kind, length)) = token(rest, language) else {
            // Whole words are skipped, so that a keyword inside a longer name is not marked.
            at += word(rest).max(rest.chars().next().map_or(1, char::len_utf8));
            continue;
        };
        parts.push((Marking::Plain, &source[plain..at]));
        let text = &rest[..length];
        // A kernel in one colour would be unreadable, and kernels are what people look for.
        if language == Language::Python && kind == Marking::Text && is_kernel(text) {
            parts.extend(scan(text, Language::Cpp));
        } else {
            parts.push((kind, text));
        }
        at += length;
        plain = at;
    }
    parts.push((Marking::Plain, &source[plain..]));
    parts
}

/// Returns whether a Python string is the source of a kernel.
fn is_kernel(text: &str) -> bool {
    text.starts_with("\"\"\"") && text.contains(";\n") && text.contains('{')
}

/// Returns the marked part at the beginning of a source, and its length in bytes.
fn token(rest: &str, language: Language) -> Option<(Marking, usize)> {
    let line = || rest.find('\n').unwrap_or(rest.len());
    let until = |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    match language {
        Language::Python if rest.starts_with('#') => return Some((Marking::Comment, line())),
        Language::Python if rest.starts_with("\"\"\"") => return Some((Marking::Text, until(3, "\"\"\""))),
        Language::Python if rest.starts_with("'''") => return Some((Marking::Text, until(3, "'''"))),
        // The quotes of a Python string around a kernel are not those of a C++ string.
        Language::Cpp if rest.starts_with("\"\"\"") => return Some((Marking::Text, 3)),
        Language::Cpp if rest.starts_with("//") => return Some((Marking::Comment, line())),
        Language::Cpp if rest.starts_with("/*") => return Some((Marking::Comment, until(2, "*/"))),
        Language::Cpp if rest.starts_with('#') => return Some((Marking::Keyword, word(&rest[1..]) + 1)),
        _ => {}
    }
    if rest.starts_with(['"', '\'']) {
        return Some((Marking::Text, quoted(rest)));
    }
    let length = word(rest);
    language.keywords().contains(&&rest[..length]).then_some((Marking::Keyword, length))
}

/// Returns the length of a string on one line, with its quotes; up to the end of the line if it is not closed.
fn quoted(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if byte == bytes[0] => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the length of the word or number at the beginning; 0 if there is none.
fn word(rest: &str) -> usize {
    rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(source: &str, language: Language) -> Vec<String> {
        highlighted(source, language, usize::MAX).into_iter().map(PreEscaped::into_string).collect()
    }

    #[test]
    fn words_strings_and_comments_are_marked() {
        assert_eq!(
            marked("import torch  # a <b>\nx = 'it\\'s'\n", Language::Python),
            ["<b>import</b> torch  <em># a &lt;b&gt;</em>", "x = <u>'it\\'s'</u>"]
        );
        assert_eq!(marked("for_each(inform)", Language::Python), ["for_each(inform)"]);
        assert_eq!(
            marked("#include <a>\nfloat f; // int\n", Language::Cpp),
            ["<b>#include</b> &lt;a&gt;", "<b>float</b> f; <em>// int</em>"]
        );
    }

    #[test]
    fn a_kernel_in_a_string_is_marked_as_a_kernel() {
        assert_eq!(
            marked("S = \"\"\"\nvoid f() {\n  return;\n}\n\"\"\"\nif S: pass", Language::Python),
            [
                "S = <u>\"\"\"</u>",
                "<b>void</b> f() {",
                "  <b>return</b>;",
                "}",
                "<u>\"\"\"</u>",
                "<b>if</b> S: <b>pass</b>"
            ]
            .map(|line| line.replace('"', "&quot;"))
        );
        assert_eq!(
            marked("\"\"\"a\nb\"\"\"", Language::Python),
            ["<u>&quot;&quot;&quot;a</u>", "<u>b&quot;&quot;&quot;</u>"]
        );
    }

    #[test]
    fn nothing_is_lost() {
        for text in ["'é\n\"", "\\", "/* é", "\"\\", "x\r\ny", "'''", "#", "\"\"\"é;\n{'\"\"\"//"] {
            for language in [Language::Python, Language::Cpp, Language::Plain] {
                let parts: String = scan(text, language).into_iter().map(|(_, part)| part).collect();
                assert_eq!(parts, text);
                for most in 0..=text.len() {
                    highlighted(text, language, most);
                }
            }
        }
    }
}
