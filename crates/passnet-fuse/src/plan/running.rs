//! Running sums: stages in which row `i` adds the elements up to the `i`-th, as those of `cumsum`.
//!
//! Computed literally, row `i` takes `i` steps. A kernel that goes through the rows in order keeps the sum and takes one step
//! for each row. PyTorch's own loop on a CPU adds in the same order.

use super::stage::{Loop, Stage, Statement};
use crate::front::{
    arena::Arena,
    expr::{Binary, Expr, ExprId, ReduceOp},
    index::Var,
    tensor::TensorId,
};

/// One sum of the stage.
#[derive(Clone, Debug)]
pub(crate) struct RunningSum {
    pub(crate) tensor: TensorId,
    /// Added at each row; an expression of [`RunningSums::along`] rather than of the row.
    pub(crate) term: ExprId,
}

/// The sums of a stage whose rows continue those of the row before.
#[derive(Clone, Debug)]
pub(crate) struct RunningSums {
    /// Variable of the innermost loop. That loop is not printed; the variable of the row replaces this one.
    pub(crate) along: Var,
    pub(crate) sums: Vec<RunningSum>,
}

impl RunningSums {
    /// Returns the sums of a stage if all of them run along its last outer loop.
    pub(crate) fn of(stage: &Stage, arena: &Arena) -> Option<Self> {
        let row = stage.outer.last()?;
        Self::along(stage, arena, row)
    }

    /// Moves the loop along which the sums of a stage run inside all other loops over rows. Returns `None` if there is no such
    /// loop.
    pub(crate) fn arrange(mut stage: Stage, arena: &Arena) -> Option<Stage> {
        let place = stage.outer.iter().position(|row| Self::along(&stage, arena, row).is_some())?;
        let row = stage.outer.remove(place);
        stage.outer.push(row);
        Some(stage)
    }

    fn along(stage: &Stage, arena: &Arena, row: &Loop) -> Option<Self> {
        let ([segment], []) = (stage.segments.as_slice(), stage.inner.as_slice()) else { return None };
        let [level, later @ ..] = segment.levels.as_slice() else { return None };
        later.iter().all(Vec::is_empty).then_some(())?;
        let (along, row_var) = (segment.innermost.var?, row.var?);
        (segment.innermost.extent == row.extent).then_some(())?;
        let sum = |statement: &Statement| match statement {
            Statement::Reduce { tensor, fold: ReduceOp::Sum, value, .. } => {
                let term = term(arena, *value, along, row_var)?;
                Some(RunningSum { tensor: *tensor, term })
            }
            _ => None,
        };
        let sums: Vec<RunningSum> = level.iter().map(sum).collect::<Option<_>>()?;
        (!sums.is_empty()).then_some(Self { along, sums })
    }
}

/// Returns `x` of `along <= row ? x : 0`, where `x` does not depend on the row.
fn term(arena: &Arena, value: ExprId, along: Var, row: Var) -> Option<ExprId> {
    let Expr::Select(condition, term, zero) = *arena.get(value) else { return None };
    let is_zero = match *arena.get(zero) {
        Expr::Int(value) => value == 0,
        Expr::Float { bits, .. } => bits == 0.0_f64.to_bits(),
        _ => false,
    };
    let Expr::Binary(Binary::Le, place, end) = *arena.get(condition) else { return None };
    let is_var = |id: ExprId, var: Var| arena.as_index(id).and_then(|index| index.as_var()) == Some(var);
    (is_zero && is_var(place, along) && is_var(end, row) && !depends_on(arena, term, row)).then_some(term)
}

fn depends_on(arena: &Arena, value: ExprId, var: Var) -> bool {
    let mut depends = false;
    for id in arena.reachable(&[value]) {
        // A reduction of the same rows is another value for each of them.
        depends |= matches!(arena.get(id), Expr::Reduced { .. });
        arena.for_each_index(id, &mut |index| depends |= index.uses(var));
    }
    depends
}
