//! Calls of `passnet.kernels.cpp` and `passnet.kernels.cuda`: literal sources, signatures and flags.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{CodeLocation, Flow, Value};
use crate::{
    native::{self, NativeLanguage},
    rules::{NativeFlag, NativeSource},
};

impl<'a> Flow<'a> {
    /// Checks `passnet.kernels.cpp(...)` or `passnet.kernels.cuda(...)` at module level. Sources have to be constant texts, and are scanned.
    pub(super) fn native_call(&mut self, frame: CodeLocation, call: &'a ExprCall, language: NativeLanguage) -> Value {
        if frame.function.is_some() && !self.is_late_constant(frame) {
            let subject = "a call inside a function (call it at module level)".to_owned();
            return self.report(frame.module, call, &NativeSource { subject });
        }
        let source = call.arguments.find_argument_value("source", 0);
        match source.and_then(|expr| Some((expr, self.constant_text(frame, expr)?))) {
            // A text has the same findings in each round, so the scan runs in the last round only.
            Some((expr, text)) if self.reporting => {
                for (place, found) in native::scan(&text, language) {
                    self.report_native(frame, expr, place, &found);
                }
            }
            Some(_) => {}
            None => {
                let subject = source.map_or("nothing".to_owned(), |expr| {
                    format!("`{}`", shorten(self.source(frame.module).slice(expr)))
                });
                self.report(frame.module, call, &NativeSource { subject });
            }
        }
        // Signatures are declarations, which the kernel helper parses. Each flag is checked separately.
        let named = call.arguments.find_keyword("signature").map(|keyword| &keyword.value);
        for signature in call.arguments.args.iter().skip(1).chain(named) {
            if self.constant_text(frame, signature).is_none() {
                let subject = format!("`{}`", shorten(self.source(frame.module).slice(signature)));
                self.report(frame.module, signature, &NativeSource { subject });
            }
        }
        for keyword in &call.arguments.keywords {
            match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("source" | "signature") => {}
                Some("flags") => self.check_flags(frame, &keyword.value),
                _ => {
                    let subject = format!("`{}`", shorten(self.source(frame.module).slice(keyword)));
                    self.report(frame.module, keyword, &NativeSource { subject });
                }
            }
        }
        Value::Native
    }

    fn check_flags(&mut self, frame: CodeLocation, expr: &'a Expr) {
        for flag in listed(self.constant_list(frame, expr)) {
            if !flag.as_string_literal_expr().is_some_and(|literal| native::is_flag(literal.value.to_str())) {
                let subject = format!("`{}`", shorten(self.source(frame.module).slice(flag)));
                self.report(frame.module, flag, &NativeFlag { subject });
            }
        }
    }

    fn report_native(&mut self, frame: CodeLocation, expr: &'a Expr, place: native::Span, found: &native::ScanFinding) {
        // A literal without escapes stands in the file as it is, so a place in the source is a place in the file.
        let literal = self.text_literal(frame, expr);
        let range = literal.and_then(|literal| {
            let inside = self.source(frame.module).slice(literal).find(literal.value.to_str())?;
            let start = literal.start() + TextSize::try_from(inside + place.0).ok()?;
            Some(TextRange::at(start, TextSize::try_from(place.1).ok()?))
        });
        let range = range.or(literal.map(|literal| literal.range)).unwrap_or(expr.range());
        match found {
            native::ScanFinding::Include(rule) => self.report(frame.module, &range, rule),
            native::ScanFinding::Call(rule) => self.report(frame.module, &range, rule),
            native::ScanFinding::State(rule) => self.report(frame.module, &range, rule),
        };
    }

    /// Returns the list or tuple that a name of the module is bound to, other expressions as they are. A module binds a name once
    /// and nothing changes its containers.
    fn constant_list(&self, frame: CodeLocation, expr: &'a Expr) -> &'a Expr {
        let Expr::Name(name) = expr else { return expr };
        let assigned = self.statements(frame.module).iter().find_map(|stmt| {
            let assign = stmt.as_assign_stmt()?;
            let [Expr::Name(target)] = assign.targets.as_slice() else { return None };
            (target.id == name.id).then_some(&*assign.value)
        });
        let is_list = |value: &Expr| value.is_list_expr() || value.is_tuple_expr();
        assigned.filter(|value| is_list(value) && !self.is_altered(frame.module, value)).unwrap_or(expr)
    }
}

/// Returns the elements of a list or tuple display, or the one expression itself.
pub(super) fn listed(expr: &Expr) -> &[Expr] {
    match expr {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        one => std::slice::from_ref(one),
    }
}

fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= SHOWN {
        line.to_owned()
    } else {
        line.chars().take(SHOWN).chain("...".chars()).collect()
    }
}
