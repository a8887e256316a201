//! Choice of the loops that take a register of elements a step, and of the values that are kept in a row between levels.

use std::collections::BTreeSet;

use super::CppPrinter;
use crate::{
    back::print::{order::ValueDepths, size},
    front::{
        arena::Arena,
        expr::{Binary, Expr, ExprId, Unary, ValueKind},
        index::{Var, coefficient},
    },
    plan::{
        lanes::{LANES, SHORTEST, acts_in_lanes, is_in_lanes},
        stage::{Loop, Segment, Stage, Statement},
    },
};

/// Longest row that is kept in memory between levels, in elements.
const LONGEST_ROW: i64 = 8192;

impl CppPrinter<'_> {
    /// Returns the values that vary along the innermost loop of a segment, if a register can hold each of them.
    pub(super) fn vectorised(
        &self,
        segment: &Segment,
        level: usize,
        varies: &dyn Fn(&ExprId) -> bool,
    ) -> Option<BTreeSet<ExprId>> {
        let Loop { var: Some(var), extent: extent @ SHORTEST.. } = segment.innermost else { return None };
        self.config.vectors.then_some(())?;
        let statements = &segment.levels[level];
        let arena = &self.program.arena;
        statements.iter().all(|statement| acts_in_lanes(arena, statement, var)).then_some(())?;
        let roots: Vec<ExprId> = statements.iter().map(Statement::value).collect();
        // Values in the memory of a row are read from there, so it does not matter from what they were computed.
        let is_kept = |id: ExprId| self.rows.contains_key(&id) && self.filled.contains(&id);
        let all = arena.reachable_beyond(&roots, &is_kept).into_iter();
        let varying: BTreeSet<ExprId> = all.filter(varies).collect();
        let is_stored = |statement: &Statement| matches!(statement, Statement::Store { .. });
        let is_function = |&id: &ExprId| matches!(arena.get(id), Expr::Unary(op, _) if op.is_expensive());
        // A row that does not fill a register takes as long as one that does.
        let is_worth = extent >= LANES || statements.iter().all(is_stored) && varying.iter().any(is_function);
        (is_worth && varying.iter().all(|&id| is_kept(id) || is_in_lanes(arena, id, var, varies))).then_some(varying)
    }

    /// Declares arrays for expensive values that several levels would compute again.
    pub(super) fn keep_rows(&mut self, stage: &Stage, order: &ValueDepths<'_>) {
        let [segment] = stage.segments.as_slice() else { return };
        let Loop { var: Some(var), extent: 2..=LONGEST_ROW } = segment.innermost else { return };
        if !stage.inner.is_empty() || !self.config.keeps_rows {
            return;
        }
        let arena = &self.program.arena;
        let innermost = stage.outer.len() + 1;
        let mut seen: BTreeSet<ExprId> = BTreeSet::new();
        let mut kept: BTreeSet<ExprId> = BTreeSet::new();
        for statements in &segment.levels {
            let statements: Vec<&Statement> = statements.iter().collect();
            let here: BTreeSet<ExprId> =
                order.certain(&statements).into_iter().filter(|&id| order.place(id).depth >= innermost).collect();
            let mut used: BTreeSet<ExprId> = statements.iter().map(|statement| statement.value()).collect();
            for &id in here.difference(&seen) {
                arena.for_each_operand(id, &mut |operand| {
                    used.insert(operand);
                });
            }
            // Below this cost, reading the row back takes as long as computing the value again.
            let is_worth = |id: &ExprId| arena.kind(*id) == ValueKind::F32 && cost(arena, *id, var) >= 4;
            kept.extend(used.intersection(&seen).copied().filter(|id| here.contains(id)).filter(is_worth));
            seen.extend(here);
        }
        for id in kept {
            let name = format!("row{}", self.count);
            self.count += 1;
            // The last lanes may reach beyond the row.
            self.line(&format!("float {name}[{} + lanes];", size(segment.innermost.extent)));
            self.rows.insert(id, name);
        }
    }
}

/// Returns the rough cost of computing a value again at each element, in additions.
fn cost(arena: &Arena, id: ExprId, var: Var) -> u32 {
    let of_one = |id: ExprId| match arena.get(id) {
        Expr::Load { dtype, at, .. } => match (dtype.size(), coefficient(at, var)) {
            (_, Some(0)) => 0,
            (4, Some(1)) => 1,
            (_, Some(1)) => 2,
            _ => 16,
        },
        Expr::Unary(Unary::Neg | Unary::Abs | Unary::Not, _) => 1,
        Expr::Unary(..) => 12,
        Expr::Binary(Binary::Div | Binary::Quotient | Binary::Rest | Binary::Pow, ..) => 4,
        Expr::Round(..) => 2,
        Expr::Binary(..) | Expr::Select(..) | Expr::Guard(..) | Expr::Convert(..) => 1,
        _ => 0,
    };
    arena.reachable(&[id]).into_iter().map(of_one).sum()
}
