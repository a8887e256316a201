//! The place of each value in a nest of loops: as far out as the variables that it depends on allow.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    front::{
        arena::Arena,
        expr::{Expr, ExprId, for_each_value},
        index::{Term, Var},
        tensor::TensorId,
    },
    plan::stage::{Action, Loop, Stage},
};

/// Depth of values in the loops of a stage: 0 before all loops, `n` inside the `n`-th.
pub(super) struct Order<'p> {
    arena: &'p Arena,
    depth_of_var: BTreeMap<Var, usize>,
    /// Level after which the result of a reduction is there.
    level_of: BTreeMap<TensorId, usize>,
    /// Depth of what a reduction gives.
    rows: usize,
}

/// First place at which a value can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Availability {
    pub(super) depth: usize,
    /// Number of levels that have to be complete.
    pub(super) after: usize,
}

impl<'p> Order<'p> {
    pub(super) fn new(arena: &'p Arena, stage: &Stage) -> Self {
        Self::with_outer(arena, stage, &stage.outer)
    }

    /// With the loop of one outer variable inside all others.
    pub(super) fn across(arena: &'p Arena, stage: &Stage, outer: &[Loop], innermost: Var) -> Self {
        let mut order = Self::with_outer(arena, stage, outer);
        order.rows = outer.len() + stage.inner.len() + 2;
        order.depth_of_var.insert(innermost, order.rows);
        order
    }

    fn with_outer(arena: &'p Arena, stage: &Stage, outer: &[Loop]) -> Self {
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
            for (level, actions) in segment.levels.iter().enumerate() {
                for action in actions {
                    if let Action::Reduce { tensor, .. } = action {
                        level_of.insert(*tensor, level + 1);
                    }
                }
            }
        }
        Self { arena, depth_of_var, level_of, rows: outer.len() }
    }

    /// Values that an action always computes, operands before users: not those behind the condition of a guard.
    pub(super) fn certain(&self, actions: &[&Action]) -> Vec<ExprId> {
        self.certain_beyond(actions, &|_| false)
    }

    /// Like [`Self::certain`], without what only values that are known already are computed from.
    pub(super) fn certain_beyond(&self, actions: &[&Action], is_known: &dyn Fn(ExprId) -> bool) -> Vec<ExprId> {
        let mut roots = Vec::new();
        for action in actions {
            roots.push(action.value());
            if let Action::Store { at, .. } = action {
                for_each_value(at, &mut |value| roots.push(value));
            }
        }
        self.certain_for(roots, is_known)
    }

    /// Values that are always computed for others.
    pub(super) fn certain_for(&self, roots: Vec<ExprId>, is_known: &dyn Fn(ExprId) -> bool) -> Vec<ExprId> {
        let mut seen = BTreeSet::new();
        let mut stack = roots;
        while let Some(id) = stack.pop() {
            if seen.insert(id) && !is_known(id) {
                match self.arena.get(id) {
                    // The sides of a guard are left out: each may read outside of its buffer where the condition does
                    // not choose it.
                    Expr::Guard(condition, ..) => stack.push(*condition),
                    _ => self.arena.for_each_operand(id, &mut |operand| stack.push(operand)),
                }
            }
        }
        // Numbers of expressions grow from operands to users, so the sorted set is in the order of computation.
        seen.into_iter().collect()
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
