//! Tiles: the part of a stage that one Triton program computes.

use std::collections::BTreeSet;

use passnet_record::Tiles;

use super::{
    stage::{Stage, Statement, roots},
    window::step_of_window,
};
use crate::front::{
    arena::Arena,
    expr::Expr,
    index::{Index, Term, Var, coefficient},
};

/// Longest row that one program holds in registers, in elements.
const LONGEST_ROW: i64 = 8192;
/// Twice the multiprocessors of the smallest device that the kernels should fill (an H100 has 132).
const PROGRAMS: i64 = 264;
/// Number of elements of the largest block whose rows are neighbours in memory. This number and the two below are measured on one
/// H200 (`benches/gpu/tiles.py`): the block is within 7 % of the fastest one for each of 18 shapes, 1.5 % on average.
const LARGEST_ACROSS: i64 = 16_384;
/// Number of programs among which such rows are divided.
const PROGRAMS_ACROSS: i64 = 64;
/// Number of elements of such a block for each warp.
const PER_WARP_ACROSS: i64 = 2048;
/// Number of loaded values that a thread of a flat kernel has at most. A thread has 255 registers, and some hold addresses and masks: with
/// 54 loads (a window of 5x5 and batch norm), `ptxas` uses 124 registers for 2 elements per thread, 230 for 4, and spills 3.2 kB for 8.
const LOADED_PER_THREAD: i64 = 176;
/// Number of threads of a flat kernel.
const FLAT_THREADS: i64 = 128;
/// Number of programs of a kernel with a window among which elements are divided before a thread gets two. Measured on one H200
/// (`benches/gpu/windows.py`), like the elements of a thread: of 31 windows, the block is within 5 % of the fastest for 30.
const PROGRAMS_OF_WINDOWS: i64 = 3 * PROGRAMS;
/// Largest number of elements of a kernel for which a window decides the block. The windows were measured with their data in the cache. In
/// models with a batch of 8, where larger results come from memory, blocks for windows made all calls together 3 to 7 % slower.
const LARGEST_WINDOWED: i64 = 1 << 20;

/// Size of the block of rows and columns that a program works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Number of rows of the stage; `None` if the stage is flat.
    pub(crate) rows: Option<i64>,
    /// Number of elements of a row, or of all rows together if the stage is flat.
    pub(crate) columns: i64,
    pub(crate) block_rows: i64,
    pub(crate) block_columns: i64,
    /// True if a program computes a row in several steps.
    pub(crate) is_looped: bool,
    pub(crate) warps: i64,
}

impl Tile {
    /// Chooses a tile: enough programs to fill a device, few elements per thread, and neighbours in memory next to each other.
    pub(crate) fn of(stage: &Stage, arena: &Arena) -> Self {
        let innermost: i64 = stage.segments.iter().map(|segment| segment.innermost.extent).sum();
        let columns = innermost * stage.inner.iter().map(|nest| nest.extent).product::<i64>();
        if is_flat(stage) {
            // Triton's ranges have lengths that are powers of two. A smaller block would leave some threads idle.
            let per_thread = prev_power(LOADED_PER_THREAD / loads(stage, arena).max(1));
            let step = if columns <= LARGEST_WINDOWED { step_of_window(stage, arena) } else { None };
            let (most, programs) = match step {
                // Triton gives neighbouring elements to a thread. It cannot read them at once if they are not aligned, so the
                // threads of a warp read from more lines of the cache.
                Some(1) => (2, PROGRAMS_OF_WINDOWS),
                Some(_) => (1, PROGRAMS_OF_WINDOWS),
                None => (8, PROGRAMS),
            };
            let block = prev_power(columns / programs).clamp(FLAT_THREADS, FLAT_THREADS * per_thread.clamp(1, most));
            return Self { rows: None, columns, block_rows: 1, block_columns: block, is_looped: false, warps: 4 };
        }
        let rows: i64 = stage.outer.iter().map(|nest| nest.extent).product();
        let whole = next_power(columns);
        let spread = prev_power(rows / PROGRAMS).max(1);
        if runs_across_rows(stage, arena) {
            // If there are few rows, a program takes fewer of them, so that more programs run. Part of each read is wasted
            // then.
            let block_rows = prev_power(rows / PROGRAMS_ACROSS).clamp(4, 32).min(prev_power(rows));
            let block_columns = whole.min(LARGEST_ACROSS / block_rows);
            return Self {
                rows: Some(rows),
                columns,
                block_rows,
                block_columns,
                is_looped: whole > block_columns,
                warps: prev_power(block_rows * block_columns / PER_WARP_ACROSS).clamp(4, 8),
            };
        }
        let (block_rows, block_columns) =
            // A row in registers is read once for all levels. A longer one is read again for each of them.
            if whole <= LONGEST_ROW { ((1024 / whole).clamp(1, 16).min(spread), whole) } else { (1, 4096) };
        Self {
            rows: Some(rows),
            columns,
            block_rows,
            block_columns,
            is_looped: whole > block_columns,
            warps: prev_power(block_rows * block_columns / 256).clamp(1, 16),
        }
    }

    /// Returns the tile with more or fewer elements and warps. The part of a row that a program holds stays the same: it
    /// decides how often an element is read, which affects more than the speed.
    pub(crate) fn with(self, Tiles { elements, warps }: Tiles) -> Self {
        let times = |value: i64, power: i8| if power < 0 { value >> -power } else { value << power };
        let mut tile = Self { warps: times(self.warps, warps).clamp(1, 16), ..self };
        if self.rows.is_none() {
            tile.block_columns = times(self.block_columns, elements).clamp(64, 8192);
        } else if !self.is_looped {
            let most = (LONGEST_ROW / self.block_columns).max(self.block_rows);
            tile.block_rows = times(self.block_rows, elements).clamp(1, most);
        } else if self.block_rows == 1 {
            tile.block_columns = times(self.block_columns, elements).clamp(256, LONGEST_ROW);
        }
        tile
    }

    /// Returns the number of programs.
    pub(crate) const fn programs(&self) -> i64 {
        match self.rows {
            Some(rows) => (rows + self.block_rows - 1) / self.block_rows,
            None => (self.columns + self.block_columns - 1) / self.block_columns,
        }
    }

    /// Returns the number of warps of a program.
    pub(crate) const fn warps(&self) -> i64 {
        self.warps
    }

    pub(crate) const fn is_flat(&self) -> bool {
        self.rows.is_none()
    }

    pub(crate) const fn has_row_mask(&self) -> bool {
        matches!(self.rows, Some(rows) if rows % self.block_rows != 0)
    }

    pub(crate) const fn has_column_mask(&self) -> bool {
        self.columns % self.block_columns != 0
    }
}

/// Returns whether a program goes along the rows of the stage in steps, and so reads them once per level.
pub(crate) fn is_looped(stage: &Stage, arena: &Arena) -> bool {
    Tile::of(stage, arena).is_looped
}

/// Returns whether all elements are one row, because the stage has no reductions.
pub(crate) fn is_flat(stage: &Stage) -> bool {
    let folds =
        |statements: &Vec<Statement>| statements.iter().any(|statement| matches!(statement, Statement::Reduce { .. }));
    !stage.segments.iter().any(|segment| segment.levels.iter().any(folds))
}

/// Returns whether neighbours in memory lie in neighbouring rows.
fn runs_across_rows(stage: &Stage, arena: &Arena) -> bool {
    let Some(column) = stage.segments.first().and_then(|segment| segment.innermost.var) else { return false };
    let rows: BTreeSet<Var> = stage.outer.iter().filter_map(|nest| nest.var).collect();
    let (mut along, mut across) = (0, 0);
    for id in arena.reachable(&roots(stage)) {
        if let Expr::Load { at, .. } = arena.get(id)
            && depends_on(at, &rows)
        {
            match coefficient(at, column) {
                Some(0) => {}
                Some(-1..=1) | None => along += 1,
                Some(_) => across += 1,
            }
        }
    }
    across > along
}

/// Returns the number of values that the stage loads for an element.
fn loads(stage: &Stage, arena: &Arena) -> i64 {
    arena.reachable(&roots(stage)).into_iter().filter(|&id| matches!(arena.get(id), Expr::Load { .. })).count() as i64
}

fn depends_on(index: &Index, vars: &BTreeSet<Var>) -> bool {
    let mut found = false;
    index.for_each_term(&mut |term| found |= matches!(term, Term::Var(var) if vars.contains(var)));
    found
}

/// Returns the least power of two that is not below a value.
pub(super) fn next_power(value: i64) -> i64 {
    value.max(1).unsigned_abs().next_power_of_two() as i64
}

/// Returns the largest power of two that is not above a value.
pub(super) fn prev_power(value: i64) -> i64 {
    let next = next_power(value);
    if next > value.max(1) { next / 2 } else { next }
}
