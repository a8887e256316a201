//! `del` in functions.

use ruff_python_ast::{Expr, StmtDelete};

use super::{CodeLocation, Flow};
use crate::{
    rules::{SharedMutation, StatementNotAllowed},
    value::Value,
};

impl<'a> Flow<'a> {
    /// Checks that a function unbinds only its own names. An unbound name is an error when it is read.
    pub(super) fn delete(&mut self, frame: CodeLocation, stmt: &'a StmtDelete) {
        for target in &stmt.targets {
            if self.is_own_name(frame, target) {
                continue;
            }
            match self.container_from_elsewhere(frame, target) {
                Some(container) => {
                    let subject = format!("`del` of an element of {}", container.describe());
                    self.report(frame.module, stmt, &SharedMutation { subject });
                }
                None => {
                    self.report(frame.module, stmt, &StatementNotAllowed { subject: "`del`".to_owned() });
                }
            }
        }
    }

    fn is_own_name(&self, frame: CodeLocation, target: &Expr) -> bool {
        let (Expr::Name(name), Some(id)) = (target, frame.function) else { return false };
        self.is_local(id, name.id.as_str())
    }

    /// Returns the container of an element, if the running function did not create it.
    fn container_from_elsewhere(&mut self, frame: CodeLocation, target: &'a Expr) -> Option<Value> {
        let container = self.eval(frame, &target.as_subscript_expr()?.value);
        match container {
            Value::Items { fresh: true, .. } | Value::Tensor | Value::Nothing | Value::Reported(_) => None,
            _ => Some(container),
        }
    }
}
