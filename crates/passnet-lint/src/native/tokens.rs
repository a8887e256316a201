//! C++ text to tokens and preprocessor directives.

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Name,
    Number,
    Text,
    Punctuation,
}

/// A token of a C++ source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    /// Offset at which the token is compiled. For a token of a macro's body, this is the offset of the use.
    pub(super) at: usize,
}

/// A preprocessor directive with normalised white space.
pub(super) struct Directive {
    pub(super) text: String,
    pub(super) offset: usize,
    pub(super) length: usize,
}

/// Returns the offset of a slice in the text.
pub(super) fn offset(text: &str, slice: &str) -> usize {
    (slice.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize).min(text.len())
}

/// Returns the tokens and directives of a text.
pub(super) fn lex(text: &str) -> Result<(Vec<Token<'_>>, Vec<Directive>), String> {
    if text.contains("\\\n") || text.contains("??") || text.contains("%:") || text.contains("<%") {
        return Err("line splicing, trigraphs or digraphs".to_owned());
    }
    let mut tokens = Vec::new();
    let mut directives = Vec::new();
    // Depth of braces at each open `#if`. A branch that ends at another depth would hide where functions end.
    let mut conditions: Vec<usize> = Vec::new();
    let mut depth = 0_usize;
    let mut rest = text;
    let mut line_start = true;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\n' => {
                line_start = true;
                1
            }
            c if c.is_ascii_whitespace() => 1,
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").ok_or("an unterminated comment")? + 4,
            '#' if line_start => {
                let end = rest.find('\n').unwrap_or(rest.len());
                let directive = normalise(&rest[..end])?;
                balance(&directive, &mut conditions, depth)?;
                directives.push(Directive { text: directive, offset: offset(text, rest), length: end });
                end
            }
            '"' | '\'' => {
                let end = literal_end(rest, first).ok_or("an unterminated literal")?;
                tokens.push(Token { kind: TokenKind::Text, text: &rest[..end], at: offset(text, rest) });
                end
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                if rest[end..].starts_with('"') && rest[..end].ends_with('R') {
                    return Err("a raw string".to_owned());
                }
                tokens.push(Token { kind: TokenKind::Name, text: &rest[..end], at: offset(text, rest) });
                end
            }
            c if c.is_ascii_digit() => {
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '\'' | '_')))
                    .unwrap_or(rest.len());
                tokens.push(Token { kind: TokenKind::Number, text: &rest[..end], at: offset(text, rest) });
                end
            }
            '{' | '}' => {
                depth = if first == '{' { depth + 1 } else { depth.saturating_sub(1) };
                tokens.push(Token { kind: TokenKind::Punctuation, text: &rest[..1], at: offset(text, rest) });
                1
            }
            _ if rest.starts_with("::")
                || rest.starts_with("->")
                || rest.starts_with("&&")
                || rest.starts_with("||") =>
            {
                tokens.push(Token { kind: TokenKind::Punctuation, text: &rest[..2], at: offset(text, rest) });
                2
            }
            c if c.is_ascii_punctuation() && !matches!(c, '\\' | '$' | '@' | '`' | '#') => {
                tokens.push(Token { kind: TokenKind::Punctuation, text: &rest[..1], at: offset(text, rest) });
                1
            }
            c => return Err(format!("the character `{}`", c.escape_default())),
        };
        line_start = line_start && (first == '\n' || first.is_ascii_whitespace());
        rest = &rest[length..];
    }
    if !conditions.is_empty() {
        return Err("an unterminated #if".to_owned());
    }
    Ok((tokens, directives))
}

/// Returns a directive with single spaces and no comment.
fn normalise(line: &str) -> Result<String, String> {
    if line.contains("/*") {
        return Err("a comment in a directive".to_owned());
    }
    let line = line.split("//").next().unwrap_or_default().replacen('#', "# ", 1);
    Ok(line.split_whitespace().collect::<Vec<_>>().join(" ").replacen("# ", "#", 1))
}

fn balance(directive: &str, conditions: &mut Vec<usize>, depth: usize) -> Result<(), String> {
    let at_start = if directive.starts_with("#if") {
        conditions.push(depth);
        Some(depth)
    } else if directive.starts_with("#el") {
        conditions.last().copied()
    } else if directive.starts_with("#endif") {
        conditions.pop()
    } else {
        Some(depth)
    };
    if at_start == Some(depth) { Ok(()) } else { Err("#if around an unbalanced brace".to_owned()) }
}

/// Returns the length of a string or character literal that begins the text.
fn literal_end(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(index + c.len_utf8()),
            _ => {}
        }
    }
    None
}
