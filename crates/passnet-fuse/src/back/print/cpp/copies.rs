//! Elements of half types that are stored as they were read: converting them to `float` and back takes several times as long.

use std::collections::BTreeSet;

use passnet_record::DType;

use crate::{
    front::{
        arena::Arena,
        expr::{Expr, ExprId},
    },
    plan::stage::{Stage, Statement, roots},
};

/// Returns the loads of half types that statements only store, in the type in which they were read.
pub(super) fn plain_copies(arena: &Arena, stage: &Stage) -> BTreeSet<ExprId> {
    let dtype_of = |id: ExprId| match arena.get(id) {
        Expr::Load { dtype: dtype @ (DType::Float16 | DType::BFloat16), .. } => Some(*dtype),
        _ => None,
    };
    let statements = || {
        let all = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
        all.chain(stage.per_row.iter().flatten())
    };
    let is_copy = |statement: &Statement| match statement {
        Statement::Store { dtype, value, .. } => dtype_of(*value) == Some(*dtype),
        Statement::Reduce { .. } => false,
    };
    let mut copies: BTreeSet<ExprId> = statements().filter(|one| is_copy(one)).map(Statement::value).collect();
    for statement in statements().filter(|one| !is_copy(one)) {
        copies.remove(&statement.value());
    }
    for id in arena.reachable(&roots(stage)) {
        arena.for_each_operand(id, &mut |operand| {
            copies.remove(&operand);
        });
    }
    copies
}
