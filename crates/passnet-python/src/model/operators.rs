//! Python's operators as functions of `operator`.

use ruff_python_ast::{CmpOp, Operator, UnaryOp};

pub(super) fn binary(op: Operator) -> &'static str {
    match op {
        Operator::Add => "operator.add",
        Operator::Sub => "operator.sub",
        Operator::Mult => "operator.mul",
        Operator::MatMult => "operator.matmul",
        Operator::Div => "operator.truediv",
        Operator::Mod => "operator.mod",
        Operator::Pow => "operator.pow",
        Operator::LShift => "operator.lshift",
        Operator::RShift => "operator.rshift",
        Operator::BitOr => "operator.or_",
        Operator::BitXor => "operator.xor",
        Operator::BitAnd => "operator.and_",
        Operator::FloorDiv => "operator.floordiv",
    }
}

pub(super) fn in_place(op: Operator) -> &'static str {
    match op {
        Operator::Add => "operator.iadd",
        Operator::Sub => "operator.isub",
        Operator::Mult => "operator.imul",
        Operator::MatMult => "operator.imatmul",
        Operator::Div => "operator.itruediv",
        Operator::Mod => "operator.imod",
        Operator::Pow => "operator.ipow",
        Operator::LShift => "operator.ilshift",
        Operator::RShift => "operator.irshift",
        Operator::BitOr => "operator.ior",
        Operator::BitXor => "operator.ixor",
        Operator::BitAnd => "operator.iand",
        Operator::FloorDiv => "operator.ifloordiv",
    }
}

/// `None` for tests of identity and membership, which no graph has.
pub(super) fn compare(op: CmpOp) -> Option<&'static str> {
    match op {
        CmpOp::Eq => Some("operator.eq"),
        CmpOp::NotEq => Some("operator.ne"),
        CmpOp::Lt => Some("operator.lt"),
        CmpOp::LtE => Some("operator.le"),
        CmpOp::Gt => Some("operator.gt"),
        CmpOp::GtE => Some("operator.ge"),
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => None,
    }
}

/// `None` for `not`, which asks a tensor for its truth.
pub(super) fn unary(op: UnaryOp) -> Option<&'static str> {
    match op {
        UnaryOp::Invert => Some("operator.invert"),
        UnaryOp::UAdd => Some("operator.pos"),
        UnaryOp::USub => Some("operator.neg"),
        UnaryOp::Not => None,
    }
}
