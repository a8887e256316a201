//! Place of each value in a nest of loops: the outermost loop in which all variables that the value depends on are known.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::harmless;
use crate::{
    front::{
        arena::Arena,
        expr::{Expr, ExprId, for_each_value},
        index::{Term, Var},
        tensor::TensorId,
    },
    plan::stage::{Loop, Program, Stage, Statement},
};

/// Depth of values in the loops of a stage: 0 before all loops, `n` inside the `n`-th.
pub(super) struct ValueDepths<'p> {
    arena: &'p Arena,
    depth_of_var: BTreeMap<Var, usize>,
    /// Level after which the result of a reduction is known.
    level_of: BTreeMap<TensorId, usize>,
    /// Depth of the result of a reduction.
    rows: usize,
    /// Values that read nothing outside of a buffer, with or without a guard.
    harmless: BTreeSet<ExprId>,
}

/// First place at which a value can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Availability {
    pub(super) depth: usize,
    /// Number of levels that have to be complete.
    pub(super) after: usize,
}

impl<'p> ValueDepths<'p> {
    pub(super) fn new(program: &'p Program, stage: &Stage) -> Self {
        Self::with_outer(program, stage, &stage.outer)
    }

    /// Returns the order with the loop of one outer variable inside all others.
    pub(super) fn across(program: &'p Program, stage: &Stage, outer: &[Loop], innermost: Var) -> Self {
        let mut order = Self::with_outer(program, stage, outer);
        order.rows = outer.len() + stage.inner.len() + 2;
        order.depth_of_var.insert(innermost, order.rows);
        order
    }

    fn with_outer(program: &'p Program, stage: &Stage, outer: &[Loop]) -> Self {
        let mut depth_of_var = BTreeMap::new();
        for (depth, nest) in outer.iter().chain(&stage.inner).enumerate() {
            if let Some(var) = nest.var {
                depth_of_var.insert(var, depth + 1);
            }
        }
        let innermost = outer.len() + stage.inner.len() + 1;
        let mut level_of = BTreeMap::new();
        for segment in &stage.segments {
            if let Some(var) = segment.innermost.var {
                depth_of_var.insert(var, innermost);
            }
            for (level, statements) in segment.levels.iter().enumerate() {
                for statement in statements {
                    if let Statement::Reduce { tensor, .. } = statement {
                        level_of.insert(*tensor, level + 1);
                    }
                }
            }
        }
        let harmless = harmless(program, stage);
        Self { arena: &program.arena, depth_of_var, level_of, rows: outer.len(), harmless }
    }

    /// Returns the values that a statement always computes, operands before users. Values behind the condition of a guard are
    /// left out.
    pub(super) fn certain(&self, statements: &[&Statement]) -> Vec<ExprId> {
        self.certain_beyond(statements, &|_| false)
    }

    /// Returns the values of [`Self::certain`], without the operands of known values that nothing else uses.
    pub(super) fn certain_beyond(&self, statements: &[&Statement], is_known: &dyn Fn(ExprId) -> bool) -> Vec<ExprId> {
        let mut roots = Vec::new();
        for statement in statements {
            roots.push(statement.value());
            if let Statement::Store { at, .. } = statement {
                for_each_value(at, &mut |value| roots.push(value));
            }
        }
        self.certain_for(roots, is_known)
    }

    /// Returns the values that are always computed for the roots.
    pub(super) fn certain_for(&self, roots: Vec<ExprId>, is_known: &dyn Fn(ExprId) -> bool) -> Vec<ExprId> {
        let mut seen = BTreeSet::new();
        let mut stack = roots;
        while let Some(id) = stack.pop() {
            if seen.insert(id) && !is_known(id) {
                match self.arena.get(id) {
                    // The sides of a guard are left out: the side that the condition does not choose may read outside of its
                    // buffer.
                    Expr::Guard(condition, a, b) => {
                        stack.push(*condition);
                        self.push_harmless(&[*a, *b], self.place(id).depth, &mut stack);
                    }
                    _ => self.arena.for_each_operand(id, &mut |operand| stack.push(operand)),
                }
            }
        }
        // Numbers of expressions grow from operands to users, so the sorted set is in the order of computation.
        seen.into_iter().collect()
    }

    /// Pushes those parts of the sides of a guard that are computed in a loop around it, such as the scale of a channel in front of
    /// a `pad`. Otherwise they would be computed again for each element.
    fn push_harmless(&self, sides: &[ExprId], depth: usize, stack: &mut Vec<ExprId>) {
        let (mut seen, mut parts) = (BTreeSet::new(), sides.to_vec());
        while let Some(id) = parts.pop() {
            if !seen.insert(id) {
                continue;
            }
            let is_computed = matches!(
                self.arena.get(id),
                Expr::Unary(..) | Expr::Binary(..) | Expr::Convert(..) | Expr::InRange { .. }
            );
            if is_computed && self.harmless.contains(&id) && self.place(id).depth < depth {
                stack.push(id);
            } else {
                self.arena.for_each_operand(id, &mut |operand| parts.push(operand));
            }
        }
    }

    pub(super) fn place(&self, id: ExprId) -> Availability {
        let mut place = Availability { depth: 0, after: 0 };
        for id in self.arena.reachable(&[id]) {
            if let Expr::Reduced { tensor, .. } = self.arena.get(id) {
                place.depth = place.depth.max(self.rows);
                place.after = place.after.max(self.level_of.get(tensor).copied().unwrap_or(0));
            } else {
                self.arena.for_each_index(id, &mut |index| {
                    index.for_each_term(&mut |term| {
                        if let Term::Var(var) = term {
                            let depth = self.depth_of_var.get(var).copied().unwrap_or(0);
                            place.depth = place.depth.max(depth);
                        }
                    });
                });
            }
        }
        place
    }
}
