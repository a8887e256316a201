//! Parts of indices that several loads, stores and conditions share, such as the row and the column of an element.
//!
//! Triton visits each operator of the text in Python, and its passes see each of them until equal ones are joined. A part that is
//! printed once is also easier to read.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    front::{
        arena::Arena,
        expr::ExprId,
        index::{Index, Term},
    },
    plan::stage::{Stage, Statement},
};

/// The shared parts of the indices of a kernel: quotients, remainders, and sums without their constant.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) shared: BTreeSet<Index>,
    /// Names of those that were printed, in the scope of the next line.
    pub(super) names: BTreeMap<Index, String>,
}

impl Places {
    /// Finds the shared parts of the indices that a stage loads from, stores to and compares.
    pub(super) fn of(arena: &Arena, stage: &Stage, roots: &[ExprId]) -> Self {
        let mut indices = BTreeSet::new();
        for id in arena.reachable(roots) {
            arena.for_each_index(id, &mut |index| {
                indices.insert(index.clone());
            });
        }
        let levels = stage.segments.iter().flat_map(|segment| &segment.levels).chain(&stage.per_row);
        for statement in levels.flatten() {
            if let Statement::Store { at, .. } = statement {
                indices.insert(at.clone());
            }
        }
        // Indices that differ only in the constant share a sum, which is counted once for each of them.
        let mut sums: BTreeMap<Index, usize> = BTreeMap::new();
        for index in &indices {
            *sums.entry(without_constant(index)).or_default() += 1;
        }
        let mut terms: BTreeMap<Index, usize> = BTreeMap::new();
        // A sum is printed once if it is shared, so its terms count once.
        for index in sums.keys() {
            index.for_each_term(&mut |term| {
                if let Term::Div(inner, _) | Term::Mod(inner, _) = term {
                    *terms.entry(Index::term(term.clone())).or_default() += 1;
                    if inner.constant_part() != 0 {
                        *terms.entry(without_constant(inner)).or_default() += 1;
                    }
                }
            });
        }
        let counted = sums.into_iter().chain(terms);
        let shared =
            counted.filter(|(part, count)| *count > 1 && is_worth_a_name(part)).map(|(part, _)| part).collect();
        Self { shared, names: BTreeMap::new() }
    }
}

pub(super) fn without_constant(index: &Index) -> Index {
    index.clone().plus_constant(-index.constant_part())
}

/// Returns whether the part has operators, and depends on the position in the tile only.
fn is_worth_a_name(part: &Index) -> bool {
    let mut is_known = true;
    part.for_each_term(&mut |term| is_known &= !matches!(term, Term::Value { .. }));
    is_known && !matches!(part.terms(), [] | [(Term::Var(_), 1)])
}
