//! Products that a sum in the same operation contracts, although the compiler would not contract them.
//!
//! Eager mode rounds a product and a sum inside one operation once, as in `addcmul`. GCC contracts a product only if all its uses
//! can be contracted and are in the same block. In a fused loop, two operations may share a product, and a product that does not
//! vary along the loop is computed outside of it. GCC does not contract these products, so their sums are printed as
//! `multiply_add`.

use std::collections::{BTreeMap, BTreeSet};

use crate::front::{
    arena::Arena,
    expr::{Binary, Expr, ExprId, ValueKind},
    index::{Term, Var},
};

/// The sums of a stage that are printed as `multiply_add`.
#[derive(Debug, Default)]
pub(super) struct Contractions {
    /// Product of each such sum.
    product_of: BTreeMap<ExprId, ExprId>,
    /// Products that nothing else uses.
    absorbed: BTreeSet<ExprId>,
}

impl Contractions {
    pub(super) fn of(arena: &Arena, roots: &[ExprId]) -> Self {
        let all = arena.reachable(roots);
        let mut uses: BTreeMap<ExprId, usize> = BTreeMap::new();
        roots.iter().for_each(|&root| *uses.entry(root).or_default() += 1);
        for &id in &all {
            arena.for_each_operand(id, &mut |operand| *uses.entry(operand).or_default() += 1);
        }
        let mut product_of = BTreeMap::new();
        for &sum in &all {
            if let Some(product) = product(arena, sum)
                && (uses[&product] > 1 || place(arena, product) != place(arena, sum))
            {
                product_of.insert(sum, product);
            }
        }
        let mut contracted: BTreeMap<ExprId, usize> = BTreeMap::new();
        product_of.values().for_each(|&product| *contracted.entry(product).or_default() += 1);
        let is_absorbed = |(product, count): (ExprId, usize)| (uses[&product] == count).then_some(product);
        Self { product_of, absorbed: contracted.into_iter().filter_map(is_absorbed).collect() }
    }

    /// Returns the product of a sum that is printed as `multiply_add`.
    pub(super) fn product_of(&self, sum: ExprId) -> Option<ExprId> {
        self.product_of.get(&sum).copied()
    }

    /// Returns whether a product is a part of sums alone, and needs no name.
    pub(super) fn absorb(&self, id: ExprId) -> bool {
        self.absorbed.contains(&id)
    }
}

/// Returns the product that is contracted with a sum or difference. Of two products, compilers take the first.
fn product(arena: &Arena, sum: ExprId) -> Option<ExprId> {
    let &Expr::Binary(Binary::Add | Binary::Sub, a, b) = arena.get(sum) else { return None };
    let is_product = |id: &ExprId| factors(arena, *id).is_some();
    (arena.kind(sum) == ValueKind::F32).then(|| [a, b].into_iter().filter(is_product).min()).flatten()
}

/// Returns the factors of a product.
pub(super) fn factors(arena: &Arena, product: ExprId) -> Option<(ExprId, ExprId)> {
    match *arena.get(product) {
        Expr::Binary(Binary::Mul, x, y) => Some((x, y)),
        _ => None,
    }
}

/// Returns the loops and reductions that decide where a value is computed.
fn place(arena: &Arena, id: ExprId) -> (BTreeSet<Var>, bool) {
    let (mut vars, mut is_reduced) = (BTreeSet::new(), false);
    for id in arena.reachable(&[id]) {
        is_reduced |= matches!(arena.get(id), Expr::Reduced { .. });
        arena.for_each_index(id, &mut |index| {
            index.for_each_term(&mut |term| {
                if let Term::Var(var) = term {
                    vars.insert(*var);
                }
            });
        });
    }
    (vars, is_reduced)
}
