//! Names in preprocessed C++.

/// Returns the names in a text with their byte offsets, without names in literals and comments.
pub(crate) fn names(text: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let length = match first {
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let name = &rest[..end];
                if name.ends_with('R') && rest[end..].starts_with('"') {
                    end + raw_string(&rest[end..])
                } else {
                    names.push((at, name));
                    end
                }
            }
            c if c.is_ascii_digit() => {
                rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '\'' | '_'))).unwrap_or(rest.len())
            }
            '"' | '\'' => literal(rest, first),
            c => c.len_utf8(),
        };
        rest = &rest[length..];
    }
    names
}

fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return index,
            c if c == quote => return index + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of `"x(...)x"`.
fn raw_string(text: &str) -> usize {
    let Some(open) = text.find('(') else { return 1 };
    let end = format!("){}\"", &text[1..open]);
    text[open..].find(&end).map_or(text.len(), |at| open + at + end.len())
}
