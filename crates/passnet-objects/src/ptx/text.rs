//! Tokens of PTX.

use crate::finding::{ObjectFinding, ObjectRule};

/// Directives that end with their line and do not affect the computation.
const LINES: &[&str] = &[".version", ".target", ".address_size", ".file", ".loc"];

/// Splits text into words and single characters of punctuation, without comments and the directives that take a line.
pub(super) fn tokens(text: &str) -> Result<Vec<&str>, ObjectFinding> {
    let mut tokens = Vec::new();
    let mut in_comment = false;
    for line in text.lines() {
        let first = tokens.len();
        let mut rest = line;
        loop {
            if in_comment {
                let Some((_, after)) = rest.split_once("*/") else { break };
                (rest, in_comment) = (after, false);
            }
            rest = rest.trim_start();
            if rest.is_empty() || rest.starts_with("//") {
                break;
            }
            if let Some(after) = rest.strip_prefix("/*") {
                (rest, in_comment) = (after, true);
                continue;
            }
            let length = length(rest).ok_or_else(|| format_error(line))?;
            let (token, after) = rest.split_at(length);
            tokens.push(token);
            rest = after;
        }
        if tokens.get(first).is_some_and(|directive| LINES.contains(directive)) {
            if !is_line(&tokens[first..]) {
                return Err(format_error(line));
            }
            tokens.truncate(first);
        }
    }
    Ok(tokens)
}

/// Returns the length in bytes of the first token of a text that does not begin with a blank.
fn length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first == '"' {
        return text[1..].find('"').map(|end| end + 2);
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    if is_word(first) {
        let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
        // `st.shared::cluster` is one word, while a single colon ends a label.
        let more = text[end..].strip_prefix("::").and_then(|rest| rest.starts_with(is_word).then(|| length(rest)));
        return Some(end + more.flatten().map_or(0, |length| 2 + length));
    }
    "{}()[]<>,;:=+-@!|&~*/?\\".contains(first).then_some(1)
}

/// Returns whether a line directive fills its line. Text after the directive would be skipped together with it.
fn is_line(tokens: &[&str]) -> bool {
    let is_number = |token: &&str| token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match tokens {
        [".version" | ".address_size", number] => is_number(number),
        [".target", names @ ..] => names.iter().all(|name| *name == "," || name.bytes().all(is_name)),
        [".file", number, name, rest @ ..] => {
            is_number(number) && name.starts_with('"') && rest.iter().all(|token| *token == "," || is_number(token))
        }
        // .loc file line column [, function_name label [+ number], inlined_at file line column]
        [".loc", file, line, column, rest @ ..] => {
            let is_known = |token: &&str| {
                matches!(*token, "," | "+" | "function_name" | "inlined_at")
                    || is_number(token)
                    || token.starts_with("$L__info_string")
                    || token.starts_with(".debug_str")
            };
            [file, line, column].into_iter().all(is_number) && rest.iter().all(is_known)
        }
        _ => false,
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn format_error(what: &str) -> ObjectFinding {
    let what: String = what.trim().chars().take(80).collect();
    ObjectFinding::new(ObjectRule::Format, format!("`{what}` is not PTX as compilers write it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_lines_of_debugging_are_left_out() {
        let text = ".version 8.8 // x\n.loc 1 2 3, function_name $L__info_string0, inlined_at 1 2 3\n/* a\n b */ @%p1 bra $L__1; // c";
        assert_eq!(tokens(text).unwrap(), ["@", "%p1", "bra", "$L__1", ";"]);
        assert_eq!(tokens("add.s32 %r1, %r2, -5;").unwrap(), ["add.s32", "%r1", ",", "%r2", ",", "-", "5", ";"]);
        assert_eq!(tokens("a: st.shared::cta.b32 x").unwrap(), ["a", ":", "st.shared::cta.b32", "x"]);
    }

    #[test]
    fn nothing_hides_behind_a_directive() {
        for text in [
            ".loc 1 1 1 st.global.u32 [%rd1], %r1;",
            ".file 1 \"a\" st.global.u32",
            ".version 8.8; .global .b8 x[4];",
            ".loc 1 1 1, function_name k mov",
            "#define a b",
        ] {
            assert_eq!(tokens(text).unwrap_err().rule, ObjectRule::Format, "{text}");
        }
    }
}
