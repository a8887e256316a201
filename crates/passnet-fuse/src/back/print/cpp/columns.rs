//! Stages whose neighbouring rows are neighbours in memory, such as a mean over a dimension other than the last.
//!
//! Such a stage is computed for a block of rows at a time: the loop along the rows is outside, and inside it a loop over the rows
//! of the block reads memory in order. A reduction then has one number for each row of the block.

use std::collections::BTreeSet;

use super::{CppPrinter, division::Division};
use crate::{
    back::print::{order::ValueDepths, size},
    front::{
        expr::{Expr, ExprId, ReduceOp, ValueKind},
        index::{Index, Var, coefficient},
    },
    plan::{
        lanes::{LANES, acts_in_lanes, is_in_lanes},
        running::RunningSums,
        stage::{Loop, Role, Stage, Statement, roots},
    },
};

/// A stage seen across its rows.
pub(super) struct Across {
    /// The loop over neighbouring rows.
    var: Var,
    extent: i64,
    /// The other outer loops.
    outer: Vec<Loop>,
    /// Values that differ between neighbouring rows.
    varying: BTreeSet<ExprId>,
}

/// Number of rows of a block, as `columns` of `vectors.hpp`.
const BLOCK: i64 = 256;

impl Across {
    /// Returns the number of blocks into which the neighbouring rows are divided.
    fn blocks(&self) -> i64 {
        (self.extent + BLOCK - 1) / BLOCK
    }

    /// Returns the number of blocks for all iterations of the other outer loops together.
    pub(super) fn all_blocks(&self) -> i64 {
        self.blocks() * self.outer.iter().map(|nest| nest.extent).product::<i64>()
    }
}

impl CppPrinter<'_> {
    /// Returns the stage seen across its rows, if this reads memory in order and all values that differ between rows have a form
    /// in lanes.
    pub(super) fn across(&self, stage: &Stage) -> Option<Across> {
        let arena = &self.program.arena;
        let [segment] = stage.segments.as_slice() else { return None };
        RunningSums::of(stage, arena).is_none().then_some(())?;
        let along = segment.innermost.var?;
        // A stage across its rows reads elements in another order than it writes them, which is wrong where it
        // overwrites its input.
        let is_overwritten = self.program.buffers.iter().any(|buffer| buffer.role == Role::Updated);
        (self.config.vectors && !is_overwritten && !has_no_fold(stage)).then_some(())?;
        let all = arena.reachable(&roots(stage));
        let mut loads: Vec<&Index> = Vec::new();
        for &id in &all {
            if let Expr::Load { at, .. } = arena.get(id) {
                loads.push(at);
            }
        }
        // Neighbours along the variable with the factor 1 are neighbours in memory. With a stride, a mean over
        // another dimension than the last was 20 to 30 times slower than eager mode.
        let is_better = |var: Var| {
            let both = loads.iter().filter(|at| at.uses(along) && at.uses(var));
            let (mut across, mut within) = (0, 0);
            for at in both {
                across += usize::from(coefficient(at, var) == Some(1));
                within += usize::from(coefficient(at, along) == Some(1));
            }
            across > within
        };
        let place = stage.outer.iter().position(|nest| {
            let wide = nest.var.filter(|_| nest.extent >= LANES);
            wide.is_some_and(is_better)
        })?;
        let mut outer = stage.outer.clone();
        let nest = outer.remove(place);
        let var = nest.var?;
        let mut varying: BTreeSet<ExprId> = BTreeSet::new();
        for &id in &all {
            let mut varies = matches!(arena.get(id), Expr::Reduced { .. });
            arena.for_each_operand(id, &mut |operand| varies |= varying.contains(&operand));
            arena.for_each_index(id, &mut |index| varies |= index.uses(var));
            if varies {
                varying.insert(id);
            }
        }
        let statements = segment.levels.iter().chain(&stage.per_row).flatten();
        // All values need lanes, because a single value without them would need a separate loop inside the block.
        let has_lanes = statements.into_iter().all(|statement| acts_in_lanes(arena, statement, var))
            && varying.iter().all(|&id| is_in_lanes(arena, id, var, &|id| varying.contains(id)));
        has_lanes.then_some(Across { var, extent: nest.extent, outer, varying })
    }

    /// Prints a stage across its rows.
    pub(super) fn across_rows(&mut self, stage: &Stage, across: &Across, share: Division) {
        let order = ValueDepths::across(self.program, stage, &across.outer, across.var);
        let all: Vec<&Statement> = stage.segments[0].levels.iter().chain(&stage.per_row).flatten().collect();
        let certain = order.certain(&all);
        let at = |depth: usize| -> Vec<ExprId> {
            certain.iter().copied().filter(|&id| order.place(id).depth == depth).collect()
        };
        self.is_across = true;
        self.define(&at(0));
        let extent = size(across.extent);
        let is_shared = matches!(share, Division::Columns { .. });
        if is_shared {
            self.open_together(&across.outer, Some(across.blocks()));
            self.define(&(1..=across.outer.len()).flat_map(at).collect::<Vec<_>>());
        } else {
            for (depth, nest) in across.outer.iter().enumerate() {
                self.open(nest, &format!("i{depth}"));
                self.define(&at(depth + 1));
            }
            self.line(&format!("for (int64_t first = 0; first < {extent}; first += columns) {{"));
            self.indent += 1;
        }
        self.line(&format!("const int64_t width = std::min(columns, {extent} - first);"));
        self.vars.insert(across.var, "first + k".to_owned());
        for level in 0..stage.per_row.len() {
            self.level_across(stage, across, level, &order);
            let per_row: Vec<&Statement> = stage.per_row[level].iter().collect();
            if !per_row.is_empty() {
                let here = self.beyond_rows(&order, &per_row);
                self.over_columns(across, &here, &per_row);
            }
        }
        self.close();
        for _ in across.outer.iter().filter(|_| !is_shared) {
            self.close();
        }
        self.is_across = false;
    }

    fn level_across(&mut self, stage: &Stage, across: &Across, level: usize, order: &ValueDepths<'_>) {
        let segment = &stage.segments[0];
        let statements: Vec<&Statement> = segment.levels[level].iter().collect();
        if statements.is_empty() {
            return;
        }
        let rows: i64 = stage.inner.iter().map(|nest| nest.extent).product::<i64>() * segment.innermost.extent;
        for statement in &statements {
            if let Statement::Reduce { tensor, fold, .. } = statement {
                let name = self.fold_name(*tensor, *fold);
                let neutral = if *fold == ReduceOp::Max { "-INFINITY" } else { "INFINITY" };
                match fold {
                    ReduceOp::Sum => self.line(&format!("column_sums {name}({});", size(rows))),
                    _ => {
                        self.line(&format!("float {name}[columns];"));
                        self.line(&format!("std::fill_n({name}, columns, {neutral});"));
                    }
                }
            }
        }
        self.keep_row_values(stage, across, order, &statements);
        let outside = self.names.clone();
        let certain = self.beyond_rows(order, &statements);
        for (place, nest) in stage.inner.iter().chain([&segment.innermost]).enumerate() {
            self.open(nest, &format!("j{place}"));
            let here: Vec<ExprId> = certain
                .iter()
                .copied()
                .filter(|id| !across.varying.contains(id) && order.place(*id).depth == across.outer.len() + place + 1)
                .collect();
            self.define(&here);
        }
        self.over_columns(across, &certain, &statements);
        let sums = self.names_of_sums(&statements);
        for name in &sums {
            self.line(&format!("next_row({name}, width);"));
        }
        for _ in 0..=stage.inner.len() {
            self.close();
        }
        self.names = outside;
        for statement in &statements {
            if let Statement::Reduce { tensor, fold: ReduceOp::Sum, .. } = statement {
                let name = self.folds[tensor].clone();
                self.line(&format!("finish({name}, width);"));
                self.folds.insert(*tensor, format!("{name}.level[0]"));
            }
        }
    }

    /// Adds a value to the reductions of a block of rows, at the row of the loop.
    pub(super) fn fold_across(&mut self, name: &str, fold: ReduceOp, value: &str) {
        let function = if fold == ReduceOp::Max { "maximum" } else { "minimum" };
        let line = match (fold, self.lanes.is_some()) {
            (ReduceOp::Sum, _) => format!("add_row({name}, k, {value});"),
            (_, true) => format!("put_row({name} + k, {function}({value}, get_row({name} + k)));"),
            (_, false) => format!("{name}[k] = {function}({value}, {name}[k]);"),
        };
        self.line(&line);
    }

    /// Computes, once per row, the values that depend on reductions and not on the place along a row, if statements need them.
    fn keep_row_values(&mut self, stage: &Stage, across: &Across, order: &ValueDepths<'_>, statements: &[&Statement]) {
        let arena = &self.program.arena;
        let along: Vec<Var> =
            stage.inner.iter().chain([&stage.segments[0].innermost]).filter_map(|nest| nest.var).collect();
        let depends = |id: ExprId| {
            let mut found = false;
            for id in arena.reachable(&[id]) {
                arena.for_each_index(id, &mut |index| found |= along.iter().any(|&var| index.uses(var)));
            }
            found
        };
        let is_row_value = |id: ExprId| {
            let is_computed = !matches!(arena.get(id), Expr::Reduced { .. } | Expr::Load { .. });
            let is_reduced = || arena.reachable(&[id]).iter().any(|&id| matches!(arena.get(id), Expr::Reduced { .. }));
            across.varying.contains(&id)
                && arena.kind(id) == ValueKind::F32
                && is_computed
                && is_reduced()
                && !depends(id)
        };
        // Such a value, as the inverse of a deviation, would otherwise be computed again at each element of the row.
        let mut wanted: BTreeSet<ExprId> = BTreeSet::new();
        for id in self.beyond_rows(order, statements) {
            if !is_row_value(id) && depends(id) {
                arena.for_each_operand(id, &mut |operand| {
                    if is_row_value(operand) {
                        wanted.insert(operand);
                    }
                });
            }
        }
        wanted.retain(|id| !self.rows.contains_key(id));
        if wanted.is_empty() {
            return;
        }
        let wanted: Vec<ExprId> = wanted.into_iter().collect();
        for &id in &wanted {
            let name = format!("row{}", self.count);
            self.count += 1;
            self.line(&format!("float {name}[columns];"));
            self.rows.insert(id, name);
        }
        let is_known = |id: ExprId| self.rows.contains_key(&id) && self.filled.contains(&id);
        let here = order.certain_for(wanted.clone(), &is_known);
        self.over_columns(across, &here, &[]);
        self.filled.extend(wanted);
    }

    /// Returns the values that statements always compute, without those that were kept.
    fn beyond_rows(&self, order: &ValueDepths<'_>, statements: &[&Statement]) -> Vec<ExprId> {
        order.certain_beyond(statements, &|id| self.rows.contains_key(&id) && self.filled.contains(&id))
    }

    /// Prints the loop over the rows of a block: first in lanes, then one by one.
    fn over_columns(&mut self, across: &Across, here: &[ExprId], statements: &[&Statement]) {
        let here: Vec<ExprId> = here.iter().copied().filter(|id| across.varying.contains(id)).collect();
        let outside = self.names.clone();
        self.line("{");
        self.indent += 1;
        self.line("int64_t k = 0;");
        // The rest is printed one by one and not as a partial register: a block has at most one rest, so it costs
        // little.
        for is_vector in [true, false] {
            if is_vector {
                self.lanes = Some((across.var, across.varying.clone()));
                self.line("for (; k + lanes <= width; k += lanes) {");
            } else {
                self.line("for (; k < width; ++k) {");
            }
            self.indent += 1;
            self.block(&here, statements);
            self.close();
            self.lanes = None;
            self.names.clone_from(&outside);
        }
        self.close();
    }
}

fn has_no_fold(stage: &Stage) -> bool {
    let mut statements = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    !statements.any(|statement| matches!(statement, Statement::Reduce { .. }))
}
