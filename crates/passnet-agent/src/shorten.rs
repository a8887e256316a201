//! Shortened texts for a model.

/// Shortens a text of more than `limit` bytes to its beginning and end, with a note between them.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    // Errors have their context at the beginning and their cause at the end. The beginning gets two thirds of the space.
    let head = text.floor_char_boundary(limit * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 3);
    format!("{}\n[... {} bytes left out ...]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_both_ends_and_characters_whole() {
        assert_eq!(shortened("abc", 3), "abc");
        let text = "ä".repeat(100);
        let short = shortened(&text, 31);
        assert!(short.starts_with("ä") && short.ends_with("ä") && short.contains("bytes left out"), "{short}");
    }
}
