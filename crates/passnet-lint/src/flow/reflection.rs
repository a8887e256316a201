//! Builtins that ask what a value is: `isinstance`, `type`, `callable`, `getattr`, `hasattr`; and the steps of an iterator.

use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprCompare};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, Value, api, natives::listed};
use crate::rules::{ModuleAsValue, UnknownCall};

impl<'a> Flow<'a> {
    /// Returns the result of a builtin that asks what a value is; `None` for other calls.
    pub(super) fn reflect(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Option<Value> {
        let name = call.func.as_name_expr()?.id.as_str();
        if !api::BUILTIN_QUESTIONS.contains(&name) || !self.calls_builtin(frame, call, name) {
            return None;
        }
        Some(match (name, &*call.arguments.args) {
            ("isinstance", [value, types]) => self.isinstance(frame, value, types),
            ("callable", [value]) => {
                // Which kinds of values can be called is known before anything runs.
                self.eval(frame, value);
                Value::Plain
            }
            ("getattr", [_, _]) if self.named_access(call).is_some() => {
                let access = self.named_access(call)?;
                self.attribute(frame, access)
            }
            ("getattr", [_, _, default]) if self.named_access(call).is_some() => {
                let access = self.named_access(call)?;
                let value = self.attribute(frame, access);
                let value = self.judge(frame, call, value);
                let default = self.eval(frame, default);
                value.join(default)
            }
            ("hasattr", [_, _]) => self.hasattr(frame, call),
            ("iter", [iterated]) if call.arguments.keywords.is_empty() && !iterated.is_starred_expr() => {
                let value = self.eval(frame, iterated);
                let element = self.element(frame, call, value);
                let made = self.container(frame, call, element);
                self.iterator(made)
            }
            ("next", [iterator, default @ ..]) if call.arguments.keywords.is_empty() && default.len() < 2 => {
                let value = self.eval(frame, iterator);
                let element = self.element(frame, call, value);
                let default = default.first().map_or(Value::Nothing, |default| self.eval(frame, default));
                element.join(default)
            }
            (_, given) => {
                // The arguments are evaluated for the findings in them.
                for expr in given {
                    self.eval_raw(frame, expr);
                }
                let advice = match name {
                    "getattr" => " (write `x.name`, or a literal name)",
                    "type" => " (compare it with a type: `type(n) is int`, or use `isinstance`)",
                    _ => "",
                };
                let subject = format!("`{}`{advice}", self.shown(frame, call));
                self.report(frame.module, call, &UnknownCall { subject })
            }
        })
    }

    fn shown(&self, frame: CodeLocation, node: &impl Ranged) -> &'a str {
        self.source(frame.module).slice(node).lines().next().unwrap_or_default()
    }

    fn isinstance(&mut self, frame: CodeLocation, value: &'a Expr, types: &'a Expr) -> Value {
        // The type of any value may be read, because this reads no element.
        self.eval(frame, value);
        for expr in listed(types) {
            let is_tensor = self.lookup_type(frame, expr).as_deref() == Some("torch.Tensor");
            if !is_tensor && !self.is_type(frame, expr) {
                let subject = self.source(frame.module).slice(expr).to_owned();
                self.report(frame.module, expr, &ModuleAsValue { subject });
            }
        }
        Value::Plain
    }

    /// Returns whether an expression names a type of plain values. Which tensors have a subclass of `torch.Tensor` as their type could
    /// depend on who calls.
    fn is_type(&mut self, frame: CodeLocation, expr: &'a Expr) -> bool {
        match self.lookup_type(frame, expr) {
            Some(path) => matches!(path.as_str(), "torch.dtype" | "torch.device" | "torch.Size"),
            None => matches!(expr, Expr::Name(name)
                if matches!(name.id.as_str(), "int" | "float" | "bool" | "str" | "tuple" | "list" | "dict")
                && matches!(self.lookup(frame, name.id.as_str()), Some(Value::Builtin(_)))),
        }
    }

    fn lookup_type(&mut self, frame: CodeLocation, expr: &'a Expr) -> Option<String> {
        match expr {
            Expr::Attribute(_) => match self.eval_raw(frame, expr) {
                Value::Path(path) => Some(path),
                _ => None,
            },
            Expr::Name(name) => match self.lookup(frame, name.id.as_str()) {
                Some(Value::Path(path)) => Some(path),
                _ => None,
            },
            _ => None,
        }
    }

    /// `hasattr(torch, "float8_e4m3fn")`. Only the installed version decides whether a module has a name that this checker knows.
    fn hasattr(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        if let Some(access) = self.named_access(call)
            && let Value::Path(path) = self.eval_raw(frame, access.owner)
            && api::api(&format!("{path}.{}", access.name)).is_some()
        {
            return Value::Plain;
        }
        let subject =
            format!("`{}` (only names of modules that a pass may use can be asked for)", self.shown(frame, call));
        self.report(frame.module, call, &UnknownCall { subject })
    }

    /// Returns `x` of `type(x)`.
    fn typed(&self, frame: CodeLocation, expr: &'a Expr) -> Option<&'a Expr> {
        let call = expr.as_call_expr().filter(|call| self.calls_builtin(frame, call, "type"))?;
        match &*call.arguments.args {
            [value] if call.arguments.keywords.is_empty() && !value.is_starred_expr() => Some(value),
            _ => None,
        }
    }

    /// Checks `type(x) is int` and the like; returns whether the comparison is one.
    pub(super) fn is_type_test(&mut self, frame: CodeLocation, compare: &'a ExprCompare) -> bool {
        let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return false };
        let sides = [&*compare.left, right];
        let typed = sides.map(|side| self.typed(frame, side));
        if typed.iter().all(Option::is_none) {
            return false;
        }
        let both = typed.iter().all(Option::is_some);
        for value in typed.iter().flatten() {
            let value = self.eval(frame, value);
            if both && !self.is_plain(&value) {
                self.report_type_test(frame, compare);
            }
        }
        let types = sides.into_iter().zip(typed).filter(|(_, typed)| typed.is_none()).map(|(side, _)| side);
        for side in types {
            let named = match op {
                CmpOp::In | CmpOp::NotIn if std::ptr::eq(side, right) => listed(side),
                CmpOp::Is | CmpOp::IsNot | CmpOp::Eq | CmpOp::NotEq => std::slice::from_ref(side),
                _ => &[],
            };
            let mut known = !named.is_empty();
            for expr in named {
                known &= self.is_type(frame, expr);
            }
            if !known {
                self.report_type_test(frame, compare);
            }
        }
        true
    }

    fn report_type_test(&mut self, frame: CodeLocation, compare: &ExprCompare) {
        let subject =
            format!("`{}` (write `isinstance(x, torch.Tensor)`, or test its dtype)", self.shown(frame, compare));
        self.report(frame.module, compare, &UnknownCall { subject });
    }

    /// Returns the value of `type(x).__name__`, if the owner is `type(x)`. The class of a tensor could depend on who calls.
    pub(super) fn type_name(&mut self, frame: CodeLocation, owner: &'a Expr) -> Option<Value> {
        let expr = self.typed(frame, owner)?;
        let value = self.eval(frame, expr);
        if matches!(value, Value::Record(_)) || self.is_plain(&value) {
            return Some(Value::Plain);
        }
        let subject =
            format!("the name of `{}`, which may be that of a tensor (use its dtype)", self.shown(frame, owner));
        Some(self.report(frame.module, owner, &UnknownCall { subject }))
    }
}
