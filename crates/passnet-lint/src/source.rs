//! One file: from text to syntax tree, within limits. Text that people, Python and this checker could read differently is
//! rejected.

use ruff_python_ast::{CmpOp, Expr, Stmt, Suite, token::TokenKind};
use ruff_python_parser::{Mode, lexer, parse_module};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    finding::{Finding, Position},
    guarded_import::without_guards,
    lambda_entry::with_named_entry_point,
    rule::Violation,
    rules::{HiddenText, InvalidSource, TooLarge},
};

/// Size of the largest file, in bytes.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
/// Deepest nesting of one statement: open brackets plus operators in a row. This bounds the recursion of all later steps.
const MAX_EXPRESSION_DEPTH: usize = 160;
/// Deepest nesting of blocks.
const MAX_BLOCK_DEPTH: usize = 24;

/// A parsed file.
pub(super) struct ParsedFile<'a> {
    /// File name with suffix.
    pub(super) file: &'a str,
    /// Module name: the file name without `.py`.
    pub(super) stem: &'a str,
    text: &'a str,
    body: Suite,
}

impl<'a> ParsedFile<'a> {
    /// Parses a file. The error is the finding that prevents further checks.
    pub(super) fn parse(file: &'a str, bytes: &'a [u8]) -> Result<Self, Box<Finding>> {
        // In this order, because each check relies on those before it. The parser recurses, so size and depth are checked first.
        let whole = TextRange::default();
        if bytes.len() > MAX_FILE_BYTES {
            let limit = format!("{} KiB", MAX_FILE_BYTES / 1024);
            return Err(refuse(file, "", whole, &TooLarge { subject: "the size of the file".to_owned(), limit }));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| refuse(file, "", whole, &InvalidSource { subject: "the file is not UTF-8".to_owned() }))?;
        // Before the parser, because such text can look different from the code that it parses to.
        if let Some((range, subject)) = hidden_text(text) {
            return Err(refuse(file, text, range, &HiddenText { subject }));
        }
        check_depth(text).map_err(|violation| refuse(file, text, whole, &violation))?;
        let parsed = parse_module(text).map_err(|error| {
            refuse(file, text, error.location, &InvalidSource { subject: format!("syntax error: {}", error.error) })
        })?;
        for token in parsed.tokens().iter().filter(|token| token.kind() == TokenKind::Name) {
            let name = text.get(token.range().to_std_range()).unwrap_or_default();
            // Python normalises identifiers (NFKC), so other characters can spell a name that the rules look for.
            if !name.is_ascii() {
                return Err(refuse(file, text, token.range(), &HiddenText { subject: format!("the name `{name}`") }));
            }
        }
        let stem = file.strip_suffix(".py").unwrap_or(file);
        let mut body = parsed.into_suite();
        body.retain(|stmt| !is_script_part(stmt));
        let body = without_guards(body).into_iter().map(with_named_entry_point).collect();
        Ok(Self { file, stem, text, body })
    }

    /// Returns the statements at module level that run when the file is imported.
    pub(super) fn body(&self) -> &[Stmt] {
        &self.body
    }

    /// Returns whether a word stands anywhere in the text.
    pub(super) fn mentions(&self, word: &str) -> bool {
        self.text.contains(word)
    }

    /// Returns the text of a syntax node.
    pub(super) fn slice(&self, node: &impl Ranged) -> &'a str {
        self.text.get(node.range().to_std_range()).unwrap_or_default()
    }

    /// Returns the lines and columns where a range starts and ends.
    pub(super) fn positions(&self, range: TextRange) -> (Position, Position) {
        (position(self.text, range.start()), position(self.text, range.end()))
    }
}

/// Returns whether a statement is `if __name__ == "__main__":` without `else`. Its body runs only when the file is started
/// as a program. A pass is always imported under the name of its file, and no pass can assign `__name__`.
fn is_script_part(stmt: &Stmt) -> bool {
    let Stmt::If(stmt) = stmt else { return false };
    let Expr::Compare(test) = &*stmt.test else { return false };
    let is_name = |expr: &Expr| expr.as_name_expr().is_some_and(|name| name.id == "__name__");
    let is_main = |expr: &Expr| expr.as_string_literal_expr().is_some_and(|text| text.value.to_str() == "__main__");
    matches!((&*test.left, &*test.ops, &*test.comparators), (left, [CmpOp::Eq], [right]) if is_name(left) && is_main(right))
        && stmt.elif_else_clauses.is_empty()
}

/// Returns the finding that prevents further checks of a file.
fn refuse(file: &str, text: &str, range: TextRange, violation: &impl Violation) -> Box<Finding> {
    Box::new(locate(file, text, range, violation))
}

/// Returns a finding at a range of a file. An empty `text` stands for a file whose text cannot be read.
pub(super) fn locate<V: Violation>(file: &str, text: &str, range: TextRange, violation: &V) -> Finding {
    Finding {
        file: file.to_owned(),
        start: position(text, range.start()),
        end: position(text, range.end()),
        rule: V::ID,
        name: V::NAME,
        message: violation.message(),
        help: V::HELP,
    }
}

/// Returns the position of an offset. Lines are counted here instead of indexed for each file, because findings are few.
fn position(text: &str, offset: TextSize) -> Position {
    let before = text.get(..offset.to_usize()).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

/// Returns the first character or declaration that makes the text look different from its meaning.
fn hidden_text(text: &str) -> Option<(TextRange, String)> {
    let mut characters = text.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        // Python ends a line at a lone `\r`, but many viewers do not: code behind it can look like part of a comment.
        let lone_return = character == '\r' && characters.peek().is_none_or(|(_, next)| *next != '\n');
        let control = character.is_control() && !matches!(character, '\n' | '\t' | '\r');
        let invisible = matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
        if lone_return || control || invisible {
            let what = format!("the character U+{:04X}", u32::from(character));
            return Some((TextRange::at(to_size(offset), to_size(character.len_utf8())), what));
        }
    }
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        // The indentation of such a line depends on the width of a tab, which the reader's editor chooses.
        if line[..blanks].contains('\t') && line[..blanks].contains(' ') {
            return Some((
                TextRange::at(to_size(offset), to_size(blanks)),
                "indentation by both tabs and blanks".to_owned(),
            ));
        }
        offset += line.len();
    }
    let mut offset = 0;
    for line in text.split_inclusive('\n').take(2) {
        // Python would decode the file with this encoding, and run other text than the text that was checked.
        if let Some(encoding) = declared_encoding(line)
            && !matches!(encoding.to_ascii_lowercase().as_str(), "utf-8" | "utf8")
        {
            let range = TextRange::at(to_size(offset), to_size(line.trim_end().len()));
            return Some((range, format!("the encoding declaration `{encoding}`")));
        }
        offset += line.len();
    }
    None
}

/// Returns the encoding that a line declares, by the expression of PEP 263: a comment with `coding[:=]\s*([-\w.]+)`.
fn declared_encoding(line: &str) -> Option<&str> {
    let comment = line.trim_start_matches([' ', '\t', '\x0c']).strip_prefix('#')?;
    let declared =
        comment.match_indices("coding").find_map(|(at, word)| comment[at + word.len()..].strip_prefix([':', '=']))?;
    let name = declared.trim_start_matches([' ', '\t']);
    let end = name.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))).unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

/// Checks the depth of nesting. Works on tokens, because a tree that is too deep cannot even be freed without a stack overflow.
fn check_depth(text: &str) -> Result<(), TooLarge> {
    let mut lexer = lexer::lex(text, Mode::Module);
    // One counter per open bracket: operators since the last comma.
    let mut chains = vec![0_usize];
    let mut depth = 0;
    let mut blocks = 0_usize;
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return Ok(()),
            TokenKind::Newline => {
                chains = vec![0];
                depth = 0;
            }
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                chains.push(0);
                depth += 1;
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::FStringEnd | TokenKind::TStringEnd => {
                if chains.len() > 1 {
                    depth -= chains.pop().unwrap_or(0) + 1;
                }
                // A call or subscript of the previous result nests as well: `f()()()`.
                bump(&mut chains, &mut depth);
            }
            TokenKind::Comma => {
                if let Some(chain) = chains.last_mut() {
                    depth -= std::mem::take(chain);
                }
            }
            // Names, literals and layout do not nest. Any other token may stand for one more level.
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline => {}
            _ => bump(&mut chains, &mut depth),
        }
        if depth > MAX_EXPRESSION_DEPTH {
            return Err(too_deep("the nesting of one statement", MAX_EXPRESSION_DEPTH));
        }
        if blocks > MAX_BLOCK_DEPTH {
            return Err(too_deep("the nesting of blocks", MAX_BLOCK_DEPTH));
        }
    }
}

fn too_deep(what: &str, limit: usize) -> TooLarge {
    TooLarge { subject: what.to_owned(), limit: format!("{limit} levels") }
}

fn bump(chains: &mut [usize], depth: &mut usize) {
    if let Some(chain) = chains.last_mut() {
        *chain += 1;
        *depth += 1;
    }
}

/// Returns an offset as a text size. Offsets are below [`MAX_FILE_BYTES`], so they fit.
fn to_size(offset: usize) -> TextSize {
    TextSize::new(u32::try_from(offset).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule_of(text: &str) -> Option<&'static str> {
        ParsedFile::parse("a.py", text.as_bytes()).err().map(|finding| finding.rule)
    }

    #[test]
    fn encoding_declarations_are_read_as_python_reads_them() {
        assert_eq!(declared_encoding("# -*- coding: utf-7 -*-\n"), Some("utf-7"));
        assert_eq!(declared_encoding("  #vim: set fileencoding=latin-1 :\n"), Some("latin-1"));
        assert_eq!(declared_encoding("# encoding is fine\n"), None);
        assert_eq!(declared_encoding("coding: utf-7\n"), None);
        assert_eq!(rule_of("# coding: rot13\nx = 1\n"), Some("PN104"));
        assert_eq!(rule_of("# coding: utf-8\nx = 1\n"), None);
    }

    #[test]
    fn depth_is_bounded_before_parsing() {
        for bomb in [
            "(".repeat(100_000),
            format!("x = {}1", "-".repeat(100_000)),
            format!("x = {}1", "not ".repeat(50_000)),
            format!("x = a{}", ".b".repeat(50_000)),
            format!("x = a{}", "()".repeat(50_000)),
            format!("x = a{}", " + a".repeat(50_000)),
            format!("x = {}1", "lambda: ".repeat(20_000)),
            format!("x = {}1{}", "f(a, 1 +".repeat(500), ")".repeat(500)),
            (0..500).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect(),
        ] {
            assert_eq!(rule_of(&bomb), Some("PN102"), "{}", &bomb[..20]);
        }
    }

    #[test]
    fn wide_statements_are_not_deep() {
        assert_eq!(rule_of(&format!("x = [{}]\n", "1 + 2, ".repeat(5_000))), None);
        assert_eq!(rule_of(&format!("f({})\n", "g(a + 1, b), ".repeat(1_000))), None);
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "é = 1\nab";
        assert_eq!(position(text, to_size(0)), Position { line: 1, column: 1 });
        assert_eq!(position(text, to_size(2)), Position { line: 1, column: 2 });
        assert_eq!(position(text, to_size(8)), Position { line: 2, column: 2 });
    }
}
