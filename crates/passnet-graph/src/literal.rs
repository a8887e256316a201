//! Python literals, printed as CPython's `repr` prints them.

use std::fmt::{self, Write};

/// Displays a float as `repr` does: with the shortest digits that read back to the same value, and with an exponent below 1e-4 and from
/// 1e16.
#[derive(Clone, Copy, Debug)]
pub struct FloatRepr(pub f64);

impl fmt::Display for FloatRepr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if value.is_nan() {
            return f.write_str("nan");
        }
        if value.is_infinite() {
            return f.write_str(if value < 0.0 { "-inf" } else { "inf" });
        }
        let magnitude = value.abs();
        if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
            // Rust prints the same shortest digits, without an exponent.
            let text = format!("{value}");
            f.write_str(&text)?;
            return if text.contains('.') { Ok(()) } else { f.write_str(".0") };
        }
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').ok_or(fmt::Error)?;
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        write!(f, "{digits}e{sign}{exponent:0>2}")
    }
}

/// Displays a string as `repr` does: in single quotes, unless the text contains single quotes and no double quotes.
#[derive(Clone, Copy, Debug)]
pub struct StrRepr<'a>(pub &'a str);

impl fmt::Display for StrRepr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('\'') && !self.0.contains('"') { '"' } else { '\'' };
        f.write_char(quote)?;
        for char in self.0.chars() {
            let code = u32::from(char);
            match char {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                _ if char == quote => write!(f, "\\{quote}")?,
                ' '..='~' => f.write_char(char)?,
                _ if is_printable(char) => f.write_char(char)?,
                _ if code <= 0xff => write!(f, "\\x{code:02x}")?,
                _ if code <= 0xffff => write!(f, "\\u{code:04x}")?,
                _ => write!(f, "\\U{code:08x}")?,
            }
        }
        f.write_char(quote)
    }
}

/// Returns whether a character is printed without an escape. This uses Rust's table of characters to escape instead of Python's table of
/// printable characters. The tables differ in spaces other than the ASCII space, and in code points that are newer than the Unicode
/// version of one of them.
fn is_printable(char: char) -> bool {
    !char.is_whitespace() && !char.is_control() && !char.escape_debug().to_string().starts_with("\\u")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_python() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (f64::from(f32::MAX), "3.4028234663852886e+38"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(FloatRepr(value).to_string(), text);
        }
    }

    #[test]
    fn strings_print_as_in_python() {
        let cases = [
            ("none", "'none'"),
            ("it's", "\"it's\""),
            ("a'b\"c", "'a\\'b\"c'"),
            ("\\\n\t\r\0\u{7f}", "'\\\\\\n\\t\\r\\x00\\x7f'"),
            ("é漢\u{a0}\u{2028}\u{10ffff}", "'é漢\\xa0\\u2028\\U0010ffff'"),
        ];
        for (text, repr) in cases {
            assert_eq!(StrRepr(text).to_string(), repr);
        }
    }
}
