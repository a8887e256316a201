//! Names: those that may be called, and those that may be used as a value.

use super::{
    NativeScan,
    names::{
        is_callable, is_denied, is_forbidden, is_keyword, is_member, is_reserved, is_std, is_std_function, is_type,
    },
    variables::{Holds, Variable},
};

/// Operators that a type may define. Others convert, allocate, or take addresses.
const OPERATORS: &[&str] = &["(", "[", "+", "-", "*", "/", "%", "<", ">", "=", "!", "^", "|", "&&", "||"];

impl<'t> NativeScan<'t> {
    pub(super) fn check_tokens(&mut self) {
        for index in 0..self.source.len() {
            let text = self.source.text(index);
            if self.source.is_name(index) {
                self.check_name(index, text);
            }
            if text == "(" && index > 0 {
                self.check_call_of_value(index);
            }
            if text == "[" {
                self.check_brackets(index);
            }
        }
    }

    fn check_name(&mut self, index: usize, name: &'t str) {
        if self.check_word(index, name) {
            return;
        }
        let called = self.is_called(index);
        if matches!(self.source.before(index, 1), "." | "->") {
            if called && name != "decltype" && !is_member(name) && !self.calls_own(index, name) {
                self.call(index, &format!("{name}()"));
            }
            return;
        }
        if self.source.before(index, 1) == "::" {
            return self.check_qualified(index, name, called);
        }
        let variable = self.variables.find(name, index).copied();
        match variable {
            Some(variable) => self.check_variable(index, name, called, variable),
            None if self.variables.prototypes.contains(&index) => self.check_prototype(index, name),
            None if called => self.check_call(index, name),
            None => self.check_value(index, name),
        }
    }

    /// Checks keywords and attributes, which mean the same everywhere. Returns whether the name needs no further check.
    fn check_word(&mut self, index: usize, name: &str) -> bool {
        match name {
            // `Row(const Row&) = delete;`
            "delete" if self.source.before(index, 1) == "=" && self.source.text(index + 1) == ";" => {}
            _ if is_forbidden(name) => self.call(index, name),
            "thread_local" | "__managed__" => self.state(index, name),
            // A lambda may change its own copies, but a `mutable` member is state.
            "mutable" if self.source.before(index, 1) != ")" => self.state(index, name),
            "extern" if self.source.text(index + 1) != "\"C\"" => self.call(index, name),
            "static" | "inline" => self.check_static(index, name),
            "namespace" if self.source.text(index + 2) == "=" => self.check_namespace_alias(index),
            "operator" => self.check_operator(index),
            "__attribute__" => self.check_attributes(index + 1),
            "using" | "typedef" => self.check_alias(index),
            _ => return self.is_in_attribute(index),
        }
        true
    }

    /// Checks `namespace alias = outer::inner;`, which may rename namespaces of the source.
    fn check_namespace_alias(&mut self, index: usize) {
        let mut at = index + 3;
        while self.source.text(at) == "::" || self.definitions.is_namespace(self.source.text(at)) {
            at += 1;
        }
        if self.source.text(at) != ";" {
            self.call(index, "namespace");
        }
    }

    fn check_operator(&mut self, index: usize) {
        let text = self.source.text(index + 1);
        // `operator float() const`
        if is_type(text) && text != "auto" && self.source.text(index + 2) == "(" && self.source.text(index + 3) == ")" {
            return;
        }
        if !OPERATORS.contains(&text) || text == "(" && self.source.text(index + 2) != ")" {
            self.call(index, &format!("operator {text}"));
        }
    }

    /// Checks names of types. A name for a type of functions would allow calls of any number as an address.
    fn check_alias(&mut self, index: usize) {
        let mut at = index + 1;
        while at < self.source.len() && self.source.text(at) != ";" {
            if self.source.text(at) == "("
                && !matches!(self.source.before(at, 1), "__attribute__" | "decltype" | "sizeof" | "alignas")
            {
                return self.call(at, "a name for a type of functions");
            }
            at = self.source.closing(at).unwrap_or(at) + 1;
        }
    }

    /// Returns whether a name is called: `name(...)` or `name<...>(...)`.
    fn is_called(&self, index: usize) -> bool {
        match self.source.text(index + 1) {
            "(" => true,
            "<" => self.source.template_end(index + 1).is_some_and(|end| self.source.text(end + 1) == "("),
            _ => false,
        }
    }

    fn calls_own(&self, index: usize, name: &str) -> bool {
        self.definitions.calls_function(name, self.source.at(index), &self.guards)
    }

    fn means_own_type(&self, index: usize, name: &str) -> bool {
        self.definitions.means_type(name, self.source.at(index), &self.guards)
    }

    fn check_qualified(&mut self, index: usize, name: &str, called: bool) {
        let owner = match (self.source.before(index, 2), index.checked_sub(2)) {
            (">", Some(close)) => self.source.template_name(close).map_or(">", |name| self.source.text(name)),
            (owner, _) => owner,
        };
        let owns = self.definitions.is_type(owner) || self.definitions.is_namespace(owner);
        let known = match (owner, called) {
            ("std", true) => is_std(name),
            ("std", false) => is_std(name) && !is_std_function(name),
            (_, true) => is_member(name) || self.calls_own(index, name) || self.means_own_type(index, name),
            // `space::Row row(x);`, where `Row` is also the name of its constructor.
            (_, false) if owns && self.definitions.is_type(name) && self.source.is_name(index + 1) => true,
            // A constant, an enumerator or a type of the source.
            (_, false) if owns => !self.definitions.is_function(name),
            ("numbers", false) => self.source.before(index, 4) == "std",
            (_, false) => matches!(name, "type" | "value" | "value_type" | "digits" | "digits10" | "max_digits10"),
        };
        if known && (called || !owns || !is_denied(name)) {
            return;
        }
        // `using detail::relu;` makes a function of the source callable as `relu`, and takes no address.
        if !called && owns && self.is_using_declaration(index) {
            return;
        }
        let function = !called && (is_std_function(name) || self.definitions.is_function(name));
        let subject = format!("{owner}::{name}");
        self.call(index, &if function { function_as_value(&subject) } else { subject });
    }

    fn is_using_declaration(&self, index: usize) -> bool {
        let first = self.source.qualified_start(index);
        self.source.before(first, 1) == "using" && self.source.text(index + 1) == ";"
    }

    fn check_variable(&mut self, index: usize, name: &'t str, called: bool, variable: Variable) {
        if !called || variable.start == index || self.is_initializer(index) {
            return;
        }
        let allowed = match variable.holds {
            Holds::Data => false,
            Holds::Lambda | Holds::Object => true,
            Holds::Argument => self.is_only_called(name, variable),
            Holds::Unknown => false,
        };
        if !allowed {
            self.call(index, &format!("a call of the variable `{name}`"));
        }
    }

    /// Returns whether a parameter is only called or passed on.
    fn is_only_called(&mut self, name: &str, variable: Variable) -> bool {
        if let Some(known) = self.only_called.get(&variable.start) {
            return *known;
        }
        let mut uses = (variable.start + 1..variable.end).filter(|at| self.source.text(*at) == name);
        let only_called = uses.all(|at| {
            let (before, after) = (self.source.before(at, 1), self.source.text(at + 1));
            after == "(" || matches!(before, "(" | ",") && matches!(after, "," | ")")
        });
        self.only_called.insert(variable.start, only_called);
        only_called
    }

    /// Checks a function that is declared without a body. At file level the declaration is checked as a whole.
    fn check_prototype(&mut self, index: usize, name: &str) {
        if is_denied(name) || is_callable(name) && !self.definitions.is_function(name) {
            return self.call(index, &format!("a declaration of {name}()"));
        }
        let in_type = self.source.enclosing(index).is_some_and(|open| self.source.opens_type(open));
        if !in_type && !self.source.is_at_file_level(index) {
            self.call(index, &format!("a declaration of {name}()"));
        }
    }

    fn check_call(&mut self, index: usize, name: &str) {
        let known = is_keyword(name)
            || is_type(name)
            || is_callable(name) && !is_denied(name)
            || self.calls_own(index, name)
            || self.means_own_type(index, name)
            || self.is_initializer(index);
        if !known {
            let defined = self.definitions.is_function(name);
            let why = if defined { " without its definition: it is inside another #if" } else { "" };
            self.call(index, &format!("{name}(){why}"));
        } else if is_type(name) || self.definitions.is_parameter(name) {
            self.check_function_type(index);
        }
    }

    /// Returns whether a name begins the initial value of a member: `Row(float a) : first(a), second(a) {}`.
    fn is_initializer(&self, index: usize) -> bool {
        let mut at = index;
        while self.source.before(at, 1) == "," {
            let name = self.source.opening(at.wrapping_sub(2)).and_then(|open| open.checked_sub(1));
            match name.filter(|name| self.source.is_name(*name)) {
                Some(name) => at = name,
                None => return false,
            }
        }
        self.source.before(at, 1) == ":" && at >= 2 && self.source.before(at, 2) == ")" && self.source.has_body(at - 2)
    }

    /// Checks for types of functions: `float(const char*)` is one, `float(x)` is a conversion.
    fn check_function_type(&mut self, index: usize) {
        let open = index + 1;
        let inside = self.source.text(open + 1);
        let names_type = inside == "const"
            || (is_type(inside) || self.definitions.is_type(inside))
                && !matches!(self.source.text(open + 2), "(" | "{" | "::" | "<");
        let empty = inside == ")" && (self.source.text(index) == "void" || self.source.text(open + 2) == ">");
        let pointer = matches!(inside, "*" | "&") && self.source.text(open + 2) == ")";
        if names_type || empty || pointer {
            self.call(index, "a type of functions");
        }
    }

    /// Checks a name that is neither called nor a variable.
    fn check_value(&mut self, index: usize, name: &str) {
        if is_type(name) || is_keyword(name) || self.definitions.is_type(name) || self.definitions.is_parameter(name) {
            return;
        }
        // The name of a type or namespace in front of `::`.
        if self.source.text(index + 1) == "::" {
            return;
        }
        let is_function = is_callable(name) || self.definitions.is_function(name) || is_reserved(name);
        if is_denied(name) {
            self.call(index, name);
        } else if is_function && !matches!(self.source.before(index, 1), "using" | "namespace" | "struct" | "goto") {
            self.call(index, &function_as_value(name));
        }
    }

    /// Checks a call of a value that is not a plain name: `(*f)(x)`, `table[i](x)`.
    fn check_call_of_value(&mut self, open: usize) {
        let close = open - 1;
        match self.source.text(close) {
            ")" => {
                let Some(start) = self.source.opening(close) else { return };
                let after_keyword = matches!(
                    self.source.before(start, 1),
                    "if" | "while"
                        | "for"
                        | "switch"
                        | "noexcept"
                        | "__launch_bounds__"
                        | "__attribute__"
                        | "alignas"
                        | "decltype"
                        | "operator"
                );
                let makes_object = self.source.is_name(start.wrapping_sub(1))
                    && self.means_own_type(start - 1, self.source.before(start, 1));
                let introducer = self.source.before(start, 1) == "]";
                let known = after_keyword || introducer || makes_object;
                if !known && !self.is_cast(start, close) && !self.is_forwarded(start, close) {
                    self.call(open, "a call of a computed function");
                }
            }
            "]" => {
                let Some(start) = self.source.opening(close) else { return };
                // `[&](float v)` begins a lambda; `table[i](v)` calls an element.
                if self.source.is_name(start.wrapping_sub(1))
                    && !is_keyword(self.source.before(start, 1))
                    && self.source.before(start, 1) != "operator"
                    || matches!(self.source.before(start, 1), ")" | "]")
                {
                    self.call(open, "a call of an element");
                }
            }
            ">" => self.check_template_call(close),
            _ => {}
        }
        if matches!(self.source.text(open + 1), "*" | "&") {
            let name = open + 1 + usize::from(self.source.is_name(open + 2));
            if self.source.text(name + 1) == ")" && self.source.text(name + 2) == "(" {
                self.call(open, "a function pointer");
            }
        }
    }

    /// Returns whether a call `std::forward<F>(f)` has its argument between these parentheses, and `f` may be called.
    fn is_forwarded(&mut self, start: usize, close: usize) -> bool {
        let Some(end) = start.checked_sub(1).filter(|end| self.source.text(*end) == ">") else { return false };
        let Some(forward) = self.source.template_name(end) else { return false };
        let is_forward = self.source.text(forward) == "forward"
            && self.source.before(forward, 1) == "::"
            && self.source.before(forward, 2) == "std";
        let name = self.source.text(start + 1);
        let variable = self.variables.find(name, start + 1).copied().filter(|found| found.holds == Holds::Argument);
        is_forward && start + 2 == close && variable.is_some_and(|variable| self.is_only_called(name, variable))
    }

    /// Returns whether parentheses hold a type, as in the cast `(float*)(x)`. Otherwise a call of the parentheses is a call of a
    /// computed function.
    fn is_cast(&self, start: usize, close: usize) -> bool {
        let of_types = (start + 1..close).all(|index| {
            let text = self.source.text(index);
            is_type(text)
                || self.definitions.is_type(text)
                || self.definitions.is_parameter(text)
                || matches!(text, "*" | "&" | "::" | "std" | "const" | "<" | ">")
        });
        of_types && start + 1 < close && !matches!(self.source.text(start + 1), "*" | "&")
    }

    /// Checks `name<arguments>(...)`: the name has to be callable. If the angle brackets do not match, this is a comparison.
    fn check_template_call(&mut self, close: usize) {
        let Some(index) = self.source.template_name(close) else { return };
        let name = self.source.text(index);
        let known = is_keyword(name)
            || is_callable(name)
            || is_type(name)
            || is_std(name) && self.source.before(index, 1) == "::"
            || matches!(self.source.before(index, 1), "." | "->") && is_member(name)
            || self.calls_own(index, name)
            || self.means_own_type(index, name);
        if !known {
            self.call(index, &format!("{name}<>()"));
        }
    }
}

/// Returns the finding for a function that is used but not called.
fn function_as_value(name: &str) -> String {
    format!("the address of `{name}`; call it, or write a lambda that does")
}
