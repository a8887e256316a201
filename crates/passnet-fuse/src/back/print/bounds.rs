//! Values whose reads stay inside their buffers at every position of a stage's loops.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    front::{
        expr::{Expr, ExprId},
        index::{Index, Term, Var},
    },
    plan::stage::{Program, Role, Stage, roots},
};

/// Returns the values that may be computed even where a guard does not choose them, because at no position of the loops do they
/// read outside of a buffer.
pub(super) fn harmless(program: &Program, stage: &Stage) -> BTreeSet<ExprId> {
    let innermost = stage.segments.iter().map(|segment| &segment.innermost);
    let loops = stage.outer.iter().chain(&stage.inner).chain(innermost);
    let extents: BTreeMap<Var, i64> = loops.filter_map(|nest| Some((nest.var?, nest.extent))).collect();
    let mut harmless = BTreeSet::new();
    for id in program.arena.reachable(&roots(stage)) {
        let mut is_harmless = match program.arena.get(id) {
            Expr::Load { buffer, at, .. } => match program.buffers[*buffer].role {
                Role::Temporary(numel) => is_within(at, numel, &extents),
                Role::Input => is_within(at, program.reaches[*buffer], &extents),
                Role::Updated | Role::Output(_) => false,
            },
            _ => true,
        };
        program.arena.for_each_operand(id, &mut |operand| is_harmless &= harmless.contains(&operand));
        if is_harmless {
            harmless.insert(id);
        }
    }
    harmless
}

/// Returns whether a sum of loop variables is always in `0..end`.
fn is_within(at: &Index, end: i64, extents: &BTreeMap<Var, i64>) -> bool {
    let (mut least, mut most) = (at.constant_part(), at.constant_part());
    for (term, factor) in at.terms() {
        let Term::Var(var) = term else { return false };
        let Some(extent) = extents.get(var) else { return false };
        let reach = (extent - 1) * factor;
        (least, most) = (least + reach.min(0), most + reach.max(0));
    }
    least >= 0 && most < end
}
