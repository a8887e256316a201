//! Decorators that are functions of the directory.

use ruff_python_ast::{Decorator, Expr, StmtFunctionDef};

use super::{Binding, CodeLocation, Flow, FunctionId, ModuleId, Value, arguments::Called};
use crate::rules::{DecoratorNotAllowed, ModuleState};

impl<'a> Flow<'a> {
    /// Returns whether all decorators of a function are functions of the directory, or calls of them: names that no import of an installed
    /// module binds.
    pub(super) fn has_own_decorators(&self, id: ModuleId, def: &StmtFunctionDef) -> bool {
        let is_own = |decorator: &Decorator| {
            let callee = decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &*call.func);
            callee.as_name_expr().is_some_and(|name| {
                matches!(self.modules[id.0].names.get(name.id.as_str()), Some(Binding::Imported(..)))
                    || self.statements(id).iter().any(|stmt| {
                        stmt.as_function_def_stmt()
                            .is_some_and(|other| other.name.id == name.id && !std::ptr::eq(other, def))
                    })
            })
        };
        !def.decorator_list.is_empty() && def.decorator_list.iter().all(is_own)
    }

    /// Binds a name to the results of decorators that are functions of the directory.
    pub(super) fn decorate(&mut self, frame: CodeLocation, def: &'a StmtFunctionDef, function: FunctionId) {
        let mut value = Value::function(function);
        for decorator in def.decorator_list.iter().rev() {
            let callee = self.eval_raw(frame, &decorator.expression);
            let called = Called { positional: vec![value], ..Called::default() };
            value = match &callee {
                Value::Functions(ids) => self.call_functions(frame, decorator, ids, &called),
                Value::Nothing | Value::Reported(_) => callee,
                _ => {
                    let subject = self.source(frame.module).slice(&decorator.expression).to_owned();
                    self.report(frame.module, decorator, &DecoratorNotAllowed::unknown(subject))
                }
            };
        }
        if !matches!(value, Value::Nothing | Value::Functions(_) | Value::Reported(_)) {
            let subject = self.source(frame.module).slice(&def.decorator_list[0]).to_owned();
            value = self.report(frame.module, &def.decorator_list[0], &DecoratorNotAllowed::unknown(subject));
        }
        if !self.is_lasting(&value) {
            value = self.report(frame.module, &def.name, &ModuleState { subject: self.describe_state(&value) });
        }
        self.bind_name(frame, def.name.as_str(), value);
    }

    /// Returns whether a decorator copies the name and the documentation of another function: `functools.wraps(function)`.
    pub(super) fn is_wraps(&mut self, frame: CodeLocation, decorator: &'a Decorator) -> bool {
        let Expr::Call(call) = &decorator.expression else { return false };
        let [wrapped] = &*call.arguments.args else { return false };
        call.arguments.keywords.is_empty()
            && self.dotted(frame.module, &call.func).as_deref() == Some("functools.wraps")
            && matches!(self.eval(frame, wrapped), Value::Functions(_) | Value::Nothing)
    }
}
