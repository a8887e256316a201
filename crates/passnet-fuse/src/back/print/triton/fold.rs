//! Reductions along the rows of a tile, at once or in steps.

use std::collections::BTreeSet;

use super::{Printer, types::kind_type};
use crate::{
    back::print::size,
    front::expr::{Expr, ExprId, Fold, ValueKind},
    plan::{stage::Action, tile::Tile},
};

impl Printer<'_> {
    /// A level along the whole row in steps.
    pub(super) fn looped(&mut self, actions: &[&Action]) {
        let Tile { block_rows, block_columns, columns, .. } = self.tile;
        for action in actions {
            if let Action::Fold { tensor, fold, kind, .. } = action {
                let name = self.fresh(prefix(*fold));
                let shape = format!("({}, {})", size(block_rows), size(block_columns));
                self.line(&format!("{name} = tl.full({shape}, {}, {})", neutral(*fold, *kind), kind_type(*kind)));
                self.folds.insert(*tensor, name);
            }
        }
        // What does not vary along the row is computed ahead.
        let roots: Vec<ExprId> = actions.iter().map(|action| action.value()).collect();
        for id in self.unconditional(&roots) {
            if !self.extents[&id].columns {
                self.value(id, 0);
            }
        }
        let outside = self.names.clone();
        self.line(&format!("for start in range(0, {}, {}):", size(columns), size(block_columns)));
        self.indent += 1;
        self.line(&format!("column = start + tl.arange(0, {})[None, :]", size(block_columns)));
        self.column_mask();
        for action in actions {
            let Action::Fold { tensor, fold, kind, value } = action else {
                self.store(action);
                continue;
            };
            let value = self.masked(*value, *fold, *kind);
            let name = self.folds[tensor].clone();
            match fold {
                // Elements are summed by place in the block and joined after the loop, which has fewer dependent
                // additions than one sum per row.
                Fold::Sum => self.line(&format!("{name} += {value}")),
                Fold::Max | Fold::Min => self.line(&format!("{name} = {}({name}, {value})", combine(*fold))),
            }
        }
        self.indent -= 1;
        self.names = outside;
        self.known_conditions.clear();
        for action in actions {
            if let Action::Fold { tensor, fold, .. } = action {
                let partial = self.folds[tensor].clone();
                let name = self.fresh(prefix(*fold));
                self.line(&format!("{name} = {}", across(*fold, &partial)));
                self.folds.insert(*tensor, name);
            }
        }
    }

    /// Values that are computed under all conditions, operands first.
    fn unconditional(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut seen = BTreeSet::new();
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            if seen.insert(id) {
                match self.arena.get(id) {
                    Expr::Guard(condition, ..) => stack.push(*condition),
                    _ => self.arena.for_each_operand(id, &mut |operand| stack.push(operand)),
                }
            }
        }
        seen.into_iter().collect()
    }

    /// An action on a tile that holds the whole row.
    pub(super) fn whole(&mut self, action: &Action) {
        let Action::Fold { tensor, fold, kind, value } = action else { return self.store(action) };
        let value = self.masked(*value, *fold, *kind);
        let name = self.fresh(prefix(*fold));
        self.line(&format!("{name} = {}", across(*fold, &value)));
        self.folds.insert(*tensor, name);
    }

    /// The value where it is part of the row, else what changes no result; always of the tile's shape.
    fn masked(&mut self, id: ExprId, fold: Fold, kind: ValueKind) -> String {
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

const fn prefix(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "sum",
        Fold::Max => "most",
        Fold::Min => "least",
    }
}

const fn combine(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "add",
        Fold::Max => "larger",
        Fold::Min => "smaller",
    }
}

fn across(fold: Fold, value: &str) -> String {
    match fold {
        Fold::Sum => format!("tl.sum({value}, 1, keep_dims=True)"),
        _ => format!("tl.reduce({value}, 1, {}, keep_dims=True)", combine(fold)),
    }
}

const fn neutral(fold: Fold, kind: ValueKind) -> &'static str {
    match (fold, kind.is_float()) {
        (Fold::Sum, true) => "0.0",
        (Fold::Sum, false) => "0",
        (Fold::Max, true) => "float(\"-inf\")",
        (Fold::Min, true) => "float(\"inf\")",
        (Fold::Max, false) => "-9223372036854775808",
        (Fold::Min, false) => "9223372036854775807",
    }
}
