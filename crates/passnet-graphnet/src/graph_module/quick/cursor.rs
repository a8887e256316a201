//! A place in the text, and the tokens that can be read there.
//!
//! All functions read parts of Python's lexical grammar: ASCII words, decimal numbers, strings without escapes, spaces, newlines,
//! comments. No function reads any other byte (a tab, a backslash, a carriage return ...).

use passnet_graph::{Arg, names::is_word_byte};

use crate::literal::Scalar;

/// Number of bytes of a word that are read together: the size of a vector that every CPU has.
const CHUNK: usize = 16;

/// Returns the length in bytes of the word at the beginning of a text. Speed matters most here, because four of five bytes of a
/// graph are in words.
fn len_of_word(text: &[u8]) -> usize {
    let (chunks, rest) = text.as_chunks::<CHUNK>();
    for (index, chunk) in chunks.iter().enumerate() {
        // The number has one byte for each byte of the text, in order. The lowest byte that is set is the first byte after the
        // word.
        let other = u128::from_le_bytes(chunk.map(|byte| u8::from(!is_word_byte(byte))));
        if other != 0 {
            return index * CHUNK + other.trailing_zeros() as usize / 8;
        }
    }
    chunks.len() * CHUNK + rest.iter().take_while(|&&byte| is_word_byte(byte)).count()
}

pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the offset in bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes to an offset that [`Self::at`] returned.
    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Returns the text from an offset to here.
    pub(super) fn since(&self, start: usize) -> Option<&'a str> {
        self.text.get(start..self.at)
    }

    /// Returns the next byte. At the end it returns 0, which no function reads.
    pub(super) fn byte(&self) -> u8 {
        self.byte_ahead(0)
    }

    pub(super) fn byte_ahead(&self, distance: usize) -> u8 {
        self.text.as_bytes().get(self.at + distance).copied().unwrap_or(0)
    }

    /// Steps over bytes that the caller has examined.
    pub(super) fn step(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.byte() == byte;
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    pub(super) fn expect_text(&mut self, text: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(text.as_bytes()).then(|| self.at += text.len())
    }

    /// Reads a word if the next word is `word`.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_there =
            self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) && !is_word_byte(self.byte_ahead(word.len()));
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    /// Steps over spaces, and returns their number.
    pub(super) fn spaces(&mut self) -> usize {
        let start = self.at;
        while self.byte() == b' ' {
            self.at += 1;
        }
        self.at - start
    }

    /// Steps over spaces, newlines and comments, which have no meaning inside brackets.
    pub(super) fn trivia(&mut self) {
        loop {
            match self.byte() {
                b' ' | b'\n' => self.at += 1,
                b'#' => self.comment(),
                _ => return,
            }
        }
    }

    /// Steps over a comment to the end of the line.
    pub(super) fn comment(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    /// Reads an identifier or keyword.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let start = self.at;
        let bytes = &self.text.as_bytes()[start..];
        if bytes.first()?.is_ascii_digit() {
            return None;
        }
        let len = len_of_word(bytes);
        self.at += len;
        if len == 0 { None } else { self.since(start) }
    }

    /// Reads `123`, `1.5` or `1e-05` as a constant. `is_negative` is the sign that was read before.
    pub(super) fn number(&mut self, is_negative: bool) -> Option<Arg> {
        let start = self.at;
        let whole = self.digits();
        let mut is_float = false;
        if self.eat(b'.') {
            is_float = self.digits() > 0;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            is_float = self.digits() > 0;
        }
        let text = self.since(start)?;
        // The parser reads `1.`, `1e`, `1_000`, `0x10`, `1j`, `1if` and `007`.
        let is_plain = whole > 0
            && (is_float || text.len() == whole)
            && !is_word_byte(self.byte())
            && self.byte() != b'.'
            && (whole == 1 || !text.starts_with('0'));
        match (is_plain, is_float) {
            (false, _) => None,
            (true, true) => text.parse().ok().map(|value: f64| Arg::Float(if is_negative { -value } else { value })),
            (true, false) => Scalar::integer(text.parse().ok()?, is_negative).map(Arg::Int),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }

    /// Reads a string on one line that has no prefix and no escapes.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        let quote = self.byte();
        if !matches!(quote, b'\'' | b'"') {
            return None;
        }
        self.at += 1;
        let start = self.at;
        let bytes = &self.text.as_bytes()[start..];
        // The parser reads strings with escapes or control characters.
        self.at += bytes.iter().position(|&byte| byte == quote || byte == b'\\' || byte < b' ')?;
        let text = self.since(start)?;
        self.expect(quote)?;
        // Three quotes begin a long string, and adjacent strings are joined.
        (!matches!(self.byte(), b'\'' | b'"')).then_some(text)
    }

    /// Reads the symbol of an operator with two operands, but not of an in-place operator, and not `->`.
    pub(super) fn operator(&mut self) -> Option<&'a str> {
        let (first, second) = (self.byte(), self.byte_ahead(1));
        let len = match first {
            b'*' | b'/' | b'<' | b'>' if second == first => 2,
            b'<' | b'>' | b'=' | b'!' if second == b'=' => 2,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'<' | b'>' => 1,
            _ => return None,
        };
        let start = self.at;
        self.at += len;
        self.since(start)
    }

    /// Steps over a pair of brackets and the text between them. Returns `None` if there is a comment, because a comment may
    /// contain brackets.
    pub(super) fn brackets(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.byte() {
                b'(' | b'[' | b'{' => open += 1,
                b')' | b']' | b'}' => open = open.checked_sub(1)?,
                b'\'' | b'"' => {
                    self.string()?;
                    continue;
                }
                b'#' | b'\\' | 0 => return None,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_length_are_measured() {
        for len in 0..3 * CHUNK {
            for after in ["", " ", "é", ".x", " and_much_more_of_it_behind_the_word", "[`{@/:"] {
                let text = "_aZ09".repeat(10)[..len].to_owned() + after;
                assert_eq!(len_of_word(text.as_bytes()), len, "{text}");
            }
        }
    }
}
