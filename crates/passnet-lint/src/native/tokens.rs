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

/// Returns the tokens and directives of a text. Only directives may continue in the next line.
pub(super) fn lex(text: &str) -> Result<(Vec<Token<'_>>, Vec<Directive>), String> {
    if ["??", "%:", "<%", "<:"].iter().any(|digraph| text.contains(digraph)) {
        return Err("trigraphs or digraphs".to_owned());
    }
    let mut tokens = Vec::new();
    let mut directives = Vec::new();
    let mut rest = text;
    let mut line_start = true;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\n' => {
                line_start = true;
                1
            }
            c if c.is_ascii_whitespace() => 1,
            '/' if rest.starts_with("//") => comment_end(rest)?,
            '/' if rest.starts_with("/*") => block_comment_end(rest)?,
            '#' if line_start => {
                let end = directive_end(rest)?;
                let directive = normalise(&rest[..end])?;
                directives.push(Directive { text: directive, offset: offset(text, rest), length: end });
                end
            }
            _ => {
                let (kind, length) = token(rest, first)?;
                tokens.push(Token { kind, text: &rest[..length] });
                length
            }
        };
        line_start = line_start && (first == '\n' || first.is_ascii_whitespace());
        rest = &rest[length..];
    }
    Ok((tokens, directives))
}

/// Returns the part of a line before the backslash with which it continues in the next line. Compilers ignore blanks behind it.
fn continued(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix('\\')
}

/// Returns the kind and the length of the token that begins a text.
fn token(text: &str, first: char) -> Result<(TokenKind, usize), String> {
    let length = |ends: fn(char) -> bool| text.find(ends).unwrap_or(text.len());
    let found = match first {
        '"' | '\'' => (TokenKind::Text, literal_end(text, first).ok_or("an unterminated literal")?),
        c if c.is_ascii_alphabetic() || c == '_' => {
            let end = length(|c| !(c.is_ascii_alphanumeric() || c == '_'));
            if text[end..].starts_with('"') && text[..end].ends_with('R') {
                return Err("a raw string".to_owned());
            }
            (TokenKind::Name, end)
        }
        c if c.is_ascii_digit() => {
            (TokenKind::Number, length(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '\'' | '_'))))
        }
        _ if ["::", "->", "&&", "||"].iter().any(|pair| text.starts_with(pair)) => (TokenKind::Punctuation, 2),
        c if c.is_ascii_punctuation() && !matches!(c, '\\' | '$' | '@' | '`' | '#') => (TokenKind::Punctuation, 1),
        c => return Err(format!("the character `{}`", c.escape_default())),
    };
    Ok(found)
}

/// Returns the length of a comment that begins with `/*`.
fn block_comment_end(text: &str) -> Result<usize, String> {
    let end = text[2..].find("*/").ok_or("an unterminated comment")? + 4;
    // Joined with the next line, it might end the comment.
    if text[..end].lines().filter_map(continued).any(|line| line.ends_with('*')) {
        return Err("a comment that continues in the next line".to_owned());
    }
    Ok(end)
}

/// Returns the length of a comment that begins with `//`.
fn comment_end(text: &str) -> Result<usize, String> {
    let end = text.find('\n').unwrap_or(text.len());
    match continued(&text[..end]) {
        Some(_) => Err("a comment that continues in the next line".to_owned()),
        None => Ok(end),
    }
}

/// Returns the length of a directive, with the lines in which it continues.
fn directive_end(text: &str) -> Result<usize, String> {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let Some(part) = continued(line) else { return Ok(end - usize::from(line.ends_with('\n'))) };
        // Compilers join both lines without a blank, which would join two words.
        if !part.is_empty() && !part.ends_with(is_blank) && !text[end..].starts_with(is_blank) {
            return Err("a word that continues in the next line".to_owned());
        }
    }
    Ok(end)
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// Returns a directive with single spaces and without comments.
fn normalise(line: &str) -> Result<String, String> {
    let mut line = line.lines().map(|line| continued(line).unwrap_or(line)).collect::<Vec<_>>().join(" ");
    while let Some(start) = line.find("/*").filter(|start| !line[..*start].contains("//")) {
        let end = line[start + 2..].find("*/").ok_or("a comment in a directive that continues in the next line")?;
        line.replace_range(start..start + end + 4, " ");
    }
    let line = line.split("//").next().unwrap_or_default().replacen('#', "# ", 1);
    Ok(line.split_whitespace().collect::<Vec<_>>().join(" ").replacen("# ", "#", 1))
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
