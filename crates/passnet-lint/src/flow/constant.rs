//! Constant texts that methods of strings make, such as templates of kernels: `join`, `replace`, `strip`, `format` and `%`.

use std::borrow::Cow;

use ruff_python_ast::{Expr, ExprBinOp, ExprCall, Number};

use super::{CodeLocation, Flow};

impl<'a> Flow<'a> {
    /// Returns the text of a constant, as in a field of an f-string without a format: a text or a number.
    pub(super) fn plain_text(&self, frame: CodeLocation, expr: &'a Expr, depth: usize) -> Option<Cow<'a, str>> {
        match self.constant(frame, expr) {
            Expr::NumberLiteral(literal) => number_text(&literal.value).map(Cow::Owned),
            constant => self.text_within(frame, constant, depth),
        }
    }

    /// Returns the result of a method of a constant text with constant arguments.
    pub(super) fn method_text(&self, frame: CodeLocation, call: &'a ExprCall, depth: usize) -> Option<String> {
        if let (Some("textwrap.dedent"), [indented], []) =
            (self.dotted(frame.module, &call.func).as_deref(), &*call.arguments.args, &*call.arguments.keywords)
        {
            return dedented(&self.text_within(frame, indented, depth)?);
        }
        let method = call.func.as_attribute_expr()?;
        let receiver = self.text_within(frame, &method.value, depth)?;
        let text = |expr: &'a Expr| self.text_within(frame, expr, depth);
        if method.attr.as_str() == "format" {
            return self.formatted(frame, &receiver, call, depth);
        }
        if !call.arguments.keywords.is_empty() {
            return None;
        }
        match (method.attr.as_str(), &*call.arguments.args) {
            ("join", [parts]) => {
                let parts = match self.constant(frame, parts) {
                    Expr::List(list) => &list.elts,
                    Expr::Tuple(tuple) => &tuple.elts,
                    _ => return None,
                };
                Some(parts.iter().map(text).collect::<Option<Vec<_>>>()?.join(&*receiver))
            }
            ("replace", [old, new]) => {
                let (old, new) = (text(old)?, text(new)?);
                // A text that replaces nothing would be put between all characters.
                (!old.is_empty()).then(|| receiver.replace(&*old, &new))
            }
            ("strip", []) => Some(receiver.trim().to_owned()),
            ("lstrip", []) => Some(receiver.trim_start().to_owned()),
            ("rstrip", []) => Some(receiver.trim_end().to_owned()),
            _ => None,
        }
    }

    /// Returns the result of `format` for a template whose fields are names and positions without a format.
    fn formatted(&self, frame: CodeLocation, template: &str, call: &'a ExprCall, depth: usize) -> Option<String> {
        let mut next = 0;
        let mut out = String::new();
        let mut rest = template;
        while let Some(place) = rest.find(['{', '}']) {
            let (before, field) = rest.split_at(place);
            out.push_str(before);
            if let Some(after) = field.strip_prefix("{{").or_else(|| field.strip_prefix("}}")) {
                out.push_str(&field[..1]);
                rest = after;
                continue;
            }
            let (name, after) = field.strip_prefix('{')?.split_once('}')?;
            let value = if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
                let position = if name.is_empty() { next } else { name.parse().ok()? };
                next += 1;
                call.arguments.args.get(position)?
            } else {
                &call.arguments.find_keyword(name)?.value
            };
            out.push_str(&self.plain_text(frame, value, depth)?);
            rest = after;
        }
        out.push_str(rest);
        Some(out)
    }

    /// Returns the result of `template % values` for a template with `%s`, `%d` and `%%`.
    pub(super) fn percent_text(&self, frame: CodeLocation, form: &'a ExprBinOp, depth: usize) -> Option<String> {
        let template = self.text_within(frame, &form.left, depth)?;
        let values = match self.constant(frame, &form.right) {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            value => std::slice::from_ref(value),
        };
        let mut values = values.iter();
        let mut out = String::new();
        let mut parts = template.split('%');
        out.push_str(parts.next()?);
        while let Some(part) = parts.next() {
            if part.is_empty() {
                out.push('%');
                out.push_str(parts.next()?);
                continue;
            }
            let value = self.constant(frame, values.next()?);
            let is_int = value.as_number_literal_expr().is_some_and(|number| number.value.is_int());
            let rest = part.strip_prefix('s').or_else(|| part.strip_prefix('d').filter(|_| is_int))?;
            out.push_str(&self.plain_text(frame, value, depth)?);
            out.push_str(rest);
        }
        values.next().is_none().then_some(out)
    }
}

/// Returns the text without the blanks and tabs that all of its lines begin with, as `textwrap.dedent` does; `None` for a text with other
/// white space, which versions of Python treat differently.
fn dedented(text: &str) -> Option<String> {
    if text.contains(|character: char| character.is_whitespace() && !matches!(character, ' ' | '\t' | '\n'))
        || text.contains(|character| ('\u{1c}'..='\u{1f}').contains(&character))
    {
        return None;
    }
    let body = |line: &str| line.trim_start_matches([' ', '\t']).len();
    let lines = || text.split('\n').filter(|line| body(line) > 0);
    let mut margin = lines().next().map_or("", |line| &line[..line.len() - body(line)]);
    for line in lines() {
        let common = margin.bytes().zip(line.bytes()).take_while(|(a, b)| a == b).count();
        margin = &margin[..common];
    }
    let kept = |line: &str| if body(line) > 0 { line[margin.len()..].to_owned() } else { String::new() };
    Some(text.split('\n').map(kept).collect::<Vec<_>>().join("\n"))
}

/// Returns the text that Python writes for a number; `None` for large integers, and for numbers with an exponent.
fn number_text(number: &Number) -> Option<String> {
    match number {
        Number::Int(number) => Some(number.as_i64()?.to_string()),
        Number::Float(number) => (1e-4..1e15).contains(&number.abs()).then(|| format!("{number:?}")),
        Number::Complex { .. } => None,
    }
}
