//! Contractions: stages that are products of matrices, as tiles for matrix units.
//!
//! Each element of the result is a sum of products of two factors. A loop on which only the left factor depends is part of the
//! rows. A loop on which only the right factor depends is part of the columns. A loop on which both depend is part of the batch.
//! So `linear`, `bmm`, `a @ b.T` and convolutions are the same kind of stage.

use passnet_record::DType;

use super::{
    stage::{Loop, Stage, Statement},
    tile::{next_power, prev_power},
};
use crate::front::{
    arena::Arena,
    expr::{Binary, Expr, ExprId, ReduceOp, ValueKind},
    index::{Term, Var},
    tensor::TensorId,
};

/// Multiprocessors of the smallest device that the kernels should fill.
const PROGRAMS: i64 = 132;
/// Smallest side of a tile that matrix units take.
const LEAST: i64 = 16;

/// A product of matrices and the tile that one program computes.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    pub(crate) tensor: TensorId,
    pub(crate) left: ExprId,
    pub(crate) right: ExprId,
    /// Type in which the factors are multiplied; sums are `float32`.
    pub(crate) dtype: DType,
    pub(crate) batch: Vec<Loop>,
    pub(crate) rows: Vec<Loop>,
    pub(crate) columns: Vec<Loop>,
    pub(crate) terms: Vec<Loop>,
    pub(crate) block_rows: i64,
    pub(crate) block_columns: i64,
    pub(crate) block_terms: i64,
    pub(crate) warps: i64,
}

impl Contraction {
    /// Returns the contraction that a stage computes; `None` if the stage computes anything else.
    pub(crate) fn of(stage: &Stage, arena: &Arena) -> Option<Self> {
        let [segment] = stage.segments.as_slice() else { return None };
        let [level] = segment.levels.as_slice() else { return None };
        let [Statement::Reduce { tensor, fold: ReduceOp::Sum, kind: ValueKind::F32, value }] = level.as_slice() else {
            return None;
        };
        let Expr::Binary(Binary::Mul, left, right) = *arena.get(*value) else { return None };
        let dtype = common_type(arena, left, right)?;
        let (of_left, of_right) = (vars_of(arena, left), vars_of(arena, right));
        let (mut batch, mut rows, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for nest in &stage.outer {
            let is_of = |vars: &[Var]| nest.var.is_some_and(|var| vars.contains(&var));
            match (is_of(&of_left), is_of(&of_right)) {
                (true, false) => rows.push(nest.clone()),
                (false, true) => columns.push(nest.clone()),
                _ => batch.push(nest.clone()),
            }
        }
        let terms: Vec<Loop> = stage.inner.iter().chain([&segment.innermost]).cloned().collect();
        let [count, height, width, length] = [&batch, &rows, &columns, &terms].map(|loops| extent(loops));
        let (block_rows, block_columns) = block(count, height, width);
        // Tiles of both factors lie in shared memory at once. `float32` needs two tiles for each factor, the leading
        // part and the rest.
        let most = if dtype == DType::Float32 { 32 } else { (8192 / (block_rows + block_columns)).clamp(32, 128) };
        Some(Self {
            tensor: *tensor,
            left,
            right,
            dtype,
            batch,
            rows,
            columns,
            terms,
            block_rows,
            block_columns,
            block_terms: next_power(length).clamp(LEAST, prev_power(most)),
            warps: if block_rows * block_columns > 64 * 128 { 8 } else { 4 },
        })
    }

    /// Returns the number of tiles along the rows, and along the columns.
    pub(crate) fn tiles(&self) -> (i64, i64) {
        (
            extent(&self.rows).unsigned_abs().div_ceil(self.block_rows.unsigned_abs()) as i64,
            extent(&self.columns).unsigned_abs().div_ceil(self.block_columns.unsigned_abs()) as i64,
        )
    }

    /// Returns the number of programs.
    pub(crate) fn programs(&self) -> i64 {
        let (down, across) = self.tiles();
        extent(&self.batch) * down * across
    }
}

/// Returns the number of iterations of loops inside each other.
pub(crate) fn extent(loops: &[Loop]) -> i64 {
    loops.iter().map(|nest| nest.extent).product()
}

/// Returns the sides of a tile: as large as the matrix needs, and small enough that every multiprocessor gets a tile.
fn block(count: i64, height: i64, width: i64) -> (i64, i64) {
    let (mut rows, mut columns) = (next_power(height).clamp(LEAST, 128), next_power(width).clamp(LEAST, 128));
    let programs = |rows: i64, columns: i64| count * (height + rows - 1) / rows * ((width + columns - 1) / columns);
    while programs(rows, columns) < PROGRAMS && rows.max(columns) > 2 * LEAST {
        // The longer side is halved: a square tile reads the fewest elements for each product.
        if columns >= rows { columns /= 2 } else { rows /= 2 }
    }
    (rows, columns)
}

/// Returns the type of both factors, where they are read as they are.
fn common_type(arena: &Arena, left: ExprId, right: ExprId) -> Option<DType> {
    let of = |id| {
        let mut types = arena.reachable(&[id]).into_iter().filter_map(|id| match arena.get(id) {
            Expr::Load { dtype, .. } => Some(*dtype),
            _ => None,
        });
        let first = types.next()?;
        types.all(|dtype| dtype == first).then_some(first)
    };
    of(left).filter(|dtype| of(right) == Some(*dtype))
}

fn vars_of(arena: &Arena, id: ExprId) -> Vec<Var> {
    let mut vars = Vec::new();
    for id in arena.reachable(&[id]) {
        arena.for_each_index(id, &mut |index| {
            index.for_each_term(&mut |term| {
                if let Term::Var(var) = term {
                    vars.push(*var);
                }
            });
        });
    }
    vars
}
