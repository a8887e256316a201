//! The loops of a stage and their order.

use std::collections::{BTreeMap, BTreeSet};

use super::grouping::{Member, StageBuilder, StageDraft};
use crate::{
    front::{
        expr::{Binary, Expr, ExprId, Unary},
        index::{Index, Term, Var},
    },
    plan::{
        contraction::Contraction,
        lanes::LANES,
        running::RunningSums,
        stage::{Loop, Role, Segment, Stage, Statement},
    },
};

impl StageBuilder<'_> {
    pub(super) fn tiles(&mut self, draft: &StageDraft) -> Option<Stage> {
        let product = |extents: Vec<i64>| vec![extents.iter().product::<i64>()];
        let (outer, inner) = (product(draft.extents(&draft.outer)), product(draft.extents(&draft.inner)));
        if draft.members.iter().all(|member| matches!(member, Member::Full(_))) {
            return self.build(draft, &[], &[outer[0] * inner[0]], None);
        }
        if self.is_product(draft) {
            let mut stage = self.product(draft)?;
            stage.is_product = true;
            return Contraction::of(&stage, &self.evaluator.arena).map(|_| stage);
        }
        // If the rows of a member lie across those of the draft, the indices simplify only if loops are split one by one.
        self.build(draft, &outer, &inner, None)
            .or_else(|| self.build(draft, &draft.extents(&draft.outer), &draft.extents(&draft.inner), None))
    }

    /// Returns the stage of a product of matrices: neighbouring loops are one where that adds no division.
    fn product(&mut self, draft: &StageDraft) -> Option<Stage> {
        let (mut outer, mut inner) = (draft.extents(&draft.outer), draft.extents(&draft.inner));
        let mut stage = self.build(draft, &outer, &inner, None)?;
        for is_outer in [true, false] {
            let mut place = 0;
            while place + 1 < if is_outer { outer.len() } else { inner.len() } {
                let (mut new_outer, mut new_inner) = (outer.clone(), inner.clone());
                let loops = if is_outer { &mut new_outer } else { &mut new_inner };
                loops.splice(place..=place + 1, [loops[place] * loops[place + 1]]);
                match self.build(draft, &new_outer, &new_inner, None) {
                    Some(merged) if self.divisions(&merged) <= self.divisions(&stage) => {
                        (stage, outer, inner) = (merged, new_outer, new_inner);
                    }
                    _ => place += 1,
                }
            }
        }
        Some(stage)
    }

    pub(super) fn nests(&mut self, draft: &StageDraft) -> Option<Stage> {
        let mut outer = draft.extents(&draft.outer);
        let mut inner = draft.extents(&draft.inner);
        let mut stage = self.build(draft, &outer, &inner, None)?;
        // A division of a variable disappears where the loop is split in two.
        // Each turn removes one division. The bound is a guard against shapes whose splits produce new ones.
        for _ in 0..8 {
            let Some((var, by)) = self.divided_var(&stage) else { break };
            let Some((new_outer, new_inner)) = split_loop(&stage, (&outer, &inner), var, by) else { break };
            let Some(split) = self.build(draft, &new_outer, &new_inner, None) else { break };
            stage = split;
            (outer, inner) = (new_outer, new_inner);
        }
        let mut divisions = self.divisions(&stage);
        let row_is_flat = draft.members.iter().all(|member| matches!(member, Member::Full(_)));
        if row_is_flat {
            // Without rows, outer and inner loops are one nest.
            outer.append(&mut inner);
        }
        for extents in [0, 1] {
            let mut place = 0;
            loop {
                let current = if extents == 0 { &outer } else { &inner };
                if place + 1 >= current.len() {
                    break;
                }
                let mut merged = current.clone();
                merged.splice(place..=place + 1, [current[place] * current[place + 1]]);
                let (new_outer, new_inner) =
                    if extents == 0 { (merged.clone(), inner.clone()) } else { (outer.clone(), merged.clone()) };
                let trial = self.build_flat(draft, &new_outer, &new_inner, row_is_flat);
                if let Some(trial_divisions) = trial.map(|trial| self.divisions(&trial))
                    // Fewer loops make longer rows, which vectors need. A division in an index costs more than a loop,
                    // so merging must not add any.
                    && trial_divisions <= divisions
                {
                    divisions = trial_divisions;
                    (outer, inner) = (new_outer, new_inner);
                } else {
                    place += 1;
                }
            }
        }
        stage = self.build_flat(draft, &outer, &inner, row_is_flat)?;
        // Between the cuts every condition is decided, so that `cat` and `pad` become loops without branches.
        let is_running = draft.members.first().is_some_and(|first| self.is_running(first.tensor()));
        let cuts = self.breakpoints(&stage);
        if !cuts.is_empty() && !is_running {
            let (outer, inner) = flatten(&outer, &inner, row_is_flat);
            stage = self.build(draft, &outer, &inner, Some(&cuts)).unwrap_or(stage);
        }
        self.hoist(&mut stage);
        self.lengthen(&mut stage);
        if is_running { RunningSums::arrange(stage, &self.evaluator.arena) } else { Some(stage) }
    }

    /// Moves an outer loop to the front if something expensive depends on this loop alone. It is then computed once for all other
    /// loops, such as the scale of a channel for all images of a batch.
    fn hoist(&self, stage: &mut Stage) {
        let arena = &self.evaluator.arena;
        let statements = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
        let roots: Vec<ExprId> = statements.chain(stage.per_row.iter().flatten()).map(Statement::value).collect();
        let mut weights: BTreeMap<Var, usize> = BTreeMap::new();
        for id in arena.reachable(&roots) {
            if matches!(arena.get(id), Expr::Unary(Unary::Sqrt | Unary::Exp, _) | Expr::Binary(Binary::Div, ..))
                && let Some(var) = self.only_var(id)
            {
                *weights.entry(var).or_default() += 1;
            }
        }
        let weight = |nest: &Loop| nest.var.and_then(|var| weights.get(&var)).copied().unwrap_or(0);
        stage.outer.sort_by_key(|nest| std::cmp::Reverse(weight(nest)));
    }

    /// Makes the last outer loop the innermost one where each segment is a single element: vectors need long loops, and the pieces
    /// of a `stack` along the last dimension are as short as that.
    fn lengthen(&self, stage: &mut Stage) {
        let mut statements = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
        let has_folds = statements.any(|statement| matches!(statement, Statement::Reduce { .. }));
        let is_single = |segment: &Segment| segment.innermost.extent == 1 && segment.levels.len() == 1;
        let has_rows = !stage.inner.is_empty() || stage.per_row.iter().any(|statements| !statements.is_empty());
        // A piece may read elements that the piece before it, now for all rows, has overwritten.
        let is_overwritten = self.buffers.iter().any(|buffer| buffer.role == Role::Updated);
        if stage.segments.len() < 2 || has_folds || has_rows || is_overwritten || !stage.segments.iter().all(is_single)
        {
            return;
        }
        if let Some(innermost) = stage.outer.pop_if(|nest| nest.var.is_some() && nest.extent >= LANES) {
            let all = stage.segments.drain(..).flat_map(|segment| segment.levels).flatten().collect();
            stage.segments.push(Segment { innermost, levels: vec![all] });
        }
    }

    /// Returns the variable that a value depends on, if it is a single one and the value contains no reduction.
    fn only_var(&self, id: ExprId) -> Option<Var> {
        let arena = &self.evaluator.arena;
        let mut vars = BTreeSet::new();
        for id in arena.reachable(&[id]) {
            if matches!(arena.get(id), Expr::Reduced { .. }) {
                return None;
            }
            arena.for_each_index(id, &mut |index| {
                index.for_each_term(&mut |term| {
                    if let Term::Var(var) = term {
                        vars.insert(*var);
                    }
                });
            });
        }
        let var = vars.pop_first()?;
        vars.is_empty().then_some(var)
    }

    fn build_flat(&mut self, draft: &StageDraft, outer: &[i64], inner: &[i64], is_flat: bool) -> Option<Stage> {
        let (outer, inner) = flatten(outer, inner, is_flat);
        self.build(draft, &outer, &inner, None)
    }

    fn for_each_index(&self, stage: &Stage, visit: &mut impl FnMut(&Index)) {
        let arena = &self.evaluator.arena;
        let statements = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
        let mut roots = Vec::new();
        for statement in statements.chain(stage.per_row.iter().flatten()) {
            if let Statement::Store { at, .. } = statement {
                visit(at);
            }
            roots.push(statement.value());
        }
        for id in arena.reachable(&roots) {
            arena.for_each_index(id, visit);
        }
    }

    /// Returns the number of divisions and remainders.
    fn divisions(&self, stage: &Stage) -> usize {
        let mut count = 0;
        self.for_each_index(stage, &mut |index| {
            index.for_each_term(&mut |term| count += usize::from(matches!(term, Term::Div(..) | Term::Mod(..))));
        });
        count
    }

    /// Returns a variable that is divided by a divisor of its extent.
    fn divided_var(&self, stage: &Stage) -> Option<(Var, i64)> {
        let vars = &self.evaluator.vars;
        let mut found = None;
        self.for_each_index(stage, &mut |index| {
            index.for_each_term(&mut |term| {
                if let Term::Div(inner, by) | Term::Mod(inner, by) = term
                    && let Some(var) = inner.as_var()
                    && vars.extent(var) % by == 0
                    && vars.extent(var) > *by
                {
                    found = found.or(Some((var, *by)));
                }
            });
        });
        found
    }

    /// Returns the positions along the innermost loop at which piecewise definitions change.
    fn breakpoints(&self, stage: &Stage) -> Vec<i64> {
        let Some(Loop { var: Some(var), extent }) = stage.segments.first().map(|segment| segment.innermost.clone())
        else {
            return Vec::new();
        };
        let arena = &self.evaluator.arena;
        let roots: Vec<ExprId> =
            stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten()).map(Statement::value).collect();
        let mut cuts = BTreeSet::new();
        for id in arena.reachable(&roots) {
            if let Expr::InRange { index, low, high } = arena.get(id)
                && let Some(shift) = shift_of(index, var)
            {
                for bound in [low.checked_sub(shift), high.checked_sub(shift)].into_iter().flatten() {
                    if bound > 0 && bound < extent {
                        cuts.insert(bound);
                    }
                }
            }
        }
        // Between its jumps, a remainder is the variable plus a constant. For example, `roll` reads two pieces of a row.
        self.for_each_index(stage, &mut |index| {
            index.for_each_term(&mut |term| {
                if let Term::Mod(inner, by) = term
                    && let Some(shift) = shift_of(inner, var)
                    && extent / by <= MOST_CUTS
                {
                    let first = (-shift).rem_euclid(*by);
                    cuts.extend((first..extent).step_by(*by as usize).filter(|&cut| cut > 0));
                }
            });
        });
        // Each piece is a loop in the code, so many pieces make a long kernel.
        if cuts.len() as i64 > MOST_CUTS { Vec::new() } else { cuts.into_iter().collect() }
    }
}

/// Largest number of places at which the innermost loop is cut.
const MOST_CUTS: i64 = 8;

/// Returns the constant that an index adds to a variable.
fn shift_of(index: &Index, var: Var) -> Option<i64> {
    matches!(index.terms(), [(Term::Var(of), 1)] if *of == var).then(|| index.constant_part())
}

/// Returns the extents of the outer and inner loops with the loop of a variable as two, the inner one of extent `by`.
fn split_loop(stage: &Stage, extents: (&[i64], &[i64]), var: Var, by: i64) -> Option<(Vec<i64>, Vec<i64>)> {
    let (mut outer, mut inner) = (extents.0.to_vec(), extents.1.to_vec());
    let is_of_var = |nest: &Loop| nest.var == Some(var);
    let innermost = stage.segments.first().map(|segment| &segment.innermost);
    if let Some(place) = stage.outer.iter().position(is_of_var) {
        outer.splice(place..=place, [outer[place] / by, by]);
    } else {
        let place = stage.inner.iter().chain(innermost).position(is_of_var)?;
        inner.splice(place..=place, [inner[place] / by, by]);
    }
    Some((outer, inner))
}

/// Returns the outer and the inner loops. Without rows, the innermost loop is the row.
fn flatten(outer: &[i64], inner: &[i64], is_flat: bool) -> (Vec<i64>, Vec<i64>) {
    if !is_flat {
        return (outer.to_vec(), inner.to_vec());
    }
    let mut outer: Vec<i64> = outer.iter().chain(inner).copied().collect();
    let inner = outer.pop().into_iter().collect();
    (outer, inner)
}
