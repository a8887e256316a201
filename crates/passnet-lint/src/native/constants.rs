//! Declarations outside of functions. A value that outlives a call has to be a written-out constant.

use super::{NativeScan, names::is_type};

/// Functions whose results for constants the compiler computes. Where it does not, it writes code that runs when the library is loaded, which
/// the rules for object code refuse.
const FOLDED: &[&str] =
    &["exp", "exp2", "expf", "log", "log2", "log2f", "logf", "pow", "powf", "sqrt", "sqrtf", "fabs", "max", "min"];

/// Largest number of functions of a source, declared or defined, for which prototypes are compared with definitions.
const MAX_PROTOTYPES: usize = 1_000;

impl NativeScan<'_> {
    /// Checks `static` and `inline`, which may begin functions and constants.
    pub(super) fn check_static(&mut self, index: usize, name: &str) {
        let source = &self.source;
        let mut next = index + 1;
        while next < source.len() {
            let at = next;
            next += 1;
            match source.text(at) {
                // A second specifier is checked separately.
                "constexpr" | "static" | "inline" => return,
                // An inline namespace is only a name.
                "namespace" if at == index + 1 => return,
                "(" if matches!(source.before(at, 1), "alignas" | "__attribute__") => {
                    next = source.closing(at).map_or(source.len(), |close| close + 1);
                }
                "(" if source.closing(at).is_some_and(|close| source.has_body(close)) => return,
                // A prototype: checked with all others.
                "(" if self.variables.prototypes.contains(&(at - 1)) => return,
                "(" | "=" | ";" | "{" | "[" => {
                    let start = self.statement_start(index);
                    let end = self.statement_end(at);
                    if !self.is_constant(start, end) {
                        self.state(index, &self.shown(index, at));
                    }
                    return;
                }
                _ => {}
            }
        }
        self.state(index, name);
    }

    fn statement_start(&self, index: usize) -> usize {
        let ends = |at: &usize| !matches!(self.source.before(*at, 1), "" | ";" | "{" | "}");
        (0..=index).rev().find(|at| !ends(at)).unwrap_or(0)
    }

    fn statement_end(&self, index: usize) -> usize {
        let mut at = index;
        while at < self.source.len() && self.source.text(at) != ";" {
            at = self.source.closing(at).unwrap_or(at) + 1;
        }
        at
    }

    /// Returns tokens as text for a message.
    pub(super) fn shown(&self, start: usize, end: usize) -> String {
        (start..end).take(8).map(|at| self.source.text(at)).collect::<Vec<_>>().join(" ")
    }

    /// Checks declarations at file level: functions with bodies and their prototypes, types, constants.
    pub(super) fn check_statements(&mut self) {
        let mut start = 0;
        let mut index = 0;
        while index < self.source.len() {
            match self.source.text(index) {
                "{" if self.source.is_namespace(index) => start = index + 1,
                "{" => {
                    let Some(close) = self.source.closing(index) else { return };
                    index = close;
                    let ends_without_semicolon = (start..index).any(|at| self.source.text(at) == "(")
                        // A lambda that is called at once is part of a declaration.
                        && !matches!(self.source.text(index + 1), ";" | "(")
                        || self.source.text(index + 1) == "}";
                    if ends_without_semicolon {
                        start = index + 1;
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
        let source = &self.source;
        let head = start;
        let start = if source.text(start) == "extern" { start + 2 } else { start };
        let specifiers = (start..end).take_while(|at| !matches!(source.text(*at), "=" | "(" | "{" | "["));
        let mut constant = false;
        let mut defines_type = false;
        for at in specifiers {
            constant |= source.text(at) == "constexpr";
            defines_type |= matches!(source.text(at), "struct" | "class" | "union" | "enum");
        }
        // `template <typename T> using Pointer = T*;`
        let named = match source.text(start) {
            "template" => source.template_end(start + 1).map_or(start, |end| end + 1),
            _ => start,
        };
        let declares = matches!(source.text(named), "using" | "concept")
            || matches!(source.text(start), "" | ";" | "typedef" | "static_assert" | "namespace");
        // `struct Point {...};` and `struct Point;` define types. With a name at the end they also define a variable.
        let only_type = defines_type && (source.before(end, 1) == "}" || end <= start + 2);
        if start >= end || constant || declares || only_type || self.is_constant(start, end) {
            return;
        }
        let shown = self.shown(start, end);
        let prototype = self.variables.prototypes.range(start..end).next().copied();
        match prototype.and_then(|name| Some((name, source.closing(name + 1)?))) {
            Some((name, close)) if close + 1 == end => {
                if !self.is_defined_later(head, name, close) {
                    self.call(start, &format!("`{shown}`: a declaration without a definition of exactly this form"));
                }
            }
            Some(_) => self.call(start, &format!("`{shown}`: several declarations in one")),
            None => self.state(start, &shown),
        }
    }

    /// Returns whether a prototype has a definition that differs only in names of parameters.
    fn is_defined_later(&self, head: usize, name: usize, close: usize) -> bool {
        let source = &self.source;
        let is_defined = self.definitions.calls_function(source.text(name), source.at(name), &self.guards);
        // Each prototype is compared with each definition, so the time would grow with the square of the text.
        if !is_defined || self.variables.prototypes.len() > MAX_PROTOTYPES {
            return false;
        }
        let declared = self.signature(head, name, close);
        let mut defined = (close..source.len()).filter(|at| source.text(*at) == source.text(name));
        defined.any(|at| {
            let Some(end) = source.closing(at + 1).filter(|end| source.has_body(*end)) else { return false };
            let begin = self.statement_start(at);
            source.enclosing(at) == source.enclosing(name)
                && self.guards.covers(&[source.at(at)], source.at(name))
                && self.signature(begin, at, end) == declared
        })
    }

    /// Returns the tokens of a function's head, without names and default values of parameters.
    fn signature(&self, head: usize, name: usize, close: usize) -> Vec<&str> {
        let source = &self.source;
        let mut signature: Vec<&str> = (head..name + 2).map(|at| source.text(at)).collect();
        let mut parameter: Vec<usize> = Vec::new();
        let mut at = name + 2;
        while at <= close {
            let ends = matches!(source.text(at), "," | ")");
            if ends {
                let is_named = parameter.len() > 1
                    && parameter.last().is_some_and(|last| source.is_name(*last) && !is_type(source.text(*last)))
                    && !parameter.iter().rev().nth(1).is_some_and(|at| matches!(source.text(*at), "::" | "const"));
                parameter.truncate(parameter.len() - usize::from(is_named));
                signature.extend(parameter.drain(..).map(|at| source.text(at)).chain([source.text(at)]));
                at += 1;
            } else if source.text(at) == "=" {
                while at < close && source.text(at) != "," {
                    at = source.closing(at).unwrap_or(at) + 1;
                }
            } else {
                parameter.push(at);
                at += 1;
            }
        }
        signature
    }

    /// Returns whether a declaration makes numeric constants whose values the compiler computes.
    fn is_constant(&self, start: usize, end: usize) -> bool {
        let source = &self.source;
        let mut at = start;
        let mut is_const = false;
        loop {
            match source.text(at) {
                "static" | "inline" | "__device__" => at += 1,
                // Kernels cannot write to a constant.
                "const" | "__constant__" => {
                    is_const = true;
                    at += 1;
                }
                "alignas" | "__attribute__" => match source.closing(at + 1) {
                    Some(close) => at = close + 1,
                    None => return false,
                },
                _ => break,
            }
        }
        let is_array = source.text(at) == "std" && source.text(at + 2) == "array";
        if is_array {
            let Some(close) = source.template_end(at + 3) else { return false };
            if !is_type(source.text(at + 4)) || source.text(at + 5) != "," {
                return false;
            }
            at = close + 1;
        } else {
            let first = at;
            while is_type(source.text(at)) && source.text(at) != "auto" {
                at += 1;
            }
            if at == first {
                return false;
            }
        }
        while source.text(at) == "const" {
            is_const = true;
            at += 1;
        }
        is_const && self.are_constants(at, end)
    }

    /// Returns whether declarators such as `A = 1, b[2] = {1, 2}` are constants.
    fn are_constants(&self, mut at: usize, end: usize) -> bool {
        let source = &self.source;
        loop {
            if !source.is_name(at) {
                return false;
            }
            at += 1;
            while source.text(at) == "[" {
                let Some(close) = source.closing(at) else { return false };
                if !(at + 1..close).all(|index| self.is_constant_token(index)) {
                    return false;
                }
                at = close + 1;
            }
            let first = at;
            while at < end && source.text(at) != "," {
                let close = source.closing(at).unwrap_or(at);
                if !(at..=close).all(|index| self.is_constant_token(index)) {
                    return false;
                }
                at = close + 1;
            }
            if !matches!(source.text(first), "=" | "{") || first + 1 >= at {
                return false;
            }
            if at >= end {
                return true;
            }
            at += 1;
        }
    }

    /// Returns whether a token may be part of a constant: numbers, operators, casts to numbers and names of other constants.
    fn is_constant_token(&self, index: usize) -> bool {
        let source = &self.source;
        if !source.is_name(index) {
            return source.text(index) != "(" || index == 0 || self.is_constant_call(index - 1);
        }
        match self.variables.find(source.text(index), index) {
            Some(variable) => variable.is_global,
            None => true,
        }
    }

    /// Returns whether the token before an opening bracket may stand there in a constant.
    fn is_constant_call(&self, before: usize) -> bool {
        let source = &self.source;
        match source.text(before) {
            ">" => source.template_name(before).is_some_and(|name| source.text(name) == "static_cast"),
            text if source.is_name(before) => is_type(text) || text == "sizeof" || FOLDED.contains(&text),
            text => !matches!(text, ")" | "]" | "}"),
        }
    }
}
