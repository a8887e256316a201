//! Comparisons, conditions, and values that have to be plain data.

use ruff_python_ast::{CmpOp, Expr, ExprCompare};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, Value};
use crate::rules::{TensorOperator, TensorRead, UnknownCall};

impl<'a> Flow<'a> {
    pub(super) fn compare(&mut self, frame: CodeLocation, compare: &'a ExprCompare) -> Value {
        if self.is_type_test(frame, compare) {
            return Value::Plain;
        }
        let mut left_expr = &*compare.left;
        let mut left = self.eval(frame, left_expr);
        for (op, right_expr) in compare.ops.iter().zip(&compare.comparators) {
            let right = self.eval(frame, right_expr);
            // A tensor is never equal to a string, and comparing the two computes nothing.
            let by_name = match op {
                CmpOp::Eq | CmpOp::NotEq => is_name_constant(left_expr) || is_name_constant(right_expr),
                CmpOp::In | CmpOp::NotIn => match right_expr {
                    Expr::Tuple(tuple) => tuple.elts.iter().all(is_name_constant),
                    Expr::List(list) => list.elts.iter().all(is_name_constant),
                    Expr::Set(set) => set.elts.iter().all(is_name_constant),
                    _ => false,
                },
                _ => false,
            };
            // `is` compares objects, so it reads no element of a tensor.
            let identity = matches!(op, CmpOp::Is | CmpOp::IsNot);
            // `in` looks for a key, and keys are plain.
            let keys = matches!(op, CmpOp::In | CmpOp::NotIn) && self.is_dictionary(&right);
            let compared = if keys { &[&left][..] } else { &[&left, &right] };
            for value in compared.iter().copied() {
                if identity || by_name || self.is_plain(value) {
                    continue;
                }
                if *value == Value::Tensor || matches!(value, Value::Tuple(_) | Value::Items { .. }) {
                    self.report(frame.module, compare, &TensorOperator { subject: format!("`{op}`") });
                } else {
                    self.unknown(frame, compare, value);
                }
            }
            (left_expr, left) = (right_expr, right);
        }
        Value::Plain
    }

    /// Checks a condition, whose truth value Python reads.
    pub(super) fn condition(&mut self, frame: CodeLocation, expr: &'a Expr) {
        let value = self.eval(frame, expr);
        self.truth(frame, expr, &value);
    }

    pub(super) fn truth(&mut self, frame: CodeLocation, node: &impl Ranged, value: &Value) {
        // The truth value of a container is its length, which reads no tensor. A `Mixed` value may be a tensor.
        if matches!(value, Value::Tensor | Value::Mixed | Value::Native) {
            self.report(frame.module, node, &TensorRead { subject: "its truth value".to_owned() });
        }
    }

    /// Checks an expression whose value has to be plain data.
    pub(super) fn plain(&mut self, frame: CodeLocation, expr: &'a Expr, what: &str) {
        let value = self.eval(frame, expr);
        self.require_plain(frame, expr, &value, what);
    }

    pub(super) fn require_plain(&mut self, frame: CodeLocation, node: &impl Ranged, value: &Value, what: &str) {
        if self.is_plain(value) {
            return;
        }
        let holds_tensor = !self.all_parts(value, &mut |part| *part != Value::Tensor);
        if holds_tensor {
            self.report(frame.module, node, &TensorRead { subject: what.to_owned() });
        } else {
            self.unknown(frame, node, value);
        }
    }

    /// Reports a value of a kind that cannot be followed.
    pub(super) fn unknown(&mut self, frame: CodeLocation, node: &impl Ranged, value: &Value) -> Value {
        match value {
            Value::Nothing | Value::Reported(_) => value.clone(),
            _ => self.report(frame.module, node, &UnknownCall { subject: format!("using {}", value.describe()) }),
        }
    }
}

/// Returns whether an expression is a literal string or `None`.
fn is_name_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::StringLiteral(_) | Expr::NoneLiteral(_))
}
