//! Directions of the tile along which values vary, and the masks under which they are loaded and stored.

use std::collections::BTreeSet;

use super::{
    TritonPrinter,
    extent::{Extent, LoadCondition},
    name_of,
};
use crate::{
    back::print::operand,
    front::{
        arena::Arena,
        expr::ExprId,
        index::{Index, Term, Var},
    },
};

impl TritonPrinter<'_> {
    /// Returns an offset that varies at least along `wanted`, and the mask for it.
    pub(super) fn place(
        &self,
        at: String,
        extent: Extent,
        wanted: Extent,
        condition: usize,
    ) -> (String, Option<String>) {
        let condition = &self.conditions[condition];
        let all = extent.and(wanted).and(condition.extent);
        let mut at = operand(at);
        let mut masks: Vec<&str> = Vec::new();
        if self.tile.rows.is_none() {
            if !extent.columns && all.columns {
                // Triton takes the shape of a load from its pointers. Adding zero times the position gives them the
                // shape of the mask.
                at.push_str(" + 0 * i");
            }
            if all.columns && self.tile.has_column_mask() {
                masks.push("inside");
            }
        } else {
            if !extent.rows && all.rows {
                at.push_str(&format!(" + 0 * {}", self.axes.row));
            }
            if !extent.columns && all.columns {
                at.push_str(&format!(" + 0 * {}", self.axes.column));
            }
            if all.rows && self.tile.has_row_mask() {
                masks.push(self.axes.in_rows);
            }
            if all.columns && self.tile.has_column_mask() {
                masks.push(self.axes.in_columns);
            }
        }
        if !condition.name.is_empty() {
            masks.push(&condition.name);
        }
        let mask = (!masks.is_empty()).then(|| masks.join(" & "));
        (at, mask)
    }

    pub(super) fn vars_of(&self, index: &Index) -> Extent {
        let mut extent = Extent::default();
        index.for_each_term(&mut |term| {
            if let Term::Var(var) = term {
                extent.rows |= name_of(&self.rows, *var).is_some();
                extent.columns |= name_of(&self.columns, *var).is_some();
            }
        });
        extent
    }

    /// Returns the weakest condition around `condition` under which a value has to be loaded. A value that varies with none of the
    /// variables of a condition, such as a weight next to the padding of an image, is loaded without it: once for the whole tile.
    pub(super) fn needed(&self, id: ExprId, mut condition: usize) -> usize {
        if !self.loads(id) {
            // An expression that reads no memory has the same value under any condition, and is computed once.
            return 0;
        }
        if condition == 0 || !self.harmless.contains(&id) {
            return condition;
        }
        let own = vars(self.arena, id);
        while condition != 0 && self.conditions[condition].vars.is_disjoint(&own) {
            condition = self.conditions[condition].outer;
        }
        condition
    }

    /// Returns the number of the condition that `condition` holds and the value of `id` is true, or false if `holds` is false.
    pub(super) fn narrowed(&mut self, condition: usize, id: ExprId, holds: bool) -> usize {
        // Reads under one condition share its name, and with it one mask.
        if let Some(&known) = self.known_conditions.get(&(condition, id, holds)) {
            return known;
        }
        let mut text = self.value(id, condition);
        if !holds {
            text = format!("~({text})");
        }
        let outer = self.conditions[condition].clone();
        if !outer.name.is_empty() {
            text = format!("{} & {text}", outer.name);
        }
        let is_name = text.chars().all(|letter| letter.is_ascii_alphanumeric());
        let name = if is_name { text } else { self.fresh_line("here", &text) };
        let extent = outer.extent.and(self.extents[&id]);
        self.conditions.push(LoadCondition { name, extent, outer: condition, vars: vars(self.arena, id) });
        let number = self.conditions.len() - 1;
        self.known_conditions.insert((condition, id, holds), number);
        number
    }
}

/// Returns the variables that a value varies with.
pub(super) fn vars(arena: &Arena, id: ExprId) -> BTreeSet<Var> {
    let mut found = BTreeSet::new();
    for id in arena.reachable(&[id]) {
        arena.for_each_index(id, &mut |index| {
            index.for_each_term(&mut |term| {
                if let Term::Var(var) = term {
                    found.insert(*var);
                }
            });
        });
    }
    found
}
