//! Removal of library code that no kernel uses, for reading.
//!
//! The C++ of the built-in author begins with a vector library. This is no parser of C++: it divides the text into top-level
//! items by braces and preprocessor blocks, and keeps every item whose name it does not know.

use std::collections::BTreeSet;

/// Beginning and end of C++ code in a pass.
const BEGIN: &str = "SOURCE = \"\"\"\n";
const END: &str = "\"\"\"\n";

/// Returns a pass whose C++ code has only items that kernels use, directly or not. Other text stays as it is.
pub(super) fn prune_sources(pass: &str) -> String {
    let Some((before, rest)) = pass.split_once(BEGIN) else { return pass.to_owned() };
    let Some((source, after)) = rest.split_once(END) else { return pass.to_owned() };
    format!("{before}{BEGIN}{}{END}{after}", prune(source))
}

/// A top-level item: its comment and its code.
struct Item<'a> {
    text: &'a str,
    /// Names that it defines; empty if they are not known.
    names: Vec<&'a str>,
}

fn prune(source: &str) -> String {
    let items: Vec<Item<'_>> =
        split(source).into_iter().map(|text| Item { text, names: defined_names(text) }).collect();
    let mut kept = vec![false; items.len()];
    let mut used: BTreeSet<&str> = BTreeSet::new();
    loop {
        let mut changed = false;
        for (item, kept) in items.iter().zip(&mut kept) {
            if !*kept && (item.names.is_empty() || item.names.iter().any(|name| used.contains(name))) {
                *kept = true;
                changed = true;
                used.extend(identifiers(&code(item.text)).into_iter().filter_map(|word| place_of(item.text, word)));
            }
        }
        if !changed {
            break;
        }
    }
    let kept: String = items.iter().zip(kept).filter(|(_, kept)| *kept).map(|(item, _)| item.text).collect();
    without_double_gaps(&kept)
}

/// Returns a word as a part of a text.
fn place_of<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.find(word)?;
    text.get(at..at + word.len())
}

/// Divides a text into items; together they are the text. An item ends with the line in which all its braces and
/// preprocessor blocks are closed, unless the line is a comment, empty, or does not end a declaration.
fn split(source: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut at, mut braces, mut blocks) = (0, 0, 0_i64, 0_i64);
    for line in source.split_inclusive('\n') {
        at += line.len();
        let code = code(line);
        let text = code.trim();
        let directive = text.starts_with('#');
        if text.starts_with("#if") {
            blocks += 1;
        } else if text.starts_with("#endif") {
            blocks -= 1;
        }
        // The namespace encloses all items.
        if !text.starts_with("namespace") && !line.contains("// namespace") {
            braces += text.matches('{').count() as i64 - text.matches('}').count() as i64;
        }
        let continued = line.trim_end().ends_with('\\');
        let complete = text.ends_with('}')
            || text.ends_with(';')
            || directive && !continued
            || text.starts_with("OF_LANES(")
            || text.starts_with("namespace");
        if braces == 0 && blocks == 0 && !continued && complete && !is_head(text) {
            items.push(&source[start..at]);
            start = at;
        }
    }
    if start < source.len() {
        items.push(&source[start..]);
    }
    items
}

/// Returns whether a line only begins a declaration.
fn is_head(text: &str) -> bool {
    text.starts_with("template") && !text.ends_with('}') && !text.ends_with(';')
}

/// Returns a text without its `//` comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the names that an item defines; none if they are not known, as for kernels, which nothing in the source calls.
fn defined_names(item: &str) -> Vec<&str> {
    let code = code(item);
    let text = code.trim();
    let found = if text.is_empty() || text.contains("extern \"C\"") || text.contains("namespace") {
        Vec::new()
    } else if text.starts_with("#if") {
        let inner = text.lines().skip(1).filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        let parts: Vec<Vec<String>> = split(&format!("{inner}\n")).into_iter().map(single_names).collect();
        if parts.iter().any(Vec::is_empty) { Vec::new() } else { parts.concat() }
    } else {
        single_names(text)
    };
    found.iter().filter_map(|name| place_of(item, name)).collect()
}

/// Returns the names of one declaration without preprocessor blocks.
fn single_names(text: &str) -> Vec<String> {
    let code = code(text);
    let text = code.trim();
    let last = |text: &str| identifiers(text).last().map(|name| (*name).to_owned()).into_iter().collect();
    if let Some(rest) = text.strip_prefix("#define ") {
        return last(rest.split('(').next().unwrap_or_default());
    }
    if let Some(rest) = text.strip_prefix("OF_LANES(") {
        return last(rest.split(',').next().unwrap_or_default());
    }
    if text.starts_with("typedef") {
        return last(text.split("__attribute__").next().unwrap_or_default());
    }
    if text.starts_with("struct") {
        return identifiers(text).get(1).map(|name| (*name).to_owned()).into_iter().collect();
    }
    let declaration = strip_template(text);
    if declaration.starts_with("constexpr") {
        let parts =
            declaration.split(',').filter_map(|part| Some(identifiers(part.split_once('=')?.0).last()?.to_string()));
        return parts.collect();
    }
    match declaration.split_once('(') {
        Some((head, _)) if !head.contains(['{', '=', '#']) => last(head),
        _ => Vec::new(),
    }
}

/// Returns a declaration without `template <...>` in front.
fn strip_template(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("template").map(str::trim_start).filter(|rest| rest.starts_with('<')) else {
        return text;
    };
    let mut depth = 0;
    for (at, c) in rest.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest[at + 1..].trim_start();
        }
    }
    text
}

fn identifiers(text: &str) -> Vec<&str> {
    let word = |part: &&str| part.starts_with(|c: char| c.is_alphabetic() || c == '_');
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(word).collect()
}

/// Returns a text with at most one empty line in a row.
fn without_double_gaps(text: &str) -> String {
    let mut kept = text.to_owned();
    while kept.contains("\n\n\n") {
        kept = kept.replace("\n\n\n", "\n\n");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
namespace fused {

// Vectors.
typedef float vec __attribute__((vector_size(4 * lanes)));
typedef int32_t mask __attribute__((vector_size(4 * lanes)));

static inline vec splat(float x) { return x - vec{}; }
static inline mask splat(bool x) { return mask{} - int32_t(x); }

#ifdef __F16C__
static inline float half(float16 x) { return widen(x); }
#else
static inline float half(float16 x) { return slow(x); }
#endif

struct cascade {
    vec whole[3] = {};
};
static inline void carry(cascade& sum) {
    if (true) {
        sum.whole[0] += splat(1.0f);
    }
}

// Lane by lane.
#define OF_LANES(name, function) \\
    static inline float name(float x) { return function(x); }
OF_LANES(sqrt_of, std::sqrt)
OF_LANES(log_of, std::log)

template <typename V> static inline V twice(V x) {
    return x + x;
}

extern \"C\" void kernel0(const float* in0, float* out0) {
    out0[0] = twice(in0[0]) + sqrt_of(in0[1]);
}

}  // namespace fused
";

    #[test]
    fn items_together_are_the_text() {
        assert_eq!(split(SOURCE).concat(), SOURCE);
    }

    #[test]
    fn unused_items_go_and_used_ones_stay() {
        let pruned = prune(SOURCE);
        for kept in
            ["namespace fused {", "twice(V x)", "#define OF_LANES", "OF_LANES(sqrt_of", "kernel0", "}  // namespace"]
        {
            assert!(pruned.contains(kept), "{kept}: {pruned}");
        }
        for gone in ["splat", "#ifdef", "half", "cascade", "carry", "OF_LANES(log_of"] {
            assert!(!pruned.contains(gone), "{gone}: {pruned}");
        }
        let with_carry = SOURCE.replace("twice(in0[0])", "carry(in0[0])");
        let pruned = prune(&with_carry);
        assert!(
            pruned.contains("struct cascade") && pruned.contains("splat(float x)") && pruned.contains("float vec"),
            "{pruned}"
        );
    }

    #[test]
    fn other_text_stays() {
        let pass = "import torch\nx = 1\n";
        assert_eq!(prune_sources(pass), pass);
        let pass = format!("a = 1\nSOURCE = \"\"\"\n{SOURCE}\"\"\"\nb = 2\n");
        let pruned = prune_sources(&pass);
        assert!(pruned.starts_with("a = 1\n") && pruned.ends_with("\"\"\"\nb = 2\n") && !pruned.contains("half"));
    }
}
