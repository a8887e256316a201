//! The word list of STYLE.md: words and openings that make prose hard to read.

use super::violation::{BrokenRule, TextFile};

/// Words that are not used, in text or in identifiers, and their replacements.
const WORDS: &[(&[&str], &str)] = &[
    (&["mend", "mends", "mended", "mending"], "fix"),
    (&["whoever", "whosoever"], "the person or program that"),
    (&["whatever", "whatsoever"], "any, all"),
    (&["anew"], "again"),
    (&["dearer", "dearest"], "more expensive"),
    (&["beside"], "next to, in addition to, with"),
    (&["thereby", "whereof", "whereby", "therein", "thereof"], "by this, of which"),
    (&["told"], "reported, passed"),
    (&["processor", "processors"], "CPU"),
    (&["nobody", "somebody", "anybody"], "the process, client or person; or: unused, unknown"),
    (&["whichever"], "any, each"),
    (&["heed", "heeds", "heeded"], "handle"),
];

/// Phrases of two or three words that are not used, and their replacements.
const PHRASES: &[(&str, &str)] = &[
    ("goes on", "continues"),
    ("go on", "continue"),
    ("went on", "continued"),
    ("let off", "not penalised"),
    ("set apart", "separated"),
    ("for nothing", "free, without cost"),
    ("comes into question", "could match"),
    ("came into question", "could match"),
    ("be had", "be computed, be reached"),
    ("for ever", "without end"),
    ("give back", "return, release"),
    ("gives back", "returns, releases"),
    ("given back", "returned, released"),
    ("at hand", "available, given"),
    ("put right", "corrected"),
    ("comes of", "results from"),
    ("goes away", "is removed, disappears"),
    ("in vain", "without result"),
    ("last words", "last output"),
    ("passed over", "skipped"),
    ("take note", "record"),
    ("takes note", "records"),
    ("again and again", "repeatedly"),
    ("now and then", "at times, every ten seconds"),
];

/// First words of a documentation comment that hide the noun.
const OPENINGS: &[&str] = &[
    "As",
    "Fewest",
    "How",
    "Its",
    "Most",
    "Now",
    "Something",
    "That",
    "Then",
    "Those",
    "What",
    "Whatever",
    "Where",
    "Whether",
    "Which",
    "Who",
    "Whoever",
    "Whose",
    "Why",
];

pub(super) fn check(sources: &[TextFile], violations: &mut Vec<BrokenRule>) {
    for source in sources.iter().filter(|source| is_prose(source)) {
        let mut documented = false;
        for (index, line) in source.text.lines().enumerate() {
            for message in find_words(line) {
                violations.push(BrokenRule::new("word", &source.path, index + 1, message));
            }
            let text = documentation(source, line);
            if let Some(opening) = text.filter(|_| !documented).and_then(find_opening) {
                let message = format!("documentation begins with `{opening}`; begin with the noun or a verb");
                violations.push(BrokenRule::new("doc-opening", &source.path, index + 1, message));
            }
            if text.or_else(|| remark(source, line)).is_some_and(has_what_sentence) {
                let message = "a sentence begins with `What`; begin with the noun";
                violations.push(BrokenRule::new("what-sentence", &source.path, index + 1, message));
            }
            documented = text.is_some();
        }
    }
}

/// Returns whether people write this file for people. Data, lock files, recorded results and this list are not.
fn is_prose(source: &TextFile) -> bool {
    let written = ["rs", "py", "md", "hpp", "sh", "toml"].iter().any(|extension| source.has_extension(extension));
    let data = ["suites/passbench", "recipes/sft/teacher", "xtask/src/tidy/words.rs", "STYLE.md"];
    written
        && !data
            .iter()
            .any(|prefix| source.path.starts_with(prefix) || source.path.to_string_lossy().starts_with(prefix))
}

/// Returns the text of a line of Rust documentation or Markdown prose, or of the first line of Python documentation.
fn documentation<'l>(source: &TextFile, line: &'l str) -> Option<&'l str> {
    let line = line.trim_start();
    if source.has_extension("rs") {
        return line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start);
    }
    if source.has_extension("py") {
        // Later lines of a docstring look like code.
        return line.strip_prefix("\"\"\"").filter(|text| !text.is_empty());
    }
    (source.has_extension("md") && !line.is_empty() && !line.starts_with(['#', '|', '`', '<'])).then_some(line)
}

/// Returns the text of a comment, or a line from the first quotation mark on, where messages are.
fn remark<'l>(source: &TextFile, line: &'l str) -> Option<&'l str> {
    let trimmed = line.trim_start();
    let comment = ["//", "#"].iter().find_map(|mark| trimmed.strip_prefix(mark));
    let is_code = source.has_extension("rs") || source.has_extension("py");
    is_code.then(|| comment.or_else(|| line.split_once('"').map(|(_, text)| text)))?
}

fn find_words(line: &str) -> Vec<String> {
    let words = split_words(line);
    let mut found = Vec::new();
    for word in &words {
        if let Some((_, better)) = WORDS.iter().find(|(list, _)| list.contains(&word.as_str())) {
            found.push(format!("`{word}`; write: {better}"));
        }
    }
    for window in words.windows(2).chain(words.windows(3)) {
        let phrase = window.join(" ");
        if let Some((_, better)) = PHRASES.iter().find(|(phrases, _)| *phrases == phrase) {
            found.push(format!("`{phrase}`; write: {better}"));
        }
    }
    for (index, word) in words.iter().enumerate() {
        if word == "apart" && words.get(index + 1).is_none_or(|next| next != "from") {
            found.push("`apart`; write: separate, separately".to_owned());
        }
    }
    found
}

/// Splits into lower-case words at everything but letters, and at capitals inside identifiers.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_is_lower = false;
    for character in line.chars() {
        let boundary = !character.is_alphabetic() || (character.is_uppercase() && previous_is_lower);
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphabetic() {
            word.extend(character.to_lowercase());
        }
        previous_is_lower = character.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn find_opening(text: &str) -> Option<&'static str> {
    let first = text.split(|character: char| !character.is_alphabetic()).next()?;
    // A question may begin with any of them.
    OPENINGS.iter().copied().find(|opening| *opening == first && !text.trim_end().ends_with('?'))
}

fn has_what_sentence(text: &str) -> bool {
    let starts = text.match_indices("What ").map(|(at, _)| at);
    starts.into_iter().any(|at| {
        let before = text[..at].trim_end_matches(['*', '_', '"', '-', ' ']);
        let begins = before.is_empty() || before.ends_with(['.', ':', '!', '?']);
        begins && !text[at..].contains('?')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_text_and_identifiers() {
        for (line, expected) in [
            ("It is mended.", 1),
            ("fn sandbox_beside() {}", 1),
            ("struct ToldNumbers;", 1),
            ("besides, recommend a multiprocessor", 0),
            ("the run goes on; apart from that", 1),
            ("kept apart", 1),
            ("tried again and again, which nobody noticed", 2),
            ("again, and then again", 0),
            ("fn last_words()", 1),
        ] {
            assert_eq!(find_words(line).len(), expected, "{line}");
        }
    }

    #[test]
    fn sentences_that_begin_with_what_are_found() {
        assert!(has_what_sentence("What is measured is time."));
        assert!(has_what_sentence("First. What follows is longer."));
        assert!(!has_what_sentence("What is measured?"));
        assert!(!has_what_sentence("Reports What failed"));
        let remark_of = |name: &str, line| {
            remark(&TextFile { path: name.into(), text: String::new() }, line).map(has_what_sentence)
        };
        assert_eq!(remark_of("a.rs", "    // What is left is copied."), Some(true));
        assert_eq!(remark_of("a.rs", "    panic!(\"What is left: {rest}\")"), Some(true));
        assert_eq!(remark_of("a.md", "# What is left"), None);
    }
}
