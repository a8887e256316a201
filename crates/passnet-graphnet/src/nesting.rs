//! An upper bound of the depth of a text's syntax tree, computed without building the tree.
//!
//! Walking or dropping a deep tree overflows the stack, which cannot be caught. So the depth is checked before the parser runs.
//! Each level of the tree takes at least one token between two commas (`- - - x`, `a.b.c`, `a + b + c`), one bracket, or one
//! blank of indentation. The bound is the number of tokens since the last separator, summed over the open brackets, plus the
//! indentation of the line.
//!
//! The parser recovers from errors in ways that are hard to predict, so text whose strings and brackets do not match is refused
//! here. Formatted strings are refused too, because they contain code.

use ruff_text_size::TextSize;

use crate::ErrorKind;

/// Depth of the deepest tree that is parsed.
pub(crate) const MAX_NESTING: u32 = 200;

/// Refuses text whose tree could be deeper than [`MAX_NESTING`]. The error names the place.
pub(crate) fn check(text: &str) -> Result<(), (TextSize, ErrorKind)> {
    NestingScan::default().run(text.as_bytes()).map_err(|(at, kind)| (TextSize::new(at as u32), kind))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Blank,
    Newline,
    Open,
    Close,
    Separator,
    Equals,
    Quote,
    Comment,
    Backslash,
    Other,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 0x80.. => Class::Word,
            b' ' | b'\t' | 0x0c => Class::Blank,
            b'\n' | b'\r' => Class::Newline,
            b'(' | b'[' | b'{' => Class::Open,
            b')' | b']' | b'}' => Class::Close,
            b',' | b';' => Class::Separator,
            b'=' => Class::Equals,
            b'\'' | b'"' => Class::Quote,
            b'#' => Class::Comment,
            b'\\' => Class::Backslash,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

fn class(bytes: &[u8], at: usize) -> Option<Class> {
    bytes.get(at).map(|&byte| CLASSES[byte as usize])
}

#[derive(Default)]
struct NestingScan {
    /// The bound at the current place.
    depth: u32,
    /// The part of `depth` that was added since the last separator inside the current bracket.
    since_separator: u32,
    /// For each open bracket: the bracket as a byte, and `since_separator` outside of it.
    open: Vec<(u8, u32)>,
    /// True after `lambda`: then a comma or `=` does not end an operand, but leads to the next level.
    has_lambda: bool,
}

impl NestingScan {
    fn run(&mut self, bytes: &[u8]) -> Result<(), (usize, ErrorKind)> {
        let mut at = 0;
        let mut line_start = Some(0);
        while let Some(class_of_token) = class(bytes, at) {
            let token = at;
            at += 1;
            match class_of_token {
                Class::Blank => continue,
                Class::Newline if self.open.is_empty() => {
                    // A newline outside of brackets ends the statement; `open` is empty and keeps its memory.
                    *self = Self { open: std::mem::take(&mut self.open), ..Self::default() };
                    line_start = Some(at);
                    continue;
                }
                Class::Newline => continue,
                Class::Comment => {
                    at = bytes[at..].iter().position(|&byte| is_newline(byte)).map_or(bytes.len(), |end| at + end);
                    continue;
                }
                Class::Backslash => {
                    at += newline_len(bytes, at);
                    continue;
                }
                Class::Word => {
                    while class(bytes, at) == Some(Class::Word) {
                        at += 1;
                    }
                    // Never reset within a statement, because tokens do not show where the lambda ends.
                    self.has_lambda |= &bytes[token..at] == b"lambda";
                    self.add(1);
                }
                Class::Quote => {
                    at = end_of_string(bytes, token).map_err(|kind| (token, kind))?;
                    self.add(1);
                }
                Class::Open => {
                    self.add(1);
                    self.open.push((bytes[token], std::mem::take(&mut self.since_separator)));
                }
                Class::Close => self.close(bytes[token]).map_err(|kind| (token, kind))?,
                Class::Separator if !self.has_lambda => self.separate(),
                Class::Equals if self.open.is_empty() && !self.has_lambda => self.separate(),
                Class::Separator | Class::Equals | Class::Other => self.add(1),
            }
            if let Some(start) = line_start.take() {
                // Each level of indentation takes at least one blank, so the number of blanks bounds the levels of blocks.
                self.depth += (token - start) as u32;
            }
            if self.depth > MAX_NESTING {
                return Err((token, ErrorKind::TooDeep { limit: MAX_NESTING }));
            }
        }
        match self.open.last() {
            Some(&(bracket, _)) => {
                Err((bytes.len(), ErrorKind::Syntax(format!("`{}` is never closed", char::from(bracket)))))
            }
            None => Ok(()),
        }
    }

    fn add(&mut self, tokens: u32) {
        self.depth += tokens;
        self.since_separator += tokens;
    }

    fn separate(&mut self) {
        self.depth -= std::mem::take(&mut self.since_separator);
    }

    fn close(&mut self, bracket: u8) -> Result<(), ErrorKind> {
        let opening = match bracket {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        match self.open.pop() {
            Some((open, outside)) if open == opening => {
                // The closed bracket is now one operand of the level outside.
                self.separate();
                self.since_separator = outside;
                Ok(())
            }
            _ => Err(ErrorKind::Syntax(format!("`{}` closes no bracket", char::from(bracket)))),
        }
    }
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the length of the newline at a place: `\r\n` counts as one.
fn newline_len(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..) {
        Some([b'\r', b'\n', ..]) => 2,
        Some([b'\r' | b'\n', ..]) => 1,
        _ => 0,
    }
}

/// Returns the end of the string that starts with the quote at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> Result<usize, ErrorKind> {
    // The prefix of a string is the word that touches its quote, such as the `rb` of `rb''`.
    let word = bytes[..start].iter().rposition(|&byte| CLASSES[byte as usize] != Class::Word).map_or(0, |at| at + 1);
    if matches!(bytes[word..start].to_ascii_lowercase().as_slice(), b"f" | b"t" | b"rf" | b"fr" | b"rt" | b"tr") {
        let what = "a formatted string".to_owned();
        return Err(ErrorKind::Unsupported { what, part: "sample" });
    }
    let quote = bytes[start];
    let is_triple = bytes.get(start..start + 3) == Some(&[quote; 3]);
    let mut at = start + if is_triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            // A backslash escapes the next byte, or a whole `\r\n`. In raw strings, too, a quote after a backslash does not end
            // the string.
            b'\\' => at += 1 + newline_len(bytes, at + 1).max(1),
            _ if is_triple && bytes.get(at..at + 3) == Some(&[quote; 3]) => return Ok(at + 3),
            _ if !is_triple && byte == quote => return Ok(at + 1),
            // Only strings with three quotes may span lines.
            _ if !is_triple && is_newline(byte) => break,
            _ => at += 1,
        }
    }
    Err(ErrorKind::Syntax("this string is never closed".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<ErrorKind> {
        check(text).err().map(|(_, kind)| kind)
    }

    #[test]
    fn wide_text_is_not_deep() {
        let list = format!("x = [{}]\n", "(1, -2), ".repeat(10_000));
        let chain = format!("{}None\n", "a = ".repeat(10_000));
        let lines = "x = f(a)\r\n".repeat(10_000);
        let strings = "x = f(')', \"(\", '''\n(((''', r'\\'')  # (((\n".repeat(1_000);
        for text in [list, chain, lines, strings] {
            assert_eq!(refusal(&text), None);
        }
    }

    #[test]
    fn every_way_to_nest_is_counted() {
        let times = 1_000;
        let blocks: String = (0..times).map(|level| format!("{}if x:\n", " ".repeat(level))).collect();
        let texts = [
            format!("{}x{}", "(".repeat(times), ")".repeat(times)),
            format!("x = {}x", "-".repeat(times)),
            format!("x = {}x", "not ".repeat(times)),
            format!("x = a{}", ".b".repeat(times)),
            format!("x = a{}", "()".repeat(times)),
            format!("x = a{}", "[0, 1]".repeat(times)),
            format!("x = a{}", " + a".repeat(times)),
            format!("x = a{}", " + \\\r\n a".repeat(times)),
            format!("x = {}a", "lambda a, b=1: ".repeat(times)),
            format!("x = {}a", "a if b else ".repeat(times)),
            blocks,
        ];
        for text in texts {
            assert_eq!(refusal(&text), Some(ErrorKind::TooDeep { limit: MAX_NESTING }), "{}", &text[..20]);
        }
    }

    #[test]
    fn what_does_not_match_is_refused() {
        for text in ["(]", ")", "(", "'a\n'", "'''a", "'\\"] {
            assert!(matches!(refusal(text), Some(ErrorKind::Syntax(_))), "{text}");
        }
        for text in ["f'{x}'", "Rf\"\"\"{x}\"\"\"", "t''"] {
            assert!(matches!(refusal(text), Some(ErrorKind::Unsupported { .. })), "{text}");
        }
    }
}
