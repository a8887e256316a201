//! The tokens of a C++ source, and its structure of brackets.

use super::tokens::{Token, TokenKind};

/// Largest number of tokens between angle brackets that are taken for template arguments.
const MAX_ARGUMENTS: usize = 64;

/// Largest number of tokens between the word `struct` and the brace of its body.
const MAX_HEAD: usize = 24;

/// Returns whether a word begins a layout in parentheses.
pub(super) fn is_layout(word: &str) -> bool {
    matches!(word, "alignas" | "__attribute__")
}

/// Tokens with their brackets matched.
pub(super) struct TokenSource<'t> {
    tokens: Vec<Token<'t>>,
    /// For each bracket, the index of its partner.
    partners: Vec<Option<usize>>,
    /// For each token, the index of the bracket around it.
    enclosing: Vec<Option<usize>>,
}

impl<'t> TokenSource<'t> {
    pub(super) fn new(tokens: Vec<Token<'t>>) -> Self {
        let mut partners = vec![None; tokens.len()];
        let mut enclosing = vec![None; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            match token.text {
                "(" | "[" | "{" => {
                    enclosing[index] = open.last().copied();
                    open.push(index);
                }
                ")" | "]" | "}" => {
                    // A bracket without a partner has no entry: the compiler refuses the text, and the rules must not panic.
                    if let Some(start) = open.pop() {
                        partners[start] = Some(index);
                        partners[index] = Some(start);
                    }
                    enclosing[index] = open.last().copied();
                }
                _ => enclosing[index] = open.last().copied(),
            }
        }
        Self { tokens, partners, enclosing }
    }

    /// Returns whether a brace opens the body of a type.
    pub(super) fn opens_type(&self, open: usize) -> bool {
        let mut at = open;
        while at > open.saturating_sub(MAX_HEAD) {
            at -= 1;
            match self.text(at) {
                "struct" | "class" | "union" => return true,
                ";" | "{" | "}" => return false,
                // `struct alignas(16) Row {`
                ")" => match self.opening(at).filter(|open| is_layout(self.before(*open, 1))) {
                    Some(open) => at = open - 1,
                    None => return false,
                },
                _ => {}
            }
        }
        false
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the text of a token; empty for an index beyond the ends.
    pub(super) fn text(&self, index: usize) -> &'t str {
        self.tokens.get(index).map_or("", |token| token.text)
    }

    pub(super) fn kind(&self, index: usize) -> Option<TokenKind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// Returns the offset at which a token is compiled.
    pub(super) fn at(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(0, |token| token.at)
    }

    pub(super) fn before(&self, index: usize, distance: usize) -> &'t str {
        index.checked_sub(distance).map_or("", |index| self.text(index))
    }

    pub(super) fn is_name(&self, index: usize) -> bool {
        self.kind(index) == Some(TokenKind::Name)
    }

    /// Returns the index of the bracket that closes the one at `open`.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        self.partners.get(open).copied().flatten().filter(|close| *close > open)
    }

    /// Returns the index of the bracket that opens the one at `close`.
    pub(super) fn opening(&self, close: usize) -> Option<usize> {
        self.partners.get(close).copied().flatten().filter(|open| *open < close)
    }

    /// Returns the index of the bracket around a token.
    pub(super) fn enclosing(&self, index: usize) -> Option<usize> {
        self.enclosing.get(index).copied().flatten()
    }

    /// Returns the first token of a qualified name such as `a::b::c` that ends at `last`.
    pub(super) fn qualified_start(&self, last: usize) -> usize {
        let mut first = last;
        while first >= 2 && self.before(first, 1) == "::" && self.is_name(first - 2) {
            first -= 2;
        }
        first
    }

    /// Returns the last token of a qualified name such as `a::b::c` that begins at `first`.
    pub(super) fn qualified_end(&self, first: usize) -> usize {
        let mut last = first;
        while self.text(last + 1) == "::" && self.is_name(last + 2) {
            last += 2;
        }
        last
    }

    /// Returns whether a brace opens a namespace or a block `extern "C"`.
    pub(super) fn is_namespace(&self, open: usize) -> bool {
        // `namespace outer::inner {`
        let name = open.checked_sub(1).filter(|name| self.is_name(*name));
        let is_named = name.is_some_and(|name| self.before(self.qualified_start(name), 1) == "namespace");
        is_named || matches!(self.before(open, 1), "namespace" | "\"C\"")
    }

    /// Returns whether a token is outside of all functions and types.
    pub(super) fn is_at_file_level(&self, index: usize) -> bool {
        let mut around = self.enclosing(index);
        while let Some(open) = around {
            if !self.is_namespace(open) {
                return false;
            }
            around = self.enclosing(open);
        }
        true
    }

    /// Returns whether a parameter list that closes at `close` is followed by a function body.
    pub(super) fn has_body(&self, close: usize) -> bool {
        let mut at = close + 1;
        while at < self.len() {
            match self.text(at) {
                "{" => return true,
                "decltype" => match self.closing(at + 1) {
                    Some(close) => at = close + 1,
                    None => return false,
                },
                "const" | "noexcept" | "mutable" | "->" | "*" | "&" | "::" | "override" | "final" => at += 1,
                "<" => match self.template_end(at) {
                    Some(end) => at = end + 1,
                    None => return false,
                },
                // The initial values of members: `S(float a) : a(a), b{0} {}`.
                ":" => return self.has_initializers(at + 1),
                _ if self.is_name(at) && matches!(self.before(at, 1), "->" | "::" | "const") => at += 1,
                _ => return false,
            }
        }
        false
    }

    fn has_initializers(&self, from: usize) -> bool {
        let mut at = from;
        while self.is_name(at) {
            let Some(close) = self.closing(at + 1) else { return false };
            match self.text(close + 1) {
                "," => at = close + 2,
                text => return text == "{",
            }
        }
        false
    }

    /// Returns the `>` that ends template arguments beginning with the `<` at `open`.
    pub(super) fn template_end(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut at = open;
        // Without the limit, a long row of `<` comparisons would take quadratic time: each search would go to the end of the
        // text.
        while at < self.len() && at <= open + MAX_ARGUMENTS {
            match self.text(at) {
                "<" => depth += 1,
                ">" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                "(" => at = self.closing(at)?,
                // `float[]`.
                "[" if self.text(at + 1) == "]" => at += 1,
                "," | "*" | "&" | "::" | "." | "+" | "-" | "/" | "=" | "!" => {}
                _ if matches!(self.kind(at), Some(TokenKind::Name | TokenKind::Number)) => {}
                _ => return None,
            }
            at += 1;
        }
        None
    }

    /// Returns the name before the `<` that the `>` at `close` ends, if the text between them can be template arguments.
    pub(super) fn template_name(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut index = close;
        loop {
            match self.text(index) {
                ">" => depth += 1,
                "<" => {
                    depth -= 1;
                    if depth == 0 {
                        return index.checked_sub(1).filter(|name| self.is_name(*name));
                    }
                }
                ")" => index = self.opening(index)?,
                "]" if self.text(index.checked_sub(1)?) == "[" => index -= 1,
                "," | "*" | "&" | "::" | "." | "+" | "-" | "/" => {}
                _ if matches!(self.kind(index), Some(TokenKind::Name | TokenKind::Number)) => {}
                _ => return None,
            }
            index = index.checked_sub(1)?;
        }
    }
}
