//! Variables of a source: the place of each declaration, its scope, and whether the variable may be called.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    definitions::Definitions,
    names::{is_std, is_type},
    source::TokenSource,
    tokens::TokenKind,
};

/// Largest number of variables of one name that are followed. Further ones do not count as variables, which allows less.
const MAX_OF_ONE_NAME: usize = 1_000;

/// Values that a variable may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Numbers, vectors, and pointers to them, none of which can be called.
    Data,
    /// A lambda of the source.
    Lambda,
    /// An object of one of the source's types.
    Object,
    /// A value whose type is a template parameter.
    Argument,
    /// A value whose type is not written out: `auto`.
    Unknown,
}

/// A declared variable or parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    /// Index of the token that declares it.
    pub(super) start: usize,
    /// Index of the token behind its scope.
    pub(super) end: usize,
    pub(super) holds: Holds,
    /// True if it is declared outside of all functions and types.
    pub(super) is_global: bool,
}

/// Variables by name, and functions that are declared without a body.
#[derive(Default)]
pub(super) struct Variables<'t> {
    by_name: BTreeMap<&'t str, Vec<Variable>>,
    /// Tokens that declare a function.
    pub(super) prototypes: BTreeSet<usize>,
}

const SPECIFIERS: &[&str] = &[
    "static",
    "const",
    "constexpr",
    "volatile",
    "inline",
    "extern",
    "typename",
    "struct",
    "class",
    "enum",
    "union",
    "__device__",
    "__host__",
    "__global__",
    "__forceinline__",
    "__shared__",
    "__constant__",
];

const DECORATIONS: &[&str] = &["*", "&", "&&", "const", "volatile", "__restrict__", "__restrict", "restrict", "."];

/// Types of `<functional>` whose objects compute one operation.
const STANDARD_OBJECTS: &[&str] = &[
    "divides",
    "equal_to",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "minus",
    "modulus",
    "multiplies",
    "negate",
    "not_equal_to",
    "plus",
];

impl<'t> Variables<'t> {
    pub(super) fn new(source: &TokenSource<'t>, definitions: &Definitions<'t>) -> Self {
        let mut variables = Self::default();
        for index in 0..source.len() {
            let begins = matches!(source.before(index, 1), "" | ";" | "{" | "}" | "(" | "," | ")" | ">" | ":");
            if begins && (source.is_name(index) || source.text(index) == "[") {
                variables.declaration(source, definitions, index);
            }
        }
        variables
    }

    /// Returns the variable that a name means at a token.
    pub(super) fn find(&self, name: &str, index: usize) -> Option<&Variable> {
        let seen = self.by_name.get(name)?.iter().filter(|variable| (variable.start..variable.end).contains(&index));
        // The innermost declaration hides the others.
        seen.max_by_key(|variable| variable.start)
    }

    /// Reads a declaration, if a declaration begins at a token.
    fn declaration(&mut self, source: &TokenSource<'t>, definitions: &Definitions<'t>, start: usize) {
        let Some((mut at, mut holds)) = type_at(source, definitions, start) else { return };
        let in_list = matches!(source.before(start, 1), "(" | ",");
        loop {
            while DECORATIONS.contains(&source.text(at)) {
                at += 1;
            }
            if source.text(at) == "[" && source.text(at + 1) != "[" {
                // `auto [low, high] = ...`
                let Some(close) = source.closing(at) else { return };
                for index in at + 1..close {
                    if source.is_name(index) {
                        self.add(source, index, holds);
                    }
                }
                return;
            }
            if !source.is_name(at) || is_type(source.text(at)) {
                return;
            }
            let next = source.text(at + 1);
            if next == "(" && is_parameter_list(source, definitions, at + 1) {
                self.prototypes.insert(at);
                return;
            }
            if !matches!(next, "=" | ";" | "," | ")" | "[" | "{" | ":" | "(")
                || next == "=" && source.text(at + 2) == "="
            {
                return;
            }
            if next == "=" && source.text(at + 2) == "[" && source.text(at + 3) != "[" {
                holds = Holds::Lambda;
            }
            // The type of a parameter `auto f` is one of a template.
            if source.text(start) == "auto" && in_list && matches!(next, "," | ")") {
                holds = Holds::Argument;
            }
            self.add(source, at, holds);
            let Some(end) = initializer_end(source, at + 1) else { return };
            if source.text(end) != "," || in_list {
                return;
            }
            at = end + 1;
        }
    }

    fn add(&mut self, source: &TokenSource<'t>, index: usize, holds: Holds) {
        let (end, is_global) = scope_end(source, index);
        let variable = Variable { start: index, end, holds, is_global };
        let named = self.by_name.entry(source.text(index)).or_default();
        if named.len() < MAX_OF_ONE_NAME {
            named.push(variable);
        }
    }
}

/// Returns the index of the token behind the type of a declaration, and the kind of value that variables of that type hold.
fn type_at(source: &TokenSource<'_>, definitions: &Definitions<'_>, start: usize) -> Option<(usize, Holds)> {
    let mut at = start;
    loop {
        let text = source.text(at);
        if text == "alignas" || text == "__attribute__" {
            at = source.closing(at + 1)? + 1;
        } else if text == "[" && source.text(at + 1) == "[" {
            at = source.closing(at)? + 1;
        } else if text == "extern" && source.text(at + 1) == "\"C\"" {
            at += 2;
        } else if SPECIFIERS.contains(&text) {
            at += 1;
        } else {
            break;
        }
    }
    let name = source.text(at);
    if name == "auto" {
        return Some((at + 1, Holds::Unknown));
    }
    if name == "decltype" {
        return Some((source.closing(at + 1)? + 1, Holds::Unknown));
    }
    if is_type(name) {
        while is_type(source.text(at)) && source.text(at) != "auto" || source.text(at) == "const" {
            at += 1;
        }
        return Some((at, Holds::Data));
    }
    if !source.is_name(at) {
        return None;
    }
    let last = source.qualified_end(at);
    let is_standard = name == "std" && last > at && is_std(source.text(last));
    let holds = if is_standard && STANDARD_OBJECTS.contains(&source.text(last)) {
        Holds::Object
    } else if is_standard {
        Holds::Data
    } else if definitions.is_parameter(source.text(last)) {
        Holds::Argument
    } else if definitions.is_type(source.text(last)) {
        Holds::Object
    } else {
        return None;
    };
    let end = if source.text(last + 1) == "<" { source.template_end(last + 1)? } else { last };
    Some((end + 1, holds))
}

/// Returns whether brackets hold the parameters of a function rather than the initial value of a variable.
pub(super) fn is_parameter_list(source: &TokenSource<'_>, definitions: &Definitions<'_>, open: usize) -> bool {
    let first = source.text(open + 1);
    if first == ")" {
        return true;
    }
    let mut at = open + 1;
    while SPECIFIERS.contains(&source.text(at)) {
        at += 1;
    }
    let is_written = at > open + 1;
    match type_at(source, definitions, at) {
        // `float v(float(x))` and `T v(T{})` make values.
        Some((end, _)) => is_written || !matches!(source.text(end), "(" | "{" | "::"),
        None => false,
    }
}

/// Returns the index of the token that ends an initial value: `,`, `;`, `)` or `:`.
fn initializer_end(source: &TokenSource<'_>, from: usize) -> Option<usize> {
    let mut at = from;
    while at < source.len() {
        match source.text(at) {
            "," | ";" | ")" | "]" | "}" | ":" => return Some(at),
            "(" | "[" | "{" => at = source.closing(at)? + 1,
            "<" => at = source.template_end(at).filter(|end| source.text(end + 1) != "=").unwrap_or(at) + 1,
            _ => at += 1,
        }
    }
    None
}

/// Returns the index of the token behind the scope of a declaration, and whether the scope is the whole file.
fn scope_end(source: &TokenSource<'_>, index: usize) -> (usize, bool) {
    let Some(open) = source.enclosing(index) else { return (source.len(), true) };
    let Some(close) = source.closing(open) else { return (index, false) };
    if source.text(open) == "{" {
        return (close, source.is_namespace(open));
    }
    // The head of a function or of a statement: its scope is the code after it.
    let mut at = close + 1;
    while at < source.len() {
        match source.text(at) {
            "{" => return (source.closing(at).unwrap_or(at), false),
            ";" => return (at, false),
            ")" | "}" | "," => return (close, false),
            "(" | "[" => at = source.closing(at).unwrap_or(at) + 1,
            _ => at += 1,
        }
    }
    (close, false)
}

/// Returns whether a token can be an operand, so that the next token is an operator.
pub(super) fn ends_operand(source: &TokenSource<'_>, index: usize) -> bool {
    match source.kind(index) {
        Some(TokenKind::Number | TokenKind::Text) => true,
        Some(TokenKind::Name) => !matches!(source.text(index), "return" | "case" | "sizeof" | "else" | "do"),
        Some(TokenKind::Punctuation) => matches!(source.text(index), ")" | "]" | "}"),
        None => false,
    }
}
