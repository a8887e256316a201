//! A stage with given loops: the values at each element.

use std::collections::{BTreeMap, BTreeSet};

use super::grouping::{Member, Pending, StageBuilder, StageDraft};
use crate::{
    front::{
        expr::{BufferId, Expr, ExprId, ValueKind},
        index::{Index, Term, Var, Vars, delinearize, linearize, offset},
        tensor::{Def, TensorId},
    },
    plan::stage::{Loop, LoopForm, Segment, Stage, Statement},
};

/// Actions at one element, and after each level of a row.
struct Actions {
    levels: Vec<Vec<Statement>>,
    per_row: Vec<Vec<Statement>>,
}

impl StageBuilder<'_> {
    /// Returns the stage with loops of these extents: row-major over the outer dimensions, and over the inner ones. `cuts` are
    /// places where the innermost loop is cut. `None` where a member does not fit.
    pub(super) fn build(
        &mut self,
        draft: &StageDraft,
        outer: &[i64],
        inner: &[i64],
        cuts: Option<&[i64]>,
    ) -> Option<Stage> {
        let is_flat = draft.members.iter().all(|member| matches!(member, Member::Full(_)));
        let outer_index: Vec<Index> = outer.iter().map(|&extent| self.evaluator.vars.fresh(extent)).collect();
        let (&last, before) = inner.split_last().unwrap_or((&1, &[]));
        let before_index: Vec<Index> = before.iter().map(|&extent| self.evaluator.vars.fresh(extent)).collect();
        let mut bounds = vec![0];
        bounds.extend(cuts.unwrap_or_default());
        bounds.push(last);
        let mut stage = Stage {
            outer: loops(&outer_index, outer),
            inner: loops(&before_index, before),
            segments: Vec::new(),
            per_row: Vec::new(),
            is_product: false,
        };
        for bound in bounds.windows(2) {
            // A variable for each segment: its range decides the conditions of piecewise definitions, so that they
            // disappear.
            let var = self.evaluator.vars.fresh(bound[1] - bound[0]);
            let mut inner_index = before_index.clone();
            inner_index.push(var.clone().plus_constant(bound[0]));
            let inner = if inner.is_empty() { &[1][..] } else { inner };
            let position = linearize(&inner_index, inner);
            let row = linearize(&outer_index, outer);
            let vars = &self.evaluator.vars;
            let mut dims = vec![Index::constant(0); draft.shape.len()];
            if is_flat {
                let whole = row.clone().times(inner.iter().product()).plus(&position);
                let order: Vec<usize> = draft.outer.iter().chain(&draft.inner).copied().collect();
                assign(&mut dims, &order, &whole, draft, vars);
            } else {
                assign(&mut dims, &draft.outer, &row, draft, vars);
                assign(&mut dims, &draft.inner, &position, draft, vars);
            }
            let inner_vars: BTreeSet<Var> = inner_index.iter().filter_map(single_var).collect();
            let first = stage.segments.is_empty();
            let Actions { levels, per_row } = self.statements(draft, &dims, &row, &inner_vars)?;
            if first {
                stage.per_row = per_row;
            }
            let innermost = Loop { var: var.as_var(), extent: bound[1] - bound[0] };
            stage.segments.push(Segment { innermost, levels });
        }
        with_equal_levels(stage)
    }

    /// Returns the members' values at one element, by level.
    fn statements(
        &mut self,
        draft: &StageDraft,
        dims: &[Index],
        row: &Index,
        inner_vars: &BTreeSet<Var>,
    ) -> Option<Actions> {
        let position = linearize(dims, &draft.shape);
        // Level and own indices of the reductions of this stage.
        let mut folds: BTreeMap<TensorId, (usize, Vec<Index>)> = BTreeMap::new();
        let mut levels: Vec<Vec<Statement>> = Vec::new();
        let mut per_row: Vec<Vec<Statement>> = Vec::new();
        for member in &draft.members {
            let tensor = member.tensor();
            match member {
                Member::Reduce(_) => {
                    let Def::Reduce { fold, of, reduced } = &self.tensors[tensor].def else { return None };
                    let shape = &self.tensors[*of].shape;
                    (shape.iter().product::<i64>() == draft.shape.iter().product::<i64>()).then_some(())?;
                    let index = delinearize(&position, shape, &self.evaluator.vars);
                    let kept: Vec<Index> = index
                        .iter()
                        .zip(reduced)
                        .filter(|&(_, &reduced)| !reduced)
                        .map(|(index, _)| index.clone())
                        .collect();
                    // A reduction has one result per row, so its row may not depend on the position along the row.
                    kept.iter().all(|index| !uses(index, inner_vars)).then_some(())?;
                    let rows: i64 = draft.outer.iter().map(|&dim| draft.shape[dim]).product();
                    (self.tensors[tensor].numel() == rows).then_some(())?;
                    let value = self.evaluator.at(*of, &index)?;
                    let level = self.level(value, &folds)?;
                    let kind = ValueKind::of(self.tensors[tensor].dtype)?;
                    folds.insert(tensor, (level, kept));
                    push(&mut levels, level, Statement::Reduce { tensor, fold: *fold, kind, value });
                }
                Member::Full(Pending { buffer, stride, first, .. }) => {
                    let index = delinearize(&position, &self.tensors[tensor].shape, &self.evaluator.vars);
                    let value = self.evaluator.at(tensor, &index)?;
                    let level = self.level(value, &folds)?;
                    let at = offset(&index, stride).plus_constant(*first);
                    push(&mut levels, level, self.store(*buffer, at, value));
                }
                Member::PerRow(Pending { buffer, stride, first, .. }) => {
                    let index = delinearize(row, &self.tensors[tensor].shape, &self.evaluator.vars);
                    let value = self.evaluator.at(tensor, &index)?;
                    let level = self.level(value, &folds)?.checked_sub(1)?;
                    let at = offset(&index, stride).plus_constant(*first);
                    push(&mut per_row, level, self.store(*buffer, at, value));
                }
            }
        }
        per_row.resize(levels.len().max(per_row.len()), Vec::new());
        levels.resize(per_row.len(), Vec::new());
        Some(Actions { levels, per_row })
    }

    fn store(&self, buffer: BufferId, at: Index, value: ExprId) -> Statement {
        let dtype = self.buffers[buffer].dtype;
        let value = match self.form {
            // The store rounds the value, so a rounding before it is removed.
            LoopForm::Nests => self.evaluator.arena.unrounded(value, dtype),
            LoopForm::Tiles => value,
        };
        Statement::Store { buffer, dtype, at, value }
    }

    /// Returns the first level on which the value can be computed; `None` if it needs a reduction of other rows.
    fn level(&self, value: ExprId, folds: &BTreeMap<TensorId, (usize, Vec<Index>)>) -> Option<usize> {
        let arena = &self.evaluator.arena;
        let mut level = 0;
        for id in arena.reachable(&[value]) {
            if let Expr::Reduced { tensor, kept, .. } = arena.get(id) {
                let (fold_level, own) = folds.get(tensor)?;
                // A reduction of another row may not be computed yet, because rows are computed one after the other or
                // at the same time.
                (own == kept).then_some(())?;
                level = level.max(fold_level + 1);
            }
        }
        Some(level)
    }
}

/// Returns the stage with the same number of levels in all segments. Returns `None` if a reduction is on different levels: one of
/// a `cat` whose pieces need different reductions.
fn with_equal_levels(mut stage: Stage) -> Option<Stage> {
    let counts = stage.segments.iter().map(|segment| segment.levels.len());
    let levels = counts.chain([stage.per_row.len()]).max().unwrap_or(0);
    stage.per_row.resize(levels, Vec::new());
    stage.segments.iter_mut().for_each(|segment| segment.levels.resize(levels, Vec::new()));
    let folds = |segment: &Segment| -> Vec<Vec<TensorId>> {
        let fold = |statement: &Statement| match statement {
            Statement::Reduce { tensor, .. } => Some(*tensor),
            Statement::Store { .. } => None,
        };
        segment.levels.iter().map(|statements| statements.iter().filter_map(fold).collect()).collect()
    };
    let first = folds(stage.segments.first()?);
    stage.segments.iter().all(|segment| folds(segment) == first).then_some(stage)
}

fn assign(dims: &mut [Index], order: &[usize], position: &Index, draft: &StageDraft, vars: &Vars) {
    let shape: Vec<i64> = order.iter().map(|&dim| draft.shape[dim]).collect();
    for (&dim, index) in order.iter().zip(delinearize(position, &shape, vars)) {
        dims[dim] = index;
    }
}

fn loops(index: &[Index], extents: &[i64]) -> Vec<Loop> {
    index.iter().zip(extents).map(|(index, &extent)| Loop { var: index.as_var(), extent }).collect()
}

fn single_var(index: &Index) -> Option<Var> {
    match index.terms() {
        [(Term::Var(var), _)] => Some(*var),
        _ => None,
    }
}

fn uses(index: &Index, vars: &BTreeSet<Var>) -> bool {
    let mut found = false;
    index.for_each_term(&mut |term| match term {
        Term::Var(var) => found |= vars.contains(var),
        // A position that a tensor contains is known only at run time, so it counts as depending on everything.
        Term::Value { .. } => found = true,
        Term::Div(..) | Term::Mod(..) => {}
    });
    found
}

fn push(levels: &mut Vec<Vec<Statement>>, level: usize, statement: Statement) {
    if levels.len() <= level {
        levels.resize(level + 1, Vec::new());
    }
    levels[level].push(statement);
}
