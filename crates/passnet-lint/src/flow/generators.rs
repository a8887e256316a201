//! Generators: functions with `yield`. A call returns an iterator, which lives no longer than the call of the pass that made it.

use ruff_python_ast::Expr;

use super::{Body, CodeLocation, Flow, Value};
use crate::rules::StatementNotAllowed;

impl<'a> Flow<'a> {
    /// Runs `yield value` and `yield from values`. The elements of the iterator that the function returns are all values that it yields.
    pub(super) fn run_yield(&mut self, frame: CodeLocation, expr: &'a Expr) -> Value {
        let id = frame.function.filter(|id| matches!(self.function(*id).body, Body::Def(_)));
        // The block of a `with` would still be open between two steps, and would end at an unknown time.
        let Some(id) = id.filter(|_| self.open_contexts == 0) else {
            let subject = "`yield` inside `with` or `lambda` (make a list there and return it)".to_owned();
            return self.report(frame.module, expr, &StatementNotAllowed { subject });
        };
        let (element, result) = match expr {
            Expr::Yield(one) => {
                let value = one.value.as_ref().map_or(Value::Plain, |value| self.eval(frame, value));
                // Nothing sends values to a generator, because `send` is no method of iterators here.
                (value, Value::Plain)
            }
            Expr::YieldFrom(many) => {
                let value = self.eval(frame, &many.value);
                // The value of `yield from` is what another generator returns, which is not followed.
                (self.element(frame, expr, value), Value::Mixed)
            }
            _ => (Value::Mixed, Value::Mixed),
        };
        let made = self.container(frame, expr, element);
        let made = self.iterator(made);
        self.check_stored_result(frame, expr, &made);
        self.put_returned(id, made);
        result
    }
}
