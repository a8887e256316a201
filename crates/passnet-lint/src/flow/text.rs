//! Texts and types: methods of strings, `typing.cast`, and constant texts such as the sources of native kernels.

use std::borrow::Cow;

use ruff_python_ast::{
    ConversionFlag, Expr, ExprCall, ExprStringLiteral, FStringPart, InterpolatedStringElement, Operator, Stmt,
};

use super::{CodeLocation, Flow, Value};
use crate::annotation;

/// Methods of strings that return a list of strings.
const PARTS: &[&str] = &["rsplit", "split", "splitlines"];
/// Deepest nesting of names and sums in a constant text.
const MAX_DEPTH: usize = 16;
/// Largest number of bytes of a constant text that is put together.
const MAX_BYTES: usize = 1 << 20;

impl<'a> Flow<'a> {
    /// Returns the result of a method of strings that the lists of plain methods do not have.
    pub(super) fn text_call(
        &mut self,
        frame: CodeLocation,
        call: &'a ExprCall,
        receiver: &Expr,
        name: &str,
    ) -> Option<Value> {
        let splits = PARTS.contains(&name);
        if !(splits || name == "format" && is_simple_format(self.constant(frame, receiver))) {
            return None;
        }
        let called = self.eval_arguments(frame, &call.arguments);
        self.check_plain_arguments(frame, call, &called, "passing it to a method");
        Some(if splits { self.container(frame, call, Value::Plain) } else { Value::Plain })
    }

    /// `typing.cast(type, value)`, which returns the value.
    pub(super) fn cast(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        match &*call.arguments.args {
            [target, value] if call.arguments.keywords.is_empty() && annotation::is_type(target) => {
                self.eval(frame, value)
            }
            _ => self.unclear(frame, call),
        }
    }

    /// Returns the text of a constant expression: literals, names of other constants, their sums, f-strings of strings and numbers, and
    /// methods of strings (`constant`). A module binds a name once.
    pub(super) fn constant_text(&self, frame: CodeLocation, expr: &'a Expr) -> Option<Cow<'a, str>> {
        self.text_within(frame, expr, MAX_DEPTH)
    }

    pub(super) fn text_within(&self, frame: CodeLocation, expr: &'a Expr, depth: usize) -> Option<Cow<'a, str>> {
        let depth = depth.checked_sub(1)?;
        let text = match self.constant(frame, expr) {
            Expr::StringLiteral(literal) => return Some(Cow::Borrowed(literal.value.to_str())),
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                let left = self.text_within(frame, &sum.left, depth)?;
                left.into_owned() + &self.text_within(frame, &sum.right, depth)?
            }
            Expr::FString(text) => {
                let mut joined = String::new();
                for part in &text.value {
                    match part {
                        FStringPart::Literal(literal) => joined.push_str(literal),
                        FStringPart::FString(text) => {
                            for element in &text.elements {
                                joined.push_str(&self.interpolated(frame, element, depth)?);
                            }
                        }
                    }
                }
                joined
            }
            Expr::BinOp(form) if form.op == Operator::Mod => self.percent_text(frame, form, depth)?,
            Expr::Call(call) => self.method_text(frame, call, depth)?,
            _ => return None,
        };
        (text.len() <= MAX_BYTES).then_some(Cow::Owned(text))
    }

    /// Returns the text of an element of an f-string.
    fn interpolated(
        &self,
        frame: CodeLocation,
        element: &'a InterpolatedStringElement,
        depth: usize,
    ) -> Option<Cow<'a, str>> {
        let field = match element {
            InterpolatedStringElement::Literal(literal) => return Some(Cow::Borrowed(&literal.value)),
            InterpolatedStringElement::Interpolation(field) => field,
        };
        // The format of a number, or of a text with a width, is Python's.
        if !matches!(field.conversion, ConversionFlag::None)
            || field.format_spec.is_some()
            || field.debug_text.is_some()
        {
            return None;
        }
        self.plain_text(frame, &field.expression, depth)
    }

    /// Returns the expression that a name of the module is bound to, other expressions as they are.
    pub(super) fn constant(&self, frame: CodeLocation, expr: &'a Expr) -> &'a Expr {
        let Expr::Name(name) = expr else { return expr };
        let bound = self.statements(frame.module).iter().find_map(|stmt| match stmt {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Name(target)] if target.id == name.id => Some(&*assign.value),
                _ => None,
            },
            Stmt::AnnAssign(assign) => {
                assign.value.as_deref().filter(|_| assign.target.as_name_expr().is_some_and(|it| it.id == name.id))
            }
            _ => None,
        });
        bound.filter(|value| !self.is_altered(frame.module, value)).unwrap_or(expr)
    }

    /// Returns the literal that a constant text consists of, if it is a single one.
    pub(super) fn text_literal(&self, frame: CodeLocation, expr: &'a Expr) -> Option<&'a ExprStringLiteral> {
        self.constant(frame, expr).as_string_literal_expr()
    }
}

/// Returns whether an expression is a literal whose fields for `format` are names or positions. `"{0.__class__}"` reads an attribute.
fn is_simple_format(expr: &Expr) -> bool {
    let Expr::StringLiteral(literal) = expr else { return false };
    let mut characters = literal.value.to_str().chars().peekable();
    let mut in_name = false;
    while let Some(character) = characters.next() {
        match character {
            // Two braces are one in the result.
            '{' if !in_name && characters.next_if_eq(&'{').is_some() => {}
            '{' => in_name = true,
            ':' | '!' | '}' => in_name = false,
            '.' | '[' if in_name => return false,
            _ => {}
        }
    }
    true
}
