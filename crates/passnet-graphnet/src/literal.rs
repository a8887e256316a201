//! Literals of tensor metas.

use ruff_python_ast::{Expr, ExprCall, ExprUnaryOp, Number, UnaryOp};

/// Returns the value of `float('inf')`, `float("-inf")`, `float('nan')`.
pub(crate) fn float_call(call: &ExprCall) -> Option<f64> {
    let (Expr::Name(name), [Expr::StringLiteral(text)]) = (&*call.func, &*call.arguments.args) else { return None };
    if name.id != "float" || !call.arguments.keywords.is_empty() {
        return None;
    }
    float_of(text.value.to_str())
}

/// Returns the value of `float(text)`; `None` for texts that do not occur in samples.
pub(crate) fn float_of(text: &str) -> Option<f64> {
    match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

/// A literal without elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'a str),
}

impl<'a> Scalar<'a> {
    /// Returns the literal; `None` if the expression is none of these, or an integer outside 64 bits.
    pub(crate) fn of(expr: &'a Expr) -> Option<Self> {
        match expr {
            Expr::NoneLiteral(_) => Some(Self::None),
            Expr::BooleanLiteral(literal) => Some(Self::Bool(literal.value)),
            Expr::StringLiteral(literal) => Some(Self::Str(literal.value.to_str())),
            Expr::NumberLiteral(literal) => Self::number(&literal.value, false),
            Expr::UnaryOp(ExprUnaryOp { op: UnaryOp::USub, operand, .. }) => {
                Self::number(&operand.as_number_literal_expr()?.value, true)
            }
            Expr::Call(call) => float_call(call).map(Self::Float),
            _ => None,
        }
    }

    /// Returns a number as Python reads it; `None` if it is complex, or an integer outside 64 bits.
    pub(crate) fn number(number: &Number, is_negative: bool) -> Option<Self> {
        match number {
            Number::Float(value) => Some(Self::Float(if is_negative { -value } else { *value })),
            Number::Int(integer) => Self::integer(integer.as_u64()?, is_negative).map(Self::Int),
            Number::Complex { .. } => None,
        }
    }

    /// Returns an integer, if it fits 64 bits.
    pub(crate) fn integer(magnitude: u64, is_negative: bool) -> Option<i64> {
        let magnitude = i128::from(magnitude);
        i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
    }
}
