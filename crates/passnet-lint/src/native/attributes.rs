//! Attributes of the compiler, and square brackets, which begin some of them.

use super::{NativeScan, variables::ends_operand};

/// Attributes of the compiler that change only layout, inlining or the instruction set.
const ATTRIBUTES: &[&str] = &[
    "aligned",
    "always_inline",
    "cold",
    "fallthrough",
    "flatten",
    "gnu",
    "hot",
    "likely",
    "may_alias",
    "maybe_unused",
    "nodiscard",
    "noinline",
    "packed",
    "pure",
    "target",
    "unlikely",
    "unused",
    "vector_size",
];

impl NativeScan<'_> {
    /// Returns whether a name is an attribute that kernels may have.
    pub(super) fn is_in_attribute(&self, index: usize) -> bool {
        let around = self.source.enclosing(index);
        let outer = around.and_then(|open| self.source.enclosing(open));
        // `[[gnu::cold]]`
        let in_brackets = around.is_some_and(|open| self.source.text(open) == "[" && outer == open.checked_sub(1))
            && outer.is_some_and(|open| self.source.text(open) == "[");
        let follows_word = |open: usize| self.source.before(open, 1) == "__attribute__";
        (in_brackets || [around, outer].into_iter().flatten().any(follows_word))
            && ATTRIBUTES.contains(&self.source.text(index))
    }

    /// Checks the names of attributes between the bracket at `open` and its partner. Their arguments are not checked.
    pub(super) fn check_attributes(&mut self, open: usize) {
        let Some(close) = self.source.closing(open) else { return };
        for at in open..close {
            let opens_arguments = self.source.enclosing(at).and_then(|around| around.checked_sub(1));
            let is_argument = opens_arguments.is_some_and(|name| self.source.is_name(name) && name > open);
            if self.source.is_name(at) && !is_argument && !ATTRIBUTES.contains(&self.source.text(at)) {
                let text = self.source.text(at);
                self.call(at, &format!("the attribute `{text}`"));
            }
        }
    }

    /// Checks `[[attribute]]`.
    pub(super) fn check_brackets(&mut self, open: usize) {
        if self.source.text(open + 1) == "[" && self.source.before(open, 1) != "[" {
            self.check_attributes(open);
        }
        // `+[](float v) {...}` is the address of code, as is a choice between two lambdas.
        let is_lambda = self.source.closing(open).is_some_and(|close| matches!(self.source.text(close + 1), "(" | "{"));
        let before = open.wrapping_sub(1);
        let allowed = ends_operand(&self.source, before)
            || matches!(
                self.source.text(before),
                "" | "=" | "(" | "," | "{" | "}" | ";" | "return" | "[" | ">" | "auto" | "&" | "&&"
            );
        if is_lambda && !allowed {
            self.call(open, "a lambda as the address of code");
        }
    }
}
