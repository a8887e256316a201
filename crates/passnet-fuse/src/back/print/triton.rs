//! Triton for CUDA devices: one kernel per stage, whose programs each compute a tile of it.
//!
//! Values are tensors of the tile: `[rows, 1]`, `[1, columns]` or `[rows, columns]`, depending on their variables. Divisions
//! and roots follow IEEE 754, and elementary functions come from libdevice, as in PyTorch's own kernels.

mod contraction;
mod extent;
mod fold;
mod index;
mod mask;
mod places;
mod types;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::{DType, Tiles};

use self::{
    extent::{Extent, LoadCondition},
    places::Places,
};
use super::{bounds::harmless, size, summed};
use crate::{
    front::{
        arena::Arena,
        expr::{Expr, ExprId, for_each_value},
        index::Var,
        tensor::TensorId,
    },
    plan::{
        contraction::Contraction,
        stage::{Loop, OperationNames, Program, Stage, Statement, roots},
        tile::Tile,
    },
};

/// A kernel, which is launched once in each call.
#[derive(Clone, Debug)]
pub(crate) struct TritonKernel {
    /// Body of the function, with marks around sizes.
    pub(crate) body: String,
    /// Names of the buffers that it takes.
    pub(crate) buffers: Vec<String>,
    pub(crate) programs: i64,
    pub(crate) warps: i64,
}

/// Function that returns the larger of two values. NaN wins, as in PyTorch. A file contains this function, and each of those
/// below, only if its kernels call it.
pub(crate) const LARGER: &str = "@triton.jit\ndef larger(a, b):\n    return tl.where((a > b) | (a != a), a, b)\n\n\n";
pub(crate) const SMALLER: &str = "@triton.jit\ndef smaller(a, b):\n    return tl.where((a < b) | (a != a), a, b)\n\n\n";

/// Function that returns the part of a `float32` that TF32 keeps. Nothing would be kept of a subnormal number, so the result gets
/// the exponent of the smallest normal number.
pub(crate) const LEADING: &str = "@triton.jit\ndef leading(x):\n    \
    exponent = tl.where((tl.abs(x) < 1.1754944e-38) & (x != 0), 0x00800000, 0)\n    \
    return ((x.to(tl.int32, bitcast=True) & -8192) | exponent).to(tl.float32, bitcast=True)\n\n\n";

/// Function that returns the inverse square root. Triton's libdevice treats subnormal numbers as 0; this function and PyTorch's
/// kernels do not.
pub(crate) const INVERSE_ROOT: &str = "@triton.jit\ndef inverse_root(x):\n    tiny = x < 1.1754944e-38\n    \
    return libdevice.rsqrt(tl.where(tiny, x * 16777216.0, x)) * tl.where(tiny, 4096.0, 1.0)\n\n\n";
pub(crate) const LOGARITHM: &str = "@triton.jit\ndef logarithm(x):\n    tiny = x < 1.1754944e-38\n    \
    return libdevice.log(tl.where(tiny, x * 16777216.0, x)) - tl.where(tiny, 16.635532, 0.0)\n\n\n";

/// Function that returns `exp(x) - 1`. Like the function for `log(1 + x)`, it returns a subnormal number as it is.
pub(crate) const POWER_MINUS_1: &str = "@triton.jit\ndef power_minus_1(x):\n    \
    return tl.where(tl.abs(x) < 1.1754944e-38, x, libdevice.expm1(x))\n\n\n";
pub(crate) const LOGARITHM_OF_1_PLUS: &str = "@triton.jit\ndef logarithm_of_1_plus(x):\n    \
    return tl.where(tl.abs(x) < 1.1754944e-38, x, libdevice.log1p(x))\n\n\n";

/// Returns the kernels of a program, in order.
pub(crate) fn kernels(program: &Program, config: Tiles) -> Vec<TritonKernel> {
    program.stages.iter().map(|stage| kernel(program, stage, config)).collect()
}

fn kernel(program: &Program, stage: &Stage, config: Tiles) -> TritonKernel {
    let names = super::buffer_names(program);
    let is_used = used_buffers(&program.arena, stage);
    let own: Vec<(String, DType)> =
        is_used.iter().map(|&number| (names[number].clone(), program.buffers[number].dtype)).collect();
    let tile = Tile::of(stage, &program.arena).with(config);
    let mut printer = TritonPrinter::new(program, stage, names, tile);
    if let Some(contraction) = Contraction::of(stage, &program.arena).filter(|_| stage.is_product) {
        printer.contraction(stage, &contraction);
        return TritonKernel::new(&printer.text, own, contraction.programs(), contraction.warps);
    }
    printer.stage(stage);
    TritonKernel::new(&printer.text, own, tile.programs(), tile.warps())
}

impl TritonKernel {
    /// Returns a kernel that takes half types from its pointers. One kernel then serves both half types if nothing else differs.
    fn new(body: &str, buffers: Vec<(String, DType)>, programs: i64, warps: i64) -> Self {
        let mut body = body.to_owned();
        // Half types are numbered by their first appearance, so that one text serves kernels in which the two are exchanged.
        let mut halves: Vec<(&str, DType)> = Vec::new();
        for (buffer, dtype) in &buffers {
            let is_half = matches!(dtype, DType::Float16 | DType::BFloat16);
            if is_half && halves.iter().all(|(_, known)| known != dtype) {
                halves.push((buffer, *dtype));
            }
        }
        // The type need not be part of the text, because Triton compiles a kernel again for each type of its pointers.
        for (name, (buffer, half)) in ["half", "other_half"].into_iter().zip(halves) {
            let text = types::storage_type(half);
            if body.contains(text) {
                body = format!("    {name} = {buffer}.dtype.element_ty\n{}", body.replace(text, name));
            }
        }
        Self { body, buffers: buffers.into_iter().map(|(name, _)| name).collect(), programs, warps }
    }
}

fn used_buffers(arena: &Arena, stage: &Stage) -> BTreeSet<usize> {
    let all = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    let mut used = BTreeSet::new();
    let mut roots = Vec::new();
    for statement in all.chain(stage.per_row.iter().flatten()) {
        roots.push(statement.value());
        if let Statement::Store { buffer, at, .. } = statement {
            used.insert(*buffer);
            for_each_value(at, &mut |value| roots.push(value));
        }
    }
    for id in arena.reachable(&roots) {
        if let Expr::Load { buffer, .. } = arena.get(id) {
            used.insert(*buffer);
        }
    }
    used
}

struct TritonPrinter<'p> {
    arena: &'p Arena,
    buffers: Vec<String>,
    tile: Tile,
    text: String,
    indent: usize,
    /// Values in scope, by the condition under which they were loaded.
    names: BTreeMap<(ExprId, usize), String>,
    conditions: Vec<LoadCondition>,
    known_conditions: BTreeMap<(usize, ExprId, bool), usize>,
    /// All values that the stage stores or reduces.
    roots: Vec<ExprId>,
    uses: BTreeMap<ExprId, usize>,
    /// Rounded values that are operands of a sum or a difference.
    summed: BTreeSet<ExprId>,
    extents: BTreeMap<ExprId, Extent>,
    /// The loops over rows and along them, outermost first, with their variables in the text.
    rows: Vec<(Loop, String)>,
    columns: Vec<(Loop, String)>,
    /// Loops in which a program has one position.
    fixed: Vec<(Loop, String)>,
    axes: TileNames,
    places: Places,
    folds: BTreeMap<TensorId, String>,
    /// Directions along which results of reductions vary.
    folded: Extent,
    count: usize,
    operations: &'p OperationNames,
    /// Values that read nothing outside of a buffer, under any condition.
    harmless: BTreeSet<ExprId>,
    checks_indices: bool,
}

/// Names of the positions in a tile, and of the masks of those inside.
#[derive(Clone, Copy, Debug)]
struct TileNames {
    row: &'static str,
    column: &'static str,
    in_rows: &'static str,
    in_columns: &'static str,
}

const TILE_NAMES: TileNames = TileNames { row: "row", column: "column", in_rows: "in_rows", in_columns: "in_columns" };

impl<'p> TritonPrinter<'p> {
    fn new(program: &'p Program, stage: &Stage, buffers: Vec<String>, tile: Tile) -> Self {
        let arena = &program.arena;
        let innermost = stage.segments.first().map(|segment| &segment.innermost);
        let whole = if tile.is_flat() { "i" } else { "column" };
        let rows = named(stage.outer.iter(), "row", "i");
        let columns = named(stage.inner.iter().chain(innermost), whole, "j");
        let mut printer = Self {
            fixed: Vec::new(),
            axes: TILE_NAMES,
            places: Places::of(arena, stage, &roots(stage)),
            folded: Extent { rows: true, columns: false },
            arena,
            buffers,
            tile,
            text: String::new(),
            indent: 1,
            names: BTreeMap::new(),
            conditions: vec![LoadCondition::default()],
            known_conditions: BTreeMap::new(),
            roots: roots(stage),
            uses: uses(arena, &roots(stage)),
            summed: summed(arena, &roots(stage)),
            extents: BTreeMap::new(),
            rows,
            columns,
            folds: BTreeMap::new(),
            count: 0,
            operations: &program.operations,
            harmless: harmless(program, stage),
            checks_indices: program.checks_indices,
        };
        printer.find_extents(&roots(stage));
        for id in arena.reachable(&roots(stage)) {
            if let &Expr::Round(product, DType::Float32) = arena.get(id)
                && !printer.summed.contains(&id)
            {
                // The rounding is not printed, so each further use of it is a use of the product.
                let uses = printer.uses.get(&id).copied().unwrap_or_default();
                *printer.uses.entry(product).or_default() += uses.saturating_sub(1);
            }
        }
        printer
    }

    /// Finds the directions along which values vary.
    fn find_extents(&mut self, roots: &[ExprId]) {
        let arena = self.arena;
        // Operands come before users.
        for id in arena.reachable(roots) {
            let mut extent = Extent::default();
            arena.for_each_operand(id, &mut |operand| {
                extent = extent.and(self.extents.get(&operand).copied().unwrap_or_default());
            });
            arena.for_each_index(id, &mut |index| extent = extent.and(self.vars_of(index)));
            if matches!(arena.get(id), Expr::Reduced { .. }) {
                extent = self.folded;
            }
            self.extents.insert(id, extent);
        }
    }

    fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn comment(&mut self, comment: Option<String>) {
        if let Some(comment) = comment {
            self.line(&format!("# {comment}"));
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count - 1)
    }

    /// Prints a line that gives a value a new name, and returns the name.
    fn fresh_line(&mut self, prefix: &str, value: &str) -> String {
        let name = self.fresh(prefix);
        self.line(&format!("{name} = {value}"));
        name
    }

    fn stage(&mut self, stage: &Stage) {
        let Tile { block_rows, block_columns, columns, is_looped, .. } = self.tile;
        let Some(rows) = self.tile.rows else {
            self.line(&format!("i = tl.program_id(0) * {0} + tl.arange(0, {0})", size(block_columns)));
            if self.tile.has_column_mask() {
                self.line(&format!("inside = i < {}", size(columns)));
            }
            for segment in &stage.segments {
                segment.levels.iter().flatten().for_each(|statement| self.store(statement));
            }
            return;
        };
        self.line(&format!("row = tl.program_id(0) * {0} + tl.arange(0, {0})[:, None]", size(block_rows)));
        if self.tile.has_row_mask() {
            self.line(&format!("in_rows = row < {}", size(rows)));
        }
        self.split_position("row", &self.rows.clone());
        if !is_looped {
            self.line(&format!("column = tl.arange(0, {})[None, :]", size(block_columns)));
            self.column_mask();
        }
        for level in 0..stage.per_row.len() {
            let statements: Vec<&Statement> =
                stage.segments.iter().flat_map(|segment| segment.levels.get(level).into_iter().flatten()).collect();
            if is_looped && !statements.is_empty() {
                self.looped(&statements);
            } else {
                statements.iter().for_each(|statement| self.whole(statement));
            }
            stage.per_row[level].iter().for_each(|statement| self.store(statement));
        }
    }

    fn column_mask(&mut self) {
        if self.tile.has_column_mask() {
            self.line(&format!("in_columns = column < {}", size(self.tile.columns)));
        }
        self.split_position("column", &self.columns.clone());
    }

    /// The variables of several loops, from their position in row-major order.
    fn split_position(&mut self, whole: &str, loops: &[(Loop, String)]) {
        if loops.len() < 2 {
            return;
        }
        let mut below: i64 = loops.iter().map(|(nest, _)| nest.extent).product();
        for (place, (nest, name)) in loops.iter().enumerate() {
            below /= nest.extent;
            let quotient = if below == 1 { whole.to_owned() } else { format!("{whole} // {}", size(below)) };
            let remainder = if place == 0 { String::new() } else { format!(" % {}", size(nest.extent)) };
            self.line(&format!("{name} = {quotient}{remainder}"));
        }
    }

    fn store(&mut self, statement: &Statement) {
        let Statement::Store { buffer, at, value, .. } = statement else { return };
        let mut extent = self.vars_of(at);
        for_each_value(at, &mut |value| extent = extent.and(self.extents[&value]));
        // A pointer to one element does not have the shape of a tile of one element.
        let value_extent = Extent { rows: self.tile.rows.is_some(), ..self.extents[value] };
        let value = self.value(*value, 0);
        let at = self.index(at, 0);
        let (at, mask) = self.place(at, extent, value_extent, 0);
        let to = &self.buffers[*buffer];
        // A value that was just rounded to a half type is stored directly, without a conversion to `float32` and back.
        let value = value.strip_suffix(".to(tl.float32)").filter(|short| short.ends_with("16)")).unwrap_or(&value);
        let line = format!("tl.store({to} + {at}, {value}{})", mask.map_or(String::new(), |mask| format!(", {mask}")));
        self.comment(self.operations.of_store(*buffer));
        self.line(&line);
    }
}

/// Returns the names of loops: `whole` for the only one, else numbered.
fn named<'l>(loops: impl Iterator<Item = &'l Loop>, whole: &str, prefix: &str) -> Vec<(Loop, String)> {
    let mut named: Vec<(Loop, String)> =
        loops.enumerate().map(|(place, nest)| (nest.clone(), format!("{prefix}{place}"))).collect();
    if let [(_, only)] = named.as_mut_slice() {
        whole.clone_into(only);
    }
    named
}

fn name_of(loops: &[(Loop, String)], var: Var) -> Option<&str> {
    loops.iter().find(|(nest, _)| nest.var == Some(var)).map(|(_, name)| name.as_str())
}

/// Returns the number of times that each value is an operand, among the values that the roots are computed from.
fn uses(arena: &Arena, roots: &[ExprId]) -> BTreeMap<ExprId, usize> {
    let mut uses: BTreeMap<ExprId, usize> = BTreeMap::new();
    for &root in roots {
        *uses.entry(root).or_default() += 1;
    }
    for id in arena.reachable(roots) {
        arena.for_each_operand(id, &mut |operand| *uses.entry(operand).or_default() += 1);
    }
    uses
}
