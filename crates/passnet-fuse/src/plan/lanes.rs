//! Values and statements that kernels for a CPU can compute in the lanes of a vector register.

use passnet_record::DType;

use super::stage::Statement;
use crate::front::{
    arena::Arena,
    expr::{Binary, Expr, ExprId, ValueKind, for_each_value},
    index::{Var, coefficient},
};

/// Largest number of lanes of a register, that of AVX-512 in `vectors.hpp`. A row of as many elements fills a register of every CPU.
pub(crate) const LANES: i64 = 16;

/// Shortest row whose functions, such as `exp`, are computed as the first lanes of a register. One by one, six take longer.
pub(crate) const SHORTEST: i64 = 6;

/// Returns whether a statement can take a register of elements along a loop.
pub(crate) fn acts_in_lanes(arena: &Arena, statement: &Statement, var: Var) -> bool {
    match statement {
        Statement::Store { dtype, at, value, .. } => {
            let stride = coefficient(at, var).unwrap_or(0);
            let is_row = stride == 1 || (stride != 0 && *dtype != DType::Bool);
            let is_float = arena.kind(*value) == ValueKind::F32 && ValueKind::of(*dtype) == Some(ValueKind::F32);
            is_row && (is_float || *dtype == DType::Bool)
        }
        Statement::Reduce { kind, .. } => *kind == ValueKind::F32,
    }
}

/// Largest integer that integers in lanes are compared with: in lanes they are `float`, which holds all smaller ones.
const LARGEST_WHOLE: i64 = 1 << 23;

/// Returns whether a value that varies along a loop has a form of as many lanes as a register holds.
pub(crate) fn is_in_lanes(arena: &Arena, id: ExprId, var: Var, varies: &dyn Fn(&ExprId) -> bool) -> bool {
    let has_lanes = match arena.get(id) {
        Expr::Load { dtype, at, .. } => {
            let mut is_gather = false;
            for_each_value(at, &mut |value| is_gather |= varies(&value));
            let is_float = ValueKind::of(*dtype) == Some(ValueKind::F32);
            // Elements of other types are read one after the other.
            let is_row = *dtype == DType::Bool || is_whole(arena, id);
            !is_gather && coefficient(at, var).is_some_and(|stride| is_float || (is_row && stride == 1))
        }
        Expr::Binary(op, a, b) if arena.kind(*a) == ValueKind::I64 => is_comparison(arena, *op, [*a, *b]),
        Expr::Binary(op, a, _) => {
            // `vectors.hpp` has no power function, no rest of a division and no exclusive or of masks.
            let is_known = !matches!(op, Binary::Pow | Binary::Rest | Binary::Xor);
            is_known && matches!(arena.kind(*a), ValueKind::F32 | ValueKind::Bool)
        }
        Expr::Unary(..) | Expr::Select(..) | Expr::Round(..) => true,
        // A guard protects a read. In lanes both sides would be read, so the condition has to be the same for all
        // lanes.
        Expr::Guard(condition, ..) => !varies(condition),
        Expr::Convert(a, to) => match (arena.kind(*a), to) {
            (ValueKind::Bool, ValueKind::F32) | (ValueKind::F32, ValueKind::Bool) => true,
            (ValueKind::I64, ValueKind::F32 | ValueKind::Bool) => is_whole(arena, *a),
            _ => false,
        },
        Expr::Reduced { .. } => true,
        _ => false,
    };
    has_lanes && (matches!(arena.kind(id), ValueKind::F32 | ValueKind::Bool) || is_whole(arena, id))
}

/// Returns whether a value is an integer in memory. In lanes it is a `float`: it can be converted, compared with 0, and compared
/// with other small integers.
pub(crate) fn is_whole(arena: &Arena, id: ExprId) -> bool {
    matches!(arena.get(id), Expr::Load { .. }) && arena.kind(id) == ValueKind::I64
}

/// Returns whether a comparison of an integer in memory with a constant has the same result if both are `float`.
fn is_comparison(arena: &Arena, op: Binary, operands: [ExprId; 2]) -> bool {
    let is_small = |id: ExprId| matches!(arena.get(id), Expr::Int(value) if value.abs() <= LARGEST_WHOLE);
    let [a, b] = operands;
    let is_pair = is_whole(arena, a) && is_small(b) || is_small(a) && is_whole(arena, b);
    is_pair && matches!(op, Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne)
}
