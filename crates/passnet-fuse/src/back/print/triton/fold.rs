//! Reductions along the rows of a tile, at once or in steps.

use std::collections::BTreeSet;

use super::{TritonPrinter, mask::vars, types::kind_type};
use crate::{
    back::print::size,
    front::{
        expr::{Expr, ExprId, ReduceOp, ValueKind},
        index::Var,
    },
    plan::{stage::Statement, tile::Tile},
};

impl TritonPrinter<'_> {
    /// Prints a level that goes along the whole row in steps.
    pub(super) fn looped(&mut self, statements: &[&Statement]) {
        let Tile { block_rows, block_columns, columns, .. } = self.tile;
        for statement in statements {
            if let Statement::Reduce { tensor, fold, kind, .. } = statement {
                self.comment(self.operations.of_reduction(*tensor));
                let name = self.fresh(prefix(*fold));
                let shape = format!("({}, {})", size(block_rows), size(block_columns));
                self.line(&format!("{name} = tl.full({shape}, {}, {})", neutral(*fold, *kind), kind_type(*kind)));
                self.folds.insert(*tensor, name);
            }
        }
        // Values that do not vary along the row are computed before the loop.
        let roots: Vec<ExprId> = statements.iter().map(|statement| statement.value()).collect();
        for id in self.outside_conditions(&roots) {
            if !self.extents[&id].columns {
                self.value(id, 0);
            }
        }
        let (outside, places) = (self.names.clone(), self.places.names.clone());
        self.line(&format!("for start in range(0, {}, {}):", size(columns), size(block_columns)));
        self.indent += 1;
        self.line(&format!("column = start + tl.arange(0, {})[None, :]", size(block_columns)));
        self.column_mask();
        for statement in statements {
            let Statement::Reduce { tensor, fold, kind, value } = statement else {
                self.store(statement);
                continue;
            };
            let value = self.masked(*value, *fold, *kind);
            let name = self.folds[tensor].clone();
            match fold {
                // Elements are summed by place in the block and joined after the loop, which has fewer dependent
                // additions than one sum per row.
                ReduceOp::Sum => self.line(&format!("{name} += {value}")),
                ReduceOp::Max | ReduceOp::Min => self.line(&format!("{name} = {}({name}, {value})", combine(*fold))),
            }
        }
        self.indent -= 1;
        self.names = outside;
        self.places.names = places;
        self.known_conditions.clear();
        for statement in statements {
            if let Statement::Reduce { tensor, fold, .. } = statement {
                let partial = self.folds[tensor].clone();
                let name = self.fresh(prefix(*fold));
                self.line(&format!("{name} = {}", across(*fold, &partial)));
                self.folds.insert(*tensor, name);
            }
        }
    }

    /// Returns the values that are computed in any case, operands first. Values behind the condition of a guard are left out,
    /// unless they can be loaded without the condition.
    fn outside_conditions(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut stack: Vec<(ExprId, BTreeSet<Var>)> = roots.iter().map(|&root| (root, BTreeSet::new())).collect();
        while let Some((id, guards)) = stack.pop() {
            if !seen.insert((id, guards.clone())) {
                continue;
            }
            let is_free = || self.harmless.contains(&id) && self.loads(id) && guards.is_disjoint(&vars(self.arena, id));
            if guards.is_empty() || is_free() {
                found.insert(id);
            }
            if let Expr::Guard(test, a, b) = self.arena.get(id) {
                let inner: BTreeSet<Var> = &guards | &vars(self.arena, *test);
                stack.extend([(*test, guards), (*a, inner.clone()), (*b, inner)]);
            } else {
                self.arena.for_each_operand(id, &mut |operand| stack.push((operand, guards.clone())));
            }
        }
        found.into_iter().collect()
    }

    /// Prints a statement on a tile that holds the whole row.
    pub(super) fn whole(&mut self, statement: &Statement) {
        let Statement::Reduce { tensor, fold, kind, value } = statement else { return self.store(statement) };
        let value = self.masked(*value, *fold, *kind);
        self.comment(self.operations.of_reduction(*tensor));
        let name = self.fresh(prefix(*fold));
        self.line(&format!("{name} = {}", across(*fold, &value)));
        self.folds.insert(*tensor, name);
    }

    /// Returns the value inside the row and the neutral element outside, always in the shape of the tile.
    fn masked(&mut self, id: ExprId, fold: ReduceOp, kind: ValueKind) -> String {
        let is_whole = self.extents[&id].columns;
        let value = self.value(id, 0);
        if self.tile.has_column_mask() {
            return format!("tl.where(in_columns, {value}, {})", neutral(fold, kind));
        }
        // The condition always holds. It broadcasts a value of one column to the shape of the tile, over which
        // `tl.sum` counts it as often as eager mode does.
        if is_whole { value } else { format!("tl.where(column >= 0, {value}, {})", neutral(fold, kind)) }
    }
}

const fn prefix(fold: ReduceOp) -> &'static str {
    match fold {
        ReduceOp::Sum => "sum",
        ReduceOp::Max => "most",
        ReduceOp::Min => "least",
    }
}

const fn combine(fold: ReduceOp) -> &'static str {
    match fold {
        ReduceOp::Sum => "add",
        ReduceOp::Max => "larger",
        ReduceOp::Min => "smaller",
    }
}

fn across(fold: ReduceOp, value: &str) -> String {
    match fold {
        ReduceOp::Sum => format!("tl.sum({value}, 1, keep_dims=True)"),
        _ => format!("tl.reduce({value}, 1, {}, keep_dims=True)", combine(fold)),
    }
}

const fn neutral(fold: ReduceOp, kind: ValueKind) -> &'static str {
    match (fold, kind.is_float()) {
        (ReduceOp::Sum, true) => "0.0",
        (ReduceOp::Sum, false) => "0",
        (ReduceOp::Max, true) => "float(\"-inf\")",
        (ReduceOp::Min, true) => "float(\"inf\")",
        (ReduceOp::Max, false) => "-9223372036854775808",
        (ReduceOp::Min, false) => "9223372036854775807",
    }
}
