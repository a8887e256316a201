//! Words that may name a value.

fn is_keyword(text: &str) -> bool {
    matches!(
        text,
        "False"
            | "None"
            | "True"
            | "and"
            | "as"
            | "assert"
            | "async"
            | "await"
            | "break"
            | "class"
            | "continue"
            | "def"
            | "del"
            | "elif"
            | "else"
            | "except"
            | "finally"
            | "for"
            | "from"
            | "global"
            | "if"
            | "import"
            | "in"
            | "is"
            | "lambda"
            | "nonlocal"
            | "not"
            | "or"
            | "pass"
            | "raise"
            | "return"
            | "try"
            | "while"
            | "with"
            | "yield"
    )
}

/// Returns whether a name has a special meaning in the text of a graph and so cannot name a value. `device` is allowed, although it has a
/// special meaning: captured graphs have values of this name, and `torch.device` can be written instead.
fn is_reserved(text: &str) -> bool {
    matches!(
        text,
        "torch" | "operator" | "builtins" | "inf" | "nan" | "slice" | "float" | "getattr" | "Ellipsis" | "self"
    )
}

/// Returns whether a byte may be part of an ASCII identifier.
pub const fn is_word_byte(byte: u8) -> bool {
    // No branches, so that a loop over bytes becomes one over vectors.
    ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10) | (byte == b'_')
}

/// Returns whether `text` is an ASCII Python identifier and not a keyword.
pub fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|first| !first.is_ascii_digit())
        // `fold` is faster than `all`, which stops early and therefore branches at each byte.
        && bytes.iter().fold(true, |all, &byte| all & is_word_byte(byte))
        && !is_keyword(text)
}

/// Returns whether `text` may name a value: an identifier without a special meaning in the text of a graph.
pub fn is_value_name(text: &str) -> bool {
    is_identifier(text) && !is_reserved(text)
}

/// Returns whether `text` is `torch.` followed by identifiers separated by points.
pub fn is_torch_path(text: &str) -> bool {
    text.strip_prefix("torch.").is_some_and(|rest| rest.split('.').all(is_identifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_words_are_classified() {
        for byte in 0..=u8::MAX {
            assert_eq!(is_word_byte(byte), byte.is_ascii_alphanumeric() || byte == b'_', "{byte}");
        }
    }

    #[test]
    fn words_are_classified() {
        for good in ["x", "_", "L_x_", "tmp_0", "Tensor"] {
            assert!(is_value_name(good), "{good}");
        }
        for bad in ["", "0x", "a b", "é", "lambda", "torch", "self"] {
            assert!(!is_value_name(bad), "{bad}");
        }
        assert!(is_torch_path("torch.ops.aten.sym_size.int"));
        assert!(!is_torch_path("torch."));
        assert!(!is_torch_path("os.system"));
    }
}
