//! Check that annotations consist of types only.

use ruff_python_ast::{Expr, Operator};

/// Returns whether an annotation only names types. Python evaluates annotations, so calls and the like are code.
pub(super) fn is_type(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => !name.id.starts_with("__"),
        Expr::Attribute(attribute) => !attribute.attr.starts_with("__") && is_type(&attribute.value),
        Expr::Subscript(subscript) => is_type(&subscript.value) && is_type(&subscript.slice),
        Expr::BinOp(union) => union.op == Operator::BitOr && is_type(&union.left) && is_type(&union.right),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_type),
        Expr::List(list) => list.elts.iter().all(is_type),
        Expr::NoneLiteral(_) | Expr::EllipsisLiteral(_) => true,
        // A type in quotes: tools evaluate such strings, so only dotted names are accepted.
        Expr::StringLiteral(text) => {
            let text = text.value.to_str();
            !text.contains("__") && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*'))
        }
        _ => false,
    }
}
