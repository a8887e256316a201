//! Conditions of the preprocessor: the parts of a text that are compiled together.
//!
//! The rules read all branches. A definition under a condition may be absent when other text is compiled. So it counts only for
//! text under the same condition, or if every branch has a definition.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::Directive;

/// A condition, and whether it holds.
type Condition = (String, bool);
type Conditions = BTreeSet<Condition>;

/// Largest number of sets of conditions that are combined to see whether all branches define a name.
const MAX_COMBINED: usize = 64;

/// Prefixes of the compiler's macros that have one value in the whole text. Other macros of the compiler, such as `__COUNTER__`,
/// change.
const LASTING_PREFIXES: &[&str] =
    &["__AVX", "__SSE", "__ARM", "__CUDA", "__GNUC", "__clang", "__BMI", "__FLT", "__SIZEOF"];
const LASTING: &[&str] = &[
    "__FMA__",
    "__F16C__",
    "__x86_64__",
    "__aarch64__",
    "__cplusplus",
    "__OPTIMIZE__",
    "__FAST_MATH__",
    "__has_builtin",
    "__has_attribute",
    "__VAES__",
];

/// The conditions of every part of a text.
#[derive(Default)]
pub(super) struct Guards {
    /// Offset at which the conditions begin to hold.
    parts: Vec<(usize, Conditions)>,
}

/// The branches of one `#if` that were read so far.
struct Branches {
    outer: Conditions,
    /// Conditions of earlier branches. In this branch they do not hold.
    earlier: Conditions,
}

impl Guards {
    /// Reads the directives of a text, in their order.
    pub(super) fn new(directives: &[Directive]) -> Self {
        let stable = Stable::new(directives);
        let mut guards = Self { parts: vec![(0, Conditions::new())] };
        let mut open: Vec<Branches> = Vec::new();
        for (number, directive) in directives.iter().enumerate() {
            let (name, rest) = directive.text.split_once(' ').unwrap_or((&directive.text, ""));
            let condition = stable.condition(name, rest, number);
            let current = guards.parts.last().map(|(_, guard)| guard.clone()).unwrap_or_default();
            let next = match name {
                "#if" | "#ifdef" | "#ifndef" => {
                    let mut branches = Branches { outer: current, earlier: Conditions::new() };
                    let guard = branches.enter(condition);
                    open.push(branches);
                    guard
                }
                "#elif" | "#else" => match open.last_mut() {
                    Some(branches) => branches.enter(condition),
                    None => continue,
                },
                "#endif" => match open.pop() {
                    Some(branches) => branches.outer,
                    None => continue,
                },
                _ => continue,
            };
            guards.parts.push((directive.offset, next));
        }
        guards
    }

    /// Returns the conditions under which the text at an offset is compiled.
    fn at(&self, offset: usize) -> &Conditions {
        let part = self.parts.partition_point(|(start, _)| *start <= offset).max(1) - 1;
        &self.parts[part].1
    }

    /// Returns whether the text at an offset is compiled under all conditions.
    pub(super) fn is_unconditional(&self, offset: usize) -> bool {
        self.at(offset).is_empty()
    }

    /// Returns whether one of the definitions is compiled if the text at `used` is.
    pub(super) fn covers(&self, definitions: &[usize], used: usize) -> bool {
        let used = self.at(used);
        let mut known: Vec<Conditions> = definitions.iter().map(|offset| self.at(*offset).clone()).collect();
        known.dedup();
        let mut next = 0;
        while next < known.len() {
            if known[next].is_subset(used) {
                return true;
            }
            // Two branches that differ in one condition together cover the conditions that they have in common.
            let combined: Vec<Conditions> =
                known[..next].iter().filter_map(|other| combine(other, &known[next])).collect();
            for guard in combined {
                // The number of combinations can double with each condition. Beyond the limit, a definition counts as missing,
                // which is safe.
                if known.len() < MAX_COMBINED && !known.contains(&guard) {
                    known.push(guard);
                }
            }
            next += 1;
        }
        false
    }
}

/// Returns the conditions under which one of two guards holds, if the guards differ in the sign of a single condition.
fn combine(a: &Conditions, b: &Conditions) -> Option<Conditions> {
    let opposed: Vec<&Condition> = a.iter().filter(|(text, holds)| b.contains(&(text.clone(), !holds))).collect();
    let [(text, _)] = opposed.as_slice() else { return None };
    Some(a.union(b).filter(|(other, _)| other != text).cloned().collect())
}

impl Branches {
    /// Returns the guard of the next branch. `None` is the branch of `#else`.
    fn enter(&mut self, condition: Option<Condition>) -> Conditions {
        let mut guard: Conditions = self.outer.union(&self.earlier).cloned().collect();
        if let Some((text, holds)) = condition {
            // `#if 1` adds no condition. `#if 0` adds one that never holds, so its text covers nothing outside of it.
            if !(text == "1" && holds || text == "0" && !holds) {
                guard.insert((text.clone(), holds));
            }
            self.earlier.insert((text, !holds));
            self.earlier.remove(&("0".to_owned(), false));
        }
        guard
    }
}

/// Conditions that have one meaning in the whole text.
struct Stable<'d> {
    /// For each macro, the numbers of the directives that define it.
    defined: BTreeMap<&'d str, Vec<usize>>,
    last_include: usize,
    first_use: BTreeMap<&'d str, usize>,
}

impl<'d> Stable<'d> {
    fn new(directives: &'d [Directive]) -> Self {
        let mut stable = Self { defined: BTreeMap::new(), last_include: 0, first_use: BTreeMap::new() };
        for (number, directive) in directives.iter().enumerate() {
            let (name, rest) = directive.text.split_once(' ').unwrap_or((&directive.text, ""));
            match name {
                "#define" => {
                    let macro_name = rest.split([' ', '(']).next().unwrap_or_default();
                    stable.defined.entry(macro_name).or_default().push(number);
                }
                "#include" => stable.last_include = number,
                "#if" | "#ifdef" | "#ifndef" | "#elif" => {
                    for word in words(rest) {
                        stable.first_use.entry(word).or_insert(number);
                    }
                }
                _ => {}
            }
        }
        stable
    }

    /// Returns the condition of a directive. If its value may change, the condition is different for each directive.
    fn condition(&self, name: &str, rest: &str, number: usize) -> Option<Condition> {
        let text: String = rest.split_whitespace().collect();
        let (text, holds) = match name {
            "#ifdef" => (format!("defined({text})"), true),
            "#ifndef" => (format!("defined({text})"), false),
            "#if" | "#elif" => match text.strip_prefix("!defined(").and_then(|inner| inner.strip_suffix(')')) {
                Some(inner) if !inner.contains(['(', ')', '&', '|']) => (format!("defined({inner})"), false),
                _ => (text, true),
            },
            _ => return None,
        };
        // The number of the directive distinguishes two conditions with a macro that changes: neither covers the other.
        let lasts = words(rest).all(|word| self.lasts(word));
        Some((if lasts { text } else { format!("{text} at {number}") }, holds))
    }

    fn lasts(&self, word: &str) -> bool {
        if word == "defined"
            || LASTING.contains(&word)
            || LASTING_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
        {
            return !self.defined.contains_key(word);
        }
        let first_use = self.first_use.get(word).copied().unwrap_or_default();
        let defined = self.defined.get(word).map_or(&[][..], Vec::as_slice);
        // A header may define the macro as well, unless all headers come before.
        !word.starts_with("__")
            && defined.len() <= 1
            && defined.iter().chain([&self.last_include]).all(|at| *at <= first_use)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_word(c)).filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()) && !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tokens::lex;
    use super::Guards;

    /// Returns whether the definitions `D` of a text cover its use `U`.
    fn covers(text: &str) -> bool {
        let (_, directives) = lex(text).unwrap();
        let definitions: Vec<usize> = text.match_indices("D;").map(|(offset, _)| offset).collect();
        Guards::new(&directives).covers(&definitions, text.find("U;").unwrap())
    }

    #[test]
    fn a_definition_counts_where_it_is_compiled() {
        for text in [
            "D;\nU;",
            "D;\n#if 0\nU;\n#endif",
            "#ifdef __AVX2__\nD;\n#endif\n#ifdef __AVX2__\nU;\n#endif",
            "#ifdef __AVX2__\nD;\n#endif\n#if defined(__AVX2__)\n#if X\nU;\n#endif\n#endif",
            "#ifdef __AVX2__\nD;\n#else\nD;\n#endif\nU;",
            "#if defined(__AVX512F__)\nD;\n#elif defined(__AVX2__)\nD;\n#else\nD;\n#endif\nU;",
            "#if 1\nD;\n#endif\nU;",
            "#if 0\n#else\nD;\n#endif\nU;",
            "#ifndef X\nD;\n#else\nD;\n#endif\nU;",
            "#define N 1\n#if N\nD;\n#endif\n#if N\nU;\n#endif",
        ] {
            assert!(covers(text), "{text}");
        }
    }

    #[test]
    fn a_definition_that_may_be_left_out_does_not_count() {
        for text in [
            "#if 0\nD;\n#endif\nU;",
            "#ifdef __AVX2__\nD;\n#endif\nU;",
            "#ifdef __AVX2__\nD;\n#endif\n#ifdef __AVX512F__\nU;\n#endif",
            "#ifdef __AVX2__\nD;\n#else\n#endif\nU;",
            "#ifdef __AVX2__\nD;\n#elif X\nD;\n#endif\nU;",
            "#if __COUNTER__ == 0\nD;\n#endif\n#if __COUNTER__ == 0\nU;\n#endif",
            "#ifdef N\nU;\n#endif\n#define N 1\n#ifdef N\nD;\n#endif",
            "#ifndef N\nD;\n#endif\n#define N 1\n#ifndef N\nU;\n#endif",
            "#ifndef FLT_MAX\nD;\n#endif\n#include <cfloat>\n#ifndef FLT_MAX\nU;\n#endif",
            "#if 1\n#else\nD;\n#endif\nU;",
        ] {
            assert!(!covers(text), "{text}");
        }
    }
}
