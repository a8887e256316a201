//! C++ and CUDA sources: a token scan, not a parser.
//!
//! The scan knows no types and no scopes. It follows the same principle as the rest: a name may be called if the source
//! defines it, or if it is on a list; names that headers declare and that reach outside may not occur at all. What would
//! need a parser to judge is rejected: pasting macros, function pointers, calls of computed values, line splicing.

mod macros;
mod names;
mod tokens;

use std::collections::BTreeSet;

use self::{
    names::{is_callable, is_denied, is_keyword, is_member, is_std, is_type},
    tokens::{Kind, Token, tokenize},
};
use super::rules::{NativeCall, NativeInclude, NativeState};

pub(super) use self::names::{defined_type, is_flag};

/// What a scan finds.
pub(super) enum Found {
    Include(NativeInclude),
    Call(NativeCall),
    State(NativeState),
}

/// A place in the source: byte offset and length.
pub(super) type Place = (usize, usize);

/// Reads a source, in which `defined` are names of types that compiler flags define.
pub(super) fn scan<'t>(text: &'t str, defined: impl IntoIterator<Item = &'t str>) -> Vec<(Place, Found)> {
    let mut scan = Scan {
        text,
        tokens: Vec::new(),
        partners: Vec::new(),
        found: Vec::new(),
        functions: BTreeSet::new(),
        types: BTreeSet::new(),
    };
    match tokenize(text) {
        Ok((tokens, directives)) => {
            scan.partners = partners(&tokens);
            scan.tokens = tokens;
            for directive in directives {
                if scan.found.len() < MAX_FOUND && !names::is_directive(&directive.text) {
                    let found = Found::Include(NativeInclude { subject: directive.text });
                    scan.found.push(((directive.offset, directive.length), found));
                }
            }
        }
        Err(what) => {
            return vec![((0, text.len()), Found::Call(NativeCall { subject: what }))];
        }
    }
    scan.collect_definitions();
    scan.types.extend(defined);
    scan.check_tokens();
    scan.check_statements();
    scan.found
}

/// Most findings of one source.
const MAX_FOUND: usize = 50;
/// Most variables in one declaration.
const MAX_DECLARATORS: usize = 32;

struct Scan<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    /// For each bracket the index of the one that it belongs to.
    partners: Vec<Option<usize>>,
    found: Vec<(Place, Found)>,
    /// Functions and lambdas that the source defines.
    functions: BTreeSet<&'t str>,
    /// Types and template parameters that the source defines.
    types: BTreeSet<&'t str>,
}

impl<'t> Scan<'t> {
    fn call(&mut self, index: usize, subject: &str) {
        self.find(index, Found::Call(NativeCall { subject: subject.to_owned() }));
    }

    fn state(&mut self, index: usize, subject: &str) {
        self.find(index, Found::State(NativeState { subject: subject.to_owned() }));
    }

    fn find(&mut self, index: usize, found: Found) {
        if self.found.len() < MAX_FOUND {
            let text = self.text(index);
            self.found.push(((tokens::offset(self.text, text), text.len()), found));
        }
    }

    /// The text of a token, empty beyond the ends.
    fn text(&self, index: usize) -> &'t str {
        self.tokens.get(index).map_or("", |token| token.text)
    }

    fn before(&self, index: usize, distance: usize) -> &'t str {
        index.checked_sub(distance).map_or("", |index| self.text(index))
    }

    fn is_name(&self, index: usize) -> bool {
        self.tokens.get(index).is_some_and(|token| token.kind == Kind::Name)
    }

    /// Index of the bracket that closes the one at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        self.partners.get(open).copied().flatten().filter(|close| *close > open)
    }

    /// Index of the bracket that opens the one at `close`.
    fn opening(&self, close: usize) -> Option<usize> {
        self.partners.get(close).copied().flatten().filter(|open| *open < close)
    }

    /// Whether a parameter list that closes at `close` is followed by a function body.
    fn has_body(&self, close: usize) -> bool {
        let rest = (close + 1..).map(|index| self.text(index));
        rest.take_while(|text| !text.is_empty()).find(|text| {
            !matches!(*text, "const" | "noexcept" | "->" | "float" | "double" | "int" | "void" | "auto" | "bool" | "T")
        }) == Some("{")
    }

    /// Names that the source itself defines. None of them may be one that a header declares and that reaches outside
    /// ([`is_denied`]), so a call of such a name is a call of the source's own code, wherever it is defined.
    fn collect_definitions(&mut self) {
        for index in 0..self.tokens.len() {
            let token = self.tokens[index];
            if token.text == "typedef" {
                self.types.extend(self.typedef_name(index));
            }
            if token.kind != Kind::Name || is_keyword(token.text) || is_denied(token.text) {
                continue;
            }
            if matches!(self.before(index, 1), "struct" | "class" | "enum" | "union" | "typename" | "using") {
                self.types.insert(token.text);
            }
            let defined = self.text(index + 1) == "("
                && self.before(index, 1) != "::"
                && self.closing(index + 1).is_some_and(|close| self.has_body(close));
            let is_lambda =
                self.text(index + 1) == "=" && self.text(index + 2) == "[" && self.before(index, 1) == "auto";
            if defined || is_lambda {
                self.functions.insert(token.text);
            }
        }
    }

    /// The name that a `typedef` defines: the last one outside of brackets.
    fn typedef_name(&self, start: usize) -> Option<&'t str> {
        let mut name = None;
        let mut index = start + 1;
        while index < self.tokens.len() && self.text(index) != ";" {
            if self.is_name(index) && self.text(index) != "__attribute__" {
                name = Some(self.text(index));
            }
            index = self.closing(index).unwrap_or(index) + 1;
        }
        name.filter(|name| !is_denied(name))
    }

    fn check_tokens(&mut self) {
        for index in 0..self.tokens.len() {
            let token = self.tokens[index];
            if token.kind == Kind::Name {
                self.check_name(index, token.text);
            }
            if token.text == "(" && index > 0 {
                self.check_call_of_value(index);
            }
        }
    }

    fn check_name(&mut self, index: usize, name: &str) {
        if is_denied(name) {
            return self.call(index, name);
        }
        if name == "thread_local" || name == "__managed__" {
            return self.state(index, name);
        }
        if name == "extern" && self.tokens.get(index + 1).is_none_or(|next| next.text != "\"C\"") {
            return self.call(index, "extern");
        }
        if name == "static" || name == "inline" {
            return self.check_static(index, name);
        }
        if name == "namespace" && self.text(index + 2) == "=" {
            return self.call(index, "namespace");
        }
        let qualified = self.before(index, 1) == "::";
        if qualified {
            let owner = self.before(index, 2);
            let known = match owner {
                "std" => is_std(name),
                _ => is_member(name) || self.functions.contains(name) || self.types.contains(name),
            };
            if !known {
                self.call(index, &format!("{owner}::{name}"));
            }
            return;
        }
        if self.text(index + 1) != "(" {
            return;
        }
        let member = matches!(self.before(index, 1), "." | "->");
        let known = if member {
            is_member(name)
        } else {
            is_keyword(name)
                || is_type(name)
                || is_callable(name)
                || self.functions.contains(name)
                || self.types.contains(name)
        };
        let declared = self.tokens[index].depth > 0 && self.is_declarator(index);
        let own = self.functions.contains(name) || self.types.contains(name);
        if declared && own && self.closing(index + 1).is_some_and(|close| self.text(close + 1) == ";") {
            // A declaration inside a function would bring in a function of that name from elsewhere.
            return self.call(index, &format!("a declaration of {name}()"));
        }
        if !known && !declared {
            self.call(index, &format!("{name}()"));
        }
    }

    /// Whether the name at `index` is being declared as a variable: `dim3 grid(...)`, `std::vector<float> a(n), b(n)`.
    fn is_declarator(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        let is_known_type = |name: &str| is_type(name) || self.types.contains(name);
        match self.text(before) {
            "," => {
                // To the name that begins the list of declarators: `std::vector<float> a(n), b(n), c(n)`.
                let mut first = index;
                for _ in 0..MAX_DECLARATORS {
                    if self.before(first, 1) != "," || self.before(first, 2) != ")" {
                        break;
                    }
                    match self.opening(first - 2).and_then(|open| open.checked_sub(1)) {
                        Some(name) if self.is_name(name) => first = name,
                        _ => return false,
                    }
                }
                self.before(first, 1) != "," && self.is_declarator(first)
            }
            ">" => self.template_name(before).is_some_and(|head| {
                let name = self.text(head);
                is_known_type(name)
                    || self.before(head, 1) == "::" && matches!(name, "vector" | "array" | "pair" | "tuple")
            }),
            name => is_known_type(name),
        }
    }

    /// The name before the `<` that the `>` at `close` ends, if what is between can be template arguments.
    fn template_name(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for index in (0..=close).rev() {
            match self.text(index) {
                ">" => depth += 1,
                "<" => {
                    depth -= 1;
                    if depth == 0 {
                        return index.checked_sub(1).filter(|name| self.is_name(*name));
                    }
                }
                "," | "*" | "&" | "::" => {}
                _ if matches!(self.tokens[index].kind, Kind::Name | Kind::Number) => {}
                _ => return None,
            }
        }
        None
    }

    /// A call of something that is not a plain name: `(*f)(x)`, `table[i](x)`.
    fn check_call_of_value(&mut self, open: usize) {
        let close = open - 1;
        match self.text(close) {
            ")" => {
                let Some(start) = self.opening(close) else { return };
                let after_keyword = matches!(
                    self.before(start, 1),
                    "if" | "while" | "for" | "switch" | "noexcept" | "__launch_bounds__"
                );
                // `(float*)(x)`: a cast to a type. Anything else in parentheses that is called is a computed function.
                let is_cast = (start + 1..close).all(|index| {
                    let text = self.text(index);
                    is_type(text)
                        || self.types.contains(text)
                        || matches!(text, "*" | "&" | "::" | "std" | "const" | "<" | ">")
                }) && (start + 1 < close && !matches!(self.text(start + 1), "*" | "&"));
                let introducer = self.before(start, 1) == "]";
                if !after_keyword && !is_cast && !introducer {
                    self.call(open, "a call of a computed function");
                }
            }
            "]" => {
                let Some(start) = self.opening(close) else { return };
                // `[&](float v)` begins a lambda; `table[i](v)` calls an element.
                if self.is_name(start.wrapping_sub(1)) && !is_keyword(self.before(start, 1))
                    || matches!(self.before(start, 1), ")" | "]")
                {
                    self.call(open, "a call of an element");
                }
            }
            ">" => self.check_template_call(close),
            _ => {}
        }
        if self.text(open + 1) == "*"
            && self.is_name(open + 2)
            && self.text(open + 3) == ")"
            && self.text(open + 4) == "("
        {
            self.call(open, "a function pointer");
        }
    }

    /// `name<arguments>(...)`: the name has to be callable. Where the angle brackets do not match, it is a comparison.
    fn check_template_call(&mut self, close: usize) {
        let Some(index) = self.template_name(close) else { return };
        let name = self.text(index);
        let known = is_keyword(name)
            || is_callable(name)
            || is_type(name)
            || is_std(name) && self.before(index, 1) == "::"
            || self.functions.contains(name)
            || self.types.contains(name);
        if !known {
            self.call(index, &format!("{name}<>()"));
        }
    }

    /// `static` and `inline` may begin functions and constants.
    fn check_static(&mut self, index: usize, name: &str) {
        for at in index + 1..self.tokens.len() {
            match self.text(at) {
                // A second specifier is checked on its own.
                "constexpr" | "static" | "inline" => return,
                "(" if self.closing(at).is_some_and(|close| self.has_body(close)) => return,
                "(" | "=" | ";" | "{" | "[" => {
                    let shown: Vec<_> = (index..at).map(|at| self.text(at)).collect();
                    return self.state(index, &shown.join(" "));
                }
                _ => {}
            }
        }
        self.state(index, name);
    }

    /// Declarations at file scope: functions with bodies, types, constants; no variables, no prototypes.
    fn check_statements(&mut self) {
        let mut start = 0;
        let mut index = 0;
        while index < self.tokens.len() {
            match self.text(index) {
                "{" => {
                    let transparent = self.before(index, 1) == "namespace"
                        || self.before(index, 2) == "namespace"
                        || self.before(index, 1) == "\"C\"";
                    if transparent {
                        start = index + 1;
                    } else {
                        let Some(close) = self.closing(index) else { return };
                        index = close;
                        let ends_without_semicolon = (start..index).any(|at| self.text(at) == "(")
                            && self.text(index + 1) != ";"
                            || self.text(index + 1) == "}";
                        if ends_without_semicolon {
                            start = index + 1;
                        }
                    }
                }
                "}" => start = index + 1,
                ";" => {
                    self.check_declaration(start, index);
                    start = index + 1;
                }
                _ => {}
            }
            index += 1;
        }
    }

    fn check_declaration(&mut self, start: usize, end: usize) {
        let start = if self.text(start) == "extern" { start + 2 } else { start };
        let specifiers = (start..end).take_while(|at| !matches!(self.text(*at), "=" | "(" | "{" | "["));
        let mut constant = false;
        let mut defines_type = false;
        for at in specifiers {
            constant |= self.text(at) == "constexpr";
            defines_type |= matches!(self.text(at), "struct" | "class" | "union" | "enum");
        }
        let first = self.text(start);
        let declares = matches!(first, "" | ";" | "using" | "typedef" | "static_assert");
        // `struct Point {...};` and `struct Point;` define types; with a name at the end they define a variable too.
        let only_type = defines_type && (self.before(end, 1) == "}" || end <= start + 2);
        if start >= end || constant || declares || only_type {
            return;
        }
        let shown: Vec<_> = (start..end).take(6).map(|at| self.text(at)).collect();
        let prototype =
            (start..end).find(|at| self.text(*at) == "(").is_some_and(|at| at > start && self.is_name(at - 1));
        if prototype && self.before(end, 1) == ")" {
            self.call(start, &shown.join(" "));
        } else {
            self.state(start, &shown.join(" "));
        }
    }
}

/// For each bracket the index of the one that it belongs to.
fn partners(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let mut partners = vec![None; tokens.len()];
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => open.push(index),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    partners[start] = Some(index);
                    partners[index] = Some(start);
                }
            }
            _ => {}
        }
    }
    partners
}
