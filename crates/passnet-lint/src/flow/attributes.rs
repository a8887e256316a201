//! Reads of attributes: `x.name`, and `getattr(x, "name")`, which is the same read.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};

use super::{CodeLocation, Flow, Value, api};
use crate::rules::{DunderAccess, TensorAttribute, UnknownAttribute, UnknownName};

/// A read of an attribute whose name is in the text.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub(super) owner: &'a Expr,
    pub(super) name: &'a str,
    /// Place of the whole expression.
    pub(super) range: TextRange,
    /// Place of the name.
    pub(super) name_range: TextRange,
}

impl<'a> Flow<'a> {
    /// Returns the read that an expression is: `x.name` or `getattr(x, "name")`. Every rule about attributes and methods sees both in
    /// the same way.
    pub(super) fn access(&self, frame: CodeLocation, expr: &'a Expr) -> Option<Access<'a>> {
        match expr {
            Expr::Attribute(attribute) => Some(Access {
                owner: &attribute.value,
                name: attribute.attr.as_str(),
                range: attribute.range(),
                name_range: attribute.attr.range(),
            }),
            Expr::Call(call) if self.calls_builtin(frame, call, "getattr") => {
                self.named_access(call).filter(|_| call.arguments.args.len() == 2)
            }
            _ => None,
        }
    }

    /// Returns whether a call names a builtin that no scope binds again.
    pub(super) fn calls_builtin(&self, frame: CodeLocation, call: &ExprCall, builtin: &str) -> bool {
        call.func.as_name_expr().is_some_and(|name| {
            name.id.as_str() == builtin && self.lookup(frame, builtin) == api::builtin(builtin).map(Value::Builtin)
        })
    }

    /// Returns the read of `getattr(x, "name")`, `getattr(x, "name", default)` and `hasattr(x, "name")`. Names that the text does not
    /// show, and names with a dot, are no reads that can be followed.
    pub(super) fn named_access(&self, call: &'a ExprCall) -> Option<Access<'a>> {
        let [owner, name, ..] = &*call.arguments.args else { return None };
        let literal = name.as_string_literal_expr()?;
        let text = literal.value.to_str();
        let is_identifier = !text.is_empty()
            && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
            && !text.starts_with(|first: char| first.is_ascii_digit());
        let is_plain_call =
            call.arguments.keywords.is_empty() && !call.arguments.args.iter().any(Expr::is_starred_expr);
        (is_identifier && is_plain_call).then_some(Access {
            owner,
            name: text,
            range: call.range(),
            name_range: name.range(),
        })
    }

    /// Returns the value of an attribute. A name of an imported module stays a name: `torch.empty` before it is called.
    pub(super) fn attribute(&mut self, frame: CodeLocation, access: Access<'a>) -> Value {
        let Access { owner, name, range, name_range } = access;
        if name == "__name__"
            && let Some(value) = self.type_name(frame, owner)
        {
            return value;
        }
        let owner = self.eval_raw(frame, owner);
        #[cfg(test)]
        if self.reporting {
            self.bases.push((range, owner.clone()));
        }
        if name.starts_with("__") && name != "__version__" {
            return self.report(frame.module, &range, &DunderAccess { subject: name.to_owned() });
        }
        match &owner {
            Value::Nothing if !self.reporting => owner,
            Value::Reported(_) => owner,
            // `tl.float32.primitive_bitwidth` and the like are attributes of data.
            Value::Path(path) if api::api(path) != Some(api::Api::Constant) => Value::Path(format!("{path}.{name}")),
            Value::Module(id) => match self.module_name(*id, name) {
                // A module outlives all calls, so its containers must not change.
                Some(value) => value.shared(),
                None => {
                    let subject = format!("{}.{name}", self.source(*id).stem);
                    self.report(frame.module, &range, &UnknownName { subject })
                }
            },
            Value::Class(_) | Value::Record(_) => self.member(frame, &name_range, &owner, name),
            // Settings of `triton.Config`.
            Value::Plain if name == "kwargs" => self.dictionary(frame, &range, Value::Plain).shared(),
            Value::Tensor if api::TENSOR_ATTRIBUTES.contains(&name) => Value::Plain,
            Value::LaunchArgument if api::ARGUMENT_ATTRIBUTES.contains(&name) => Value::Plain,
            Value::Tensor if api::TENSOR_VIEWS.contains(&name) => Value::Tensor,
            Value::Tensor => self.report(frame.module, &name_range, &TensorAttribute { subject: name.to_owned() }),
            Value::Plain | Value::Path(_) | Value::Tuple(_) if api::PLAIN_ATTRIBUTES.contains(&name) => Value::Plain,
            _ => {
                let violation = UnknownAttribute { subject: name.to_owned(), owner: owner.describe() };
                self.report(frame.module, &name_range, &violation)
            }
        }
    }
}
