//! Triton for CUDA devices: one kernel per stage, whose programs each compute a tile of it.
//!
//! Values are tensors of the tile: `[rows, 1]`, `[1, columns]` or `[rows, columns]`, as the variables that they depend on
//! say. Divisions and roots are those of IEEE 754 and elementary functions those of libdevice, as in PyTorch's own kernels.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use passnet_record::DType;

use super::{
    size,
    tile::{self, Tile},
};
use crate::{
    expr::{Arena, Binary, Expr, ExprId, Fold, Kind, Unary},
    index::{Index, Term, Var},
    stage::{Action, Loop, Program, Stage},
    tensor::TensorId,
};

/// One launch.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Body of the function, with marks around sizes.
    pub(crate) body: String,
    /// Names of the buffers that it takes.
    pub(crate) buffers: Vec<String>,
    pub(crate) tile: Tile,
}

/// Functions that printed kernels use where they say so: NaN wins, as in PyTorch.
pub(crate) const LARGER: &str = "@triton.jit\ndef larger(a, b):\n    return tl.where((a > b) | (a != a), a, b)\n\n\n";
pub(crate) const SMALLER: &str = "@triton.jit\ndef smaller(a, b):\n    return tl.where((a < b) | (a != a), a, b)\n\n\n";

/// In libdevice as Triton links it, numbers below the smallest normal one are 0. PyTorch's kernels know them.
pub(crate) const INVERSE_ROOT: &str = "@triton.jit\ndef inverse_root(x):\n    tiny = x < 1.1754944e-38\n    \
    return libdevice.rsqrt(tl.where(tiny, x * 16777216.0, x)) * tl.where(tiny, 4096.0, 1.0)\n\n\n";
pub(crate) const LOGARITHM: &str = "@triton.jit\ndef logarithm(x):\n    tiny = x < 1.1754944e-38\n    \
    return libdevice.log(tl.where(tiny, x * 16777216.0, x)) - tl.where(tiny, 16.635532, 0.0)\n\n\n";

/// The kernels of a program, in order.
pub(crate) fn kernels(program: &Program) -> Vec<Kernel> {
    program.stages.iter().map(|stage| kernel(program, stage)).collect()
}

fn kernel(program: &Program, stage: &Stage) -> Kernel {
    let names = super::buffer_names(program);
    let tile = Tile::of(stage, &program.arena);
    let is_used = used_buffers(&program.arena, stage);
    let mut printer = Printer::new(program, stage, names.clone(), tile);
    printer.stage(stage);
    let buffers = names.into_iter().enumerate().filter(|(number, _)| is_used.contains(number)).map(|(_, name)| name);
    Kernel { body: printer.text, buffers: buffers.collect(), tile }
}

fn used_buffers(arena: &Arena, stage: &Stage) -> BTreeSet<usize> {
    let all = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    let mut used = BTreeSet::new();
    let mut roots = Vec::new();
    for action in all.chain(stage.per_row.iter().flatten()) {
        roots.push(action.value());
        if let Action::Store { buffer, at, .. } = action {
            used.insert(*buffer);
            super::order::for_each_value(at, &mut |value| roots.push(value));
        }
    }
    for id in arena.reachable(&roots) {
        if let Expr::Load { buffer, .. } = arena.get(id) {
            used.insert(*buffer);
        }
    }
    used
}

/// Directions of the tile that a value varies along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    rows: bool,
    columns: bool,
}

impl Extent {
    const fn and(self, other: Self) -> Self {
        Self { rows: self.rows || other.rows, columns: self.columns || other.columns }
    }
}

/// A condition under which values are loaded: number 0 is none.
#[derive(Clone, Debug)]
struct Condition {
    name: String,
    extent: Extent,
}

struct Printer<'p> {
    arena: &'p Arena,
    buffers: Vec<String>,
    tile: Tile,
    text: String,
    indent: usize,
    /// Values in scope, by the condition under which they were loaded.
    names: BTreeMap<(ExprId, usize), String>,
    conditions: Vec<Condition>,
    known_conditions: BTreeMap<(usize, ExprId, bool), usize>,
    uses: BTreeMap<ExprId, usize>,
    extents: BTreeMap<ExprId, Extent>,
    /// The loops over rows and along them, outermost first, with their variables in the text.
    rows: Vec<(Loop, String)>,
    columns: Vec<(Loop, String)>,
    folds: BTreeMap<TensorId, String>,
    count: usize,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program, stage: &Stage, buffers: Vec<String>, tile: Tile) -> Self {
        let arena = &program.arena;
        let innermost = stage.segments.first().map(|segment| &segment.innermost);
        let whole = if tile.is_flat() { "i" } else { "column" };
        let rows = named(stage.outer.iter(), "row", "i");
        let columns = named(stage.inner.iter().chain(innermost), whole, "j");
        let mut printer = Self {
            arena,
            buffers,
            tile,
            text: String::new(),
            indent: 1,
            names: BTreeMap::new(),
            conditions: vec![Condition { name: String::new(), extent: Extent::default() }],
            known_conditions: BTreeMap::new(),
            uses: tile::uses(arena, &tile::roots(stage)),
            extents: BTreeMap::new(),
            rows,
            columns,
            folds: BTreeMap::new(),
            count: 0,
        };
        // Operands come before users.
        for id in arena.reachable(&tile::roots(stage)) {
            let mut extent = Extent::default();
            arena.for_each_operand(id, &mut |operand| {
                extent = extent.and(printer.extents.get(&operand).copied().unwrap_or_default());
            });
            arena.for_each_index(id, &mut |index| extent = extent.and(printer.vars_of(index)));
            if matches!(arena.get(id), Expr::Reduced { .. }) {
                extent = Extent { rows: true, columns: false };
            }
            printer.extents.insert(id, extent);
        }
        printer
    }

    fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count - 1)
    }

    fn stage(&mut self, stage: &Stage) {
        let Tile { block_rows, block_columns, columns, is_looped, .. } = self.tile;
        let Some(rows) = self.tile.rows else {
            self.line(&format!("i = tl.program_id(0) * {0} + tl.arange(0, {0})", size(block_columns)));
            if self.tile.has_column_mask() {
                self.line(&format!("inside = i < {}", size(columns)));
            }
            for segment in &stage.segments {
                segment.levels.iter().flatten().for_each(|action| self.store(action));
            }
            return;
        };
        self.line(&format!("row = tl.program_id(0) * {0} + tl.arange(0, {0})[:, None]", size(block_rows)));
        if self.tile.has_row_mask() {
            self.line(&format!("in_rows = row < {}", size(rows)));
        }
        self.take_apart("row", &self.rows.clone());
        if !is_looped {
            self.line(&format!("column = tl.arange(0, {})[None, :]", size(block_columns)));
            self.column_mask();
        }
        for level in 0..stage.per_row.len() {
            let actions: Vec<&Action> =
                stage.segments.iter().flat_map(|segment| segment.levels.get(level).into_iter().flatten()).collect();
            if is_looped && !actions.is_empty() {
                self.looped(&actions);
            } else {
                actions.iter().for_each(|action| self.whole(action));
            }
            stage.per_row[level].iter().for_each(|action| self.store(action));
        }
    }

    fn column_mask(&mut self) {
        if self.tile.has_column_mask() {
            self.line(&format!("in_columns = column < {}", size(self.tile.columns)));
        }
        self.take_apart("column", &self.columns.clone());
    }

    /// The variables of several loops, from their position in row-major order.
    fn take_apart(&mut self, whole: &str, loops: &[(Loop, String)]) {
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

    /// A level along the whole row in steps.
    fn looped(&mut self, actions: &[&Action]) {
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

    /// Values that are computed whatever conditions say, operands first.
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
    fn whole(&mut self, action: &Action) {
        let Action::Fold { tensor, fold, kind, value } = action else { return self.store(action) };
        let value = self.masked(*value, *fold, *kind);
        let name = self.fresh(prefix(*fold));
        self.line(&format!("{name} = {}", across(*fold, &value)));
        self.folds.insert(*tensor, name);
    }

    /// The value where it is part of the row, else what changes no result; always of the tile's shape.
    fn masked(&mut self, id: ExprId, fold: Fold, kind: Kind) -> String {
        let is_whole = self.extents[&id].columns;
        let value = self.value(id, 0);
        if self.tile.has_column_mask() {
            return format!("tl.where(in_columns, {value}, {})", neutral(fold, kind));
        }
        if is_whole { value } else { format!("tl.where(column >= 0, {value}, {})", neutral(fold, kind)) }
    }

    fn store(&mut self, action: &Action) {
        let Action::Store { buffer, at, value, .. } = action else { return };
        let mut extent = self.vars_of(at);
        super::order::for_each_value(at, &mut |value| extent = extent.and(self.extents[&value]));
        // A pointer to one element would not go with a tile of one element.
        let value_extent = Extent { rows: self.tile.rows.is_some(), ..self.extents[value] };
        let value = self.value(*value, 0);
        let at = self.index(at, 0);
        let (at, mask) = self.place(&at, extent, value_extent, 0);
        let to = &self.buffers[*buffer];
        let value = value.strip_suffix(".to(tl.float32)").filter(|short| short.ends_with("16)")).unwrap_or(&value);
        let line = format!("tl.store({to} + {at}, {value}{})", mask.map_or(String::new(), |mask| format!(", {mask}")));
        self.line(&line);
    }

    /// An offset that varies at least along `wanted`, and the mask for it.
    fn place(&self, at: &str, extent: Extent, wanted: Extent, condition: usize) -> (String, Option<String>) {
        let condition = &self.conditions[condition];
        let all = extent.and(wanted).and(condition.extent);
        let mut at = if at.contains(' ') { format!("({at})") } else { at.to_owned() };
        let mut masks: Vec<&str> = Vec::new();
        if self.tile.rows.is_none() {
            if !extent.columns && all.columns {
                at.push_str(" + 0 * i");
            }
            if all.columns && self.tile.has_column_mask() {
                masks.push("inside");
            }
        } else {
            if !extent.rows && all.rows {
                at.push_str(" + 0 * row");
            }
            if !extent.columns && all.columns {
                at.push_str(" + 0 * column");
            }
            if all.rows && self.tile.has_row_mask() {
                masks.push("in_rows");
            }
            if all.columns && self.tile.has_column_mask() {
                masks.push("in_columns");
            }
        }
        if !condition.name.is_empty() {
            masks.push(&condition.name);
        }
        let mask = (!masks.is_empty()).then(|| masks.join(" & "));
        (at, mask)
    }

    fn vars_of(&self, index: &Index) -> Extent {
        let mut extent = Extent::default();
        index.for_each_term(&mut |term| {
            if let Term::Var(var) = term {
                extent.rows |= name_of(&self.rows, *var).is_some();
                extent.columns |= name_of(&self.columns, *var).is_some();
            }
        });
        extent
    }

    /// A value by its name, or as an expression in place; what is used often or long gets a name.
    fn value(&mut self, id: ExprId, condition: usize) -> String {
        let condition = if self.loads(id) { condition } else { 0 };
        if let Some(name) = self.names.get(&(id, condition)) {
            return name.clone();
        }
        let text = self.operation(id, condition);
        let is_trivial = matches!(
            self.arena.get(id),
            Expr::Float { .. } | Expr::Int(_) | Expr::Bool(_) | Expr::Extent { .. } | Expr::Reduced { .. }
        );
        let is_load = matches!(self.arena.get(id), Expr::Load { .. });
        let is_short = text.len() <= 64 && self.uses.get(&id).is_none_or(|&uses| uses <= 1);
        if is_trivial || (is_short && !is_load) {
            return text;
        }
        let name = self.fresh(if is_load { "x" } else { "v" });
        let text = if text.starts_with('(') && closes_at_end(&text) { &text[1..text.len() - 1] } else { &text };
        self.line(&format!("{name} = {text}"));
        self.names.insert((id, condition), name.clone());
        name
    }

    fn loads(&self, id: ExprId) -> bool {
        self.arena.reachable(&[id]).into_iter().any(|id| matches!(self.arena.get(id), Expr::Load { .. }))
    }

    /// `condition` and the value of `id` (or its opposite).
    fn narrowed(&mut self, condition: usize, id: ExprId, holds: bool) -> usize {
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
        let name = self.fresh("here");
        self.line(&format!("{name} = {text}"));
        let extent = outer.extent.and(self.extents[&id]);
        self.conditions.push(Condition { name, extent });
        let number = self.conditions.len() - 1;
        self.known_conditions.insert((condition, id, holds), number);
        number
    }

    fn operation(&mut self, id: ExprId, condition: usize) -> String {
        let arena = self.arena;
        let kind = arena.kind(id);
        match arena.get(id) {
            Expr::Float { bits, kind } => float_literal(f64::from_bits(*bits), *kind),
            Expr::Int(value) => value.to_string(),
            Expr::Bool(value) => (if *value { "True" } else { "False" }).to_owned(),
            Expr::Extent { value, .. } => size(*value),
            Expr::Load { buffer, dtype, at } => {
                let mut extent = self.vars_of(at);
                super::order::for_each_value(at, &mut |value| extent = extent.and(self.extents[&value]));
                let at = self.index(at, condition);
                let (at, mask) = self.place(&at, extent, Extent::default(), condition);
                let from = &self.buffers[*buffer];
                let mask = mask.map_or(String::new(), |mask| format!(", {mask}, 0"));
                let load = format!("tl.load({from} + {at}{mask})");
                match dtype {
                    DType::Float16 | DType::BFloat16 => format!("{load}.to(tl.float32)"),
                    DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8 => format!("{load}.to(tl.int64)"),
                    DType::Bool => format!("({load} != 0)"),
                    _ => load,
                }
            }
            Expr::Position(index) => format!("({}).to(tl.int64)", self.index(index, condition)),
            Expr::InRange { index, low, high } => {
                let index = self.index(index, condition);
                let index = if index.contains(' ') { format!("({index})") } else { index };
                match (*low == i64::MIN, *high == i64::MAX) {
                    (true, _) => format!("({index} < {})", size(*high)),
                    (false, true) => format!("({index} >= {})", size(*low)),
                    (false, false) => format!("(({index} >= {}) & ({index} < {}))", size(*low), size(*high)),
                }
            }
            Expr::Unary(op, a) => {
                let a = self.value(*a, condition);
                unary(*op, &a, kind)
            }
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b, condition),
            Expr::Select(test, a, b) => {
                let (test, a, b) = (self.value(*test, condition), self.value(*a, condition), self.value(*b, condition));
                format!("tl.where({test}, {a}, {b})")
            }
            Expr::Guard(test, a, b) => {
                let side = |printer: &mut Self, id: ExprId, holds: bool| {
                    let at = if printer.loads(id) { printer.narrowed(condition, *test, holds) } else { condition };
                    printer.value(id, at)
                };
                let (then, otherwise) = (side(self, *a, true), side(self, *b, false));
                let test = self.value(*test, condition);
                format!("tl.where({test}, {then}, {otherwise})")
            }
            Expr::Convert(a, Kind::Bool) => format!("({} != 0)", self.value(*a, condition)),
            Expr::Convert(a, to) => format!("{}.to({})", self.value(*a, condition), kind_type(*to)),
            Expr::Round(a, dtype) => {
                format!("{}.to({}).to({})", self.value(*a, condition), storage_type(*dtype), kind_type(kind))
            }
            Expr::Reduced { tensor, .. } => self.folds.get(tensor).cloned().unwrap_or_default(),
        }
    }

    fn binary(&mut self, op: Binary, a: ExprId, b: ExprId, condition: usize) -> String {
        let kind = self.arena.kind(a);
        let one = Expr::Float { bits: 1.0_f64.to_bits(), kind };
        if let (Binary::Div, Expr::Unary(Unary::Sqrt, x)) = (op, self.arena.get(b))
            && *self.arena.get(a) == one
        {
            // With something added, as normalisations do, no operand is that small.
            let is_sum = matches!(self.arena.get(*x), Expr::Binary(Binary::Add, ..));
            let function = if is_sum { "libdevice.rsqrt" } else { "inverse_root" };
            return format!("{function}({})", self.value(*x, condition));
        }
        let (first, second) = (self.value(a, condition), self.value(b, condition));
        let sign = match op {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            // PyTorch's CUDA kernels multiply by the inverse of a constant.
            Binary::Div => {
                return match (self.arena.get(b), kind) {
                    (Expr::Extent { .. }, _) => format!("({first} * (1.0 / {second}))"),
                    (Expr::Float { bits, .. }, _) => {
                        let divisor = f64::from_bits(*bits);
                        let inverse = if kind == Kind::F32 { f64::from(1.0 / divisor as f32) } else { 1.0 / divisor };
                        format!("({first} * {})", float_literal(inverse, kind))
                    }
                    (_, Kind::F32) => format!("tl.div_rn({first}, {second})"),
                    _ => format!("({first} / {second})"),
                };
            }
            Binary::Pow => return format!("libdevice.pow({first}, {second})"),
            Binary::Max if kind.is_float() => return format!("larger({first}, {second})"),
            Binary::Min if kind.is_float() => return format!("smaller({first}, {second})"),
            Binary::Max => return format!("tl.maximum({first}, {second})"),
            Binary::Min => return format!("tl.minimum({first}, {second})"),
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
        };
        format!("({first} {sign} {second})")
    }

    fn index(&mut self, index: &Index, condition: usize) -> String {
        let mut text = String::new();
        for (term, factor) in index.terms() {
            let term = match term {
                Term::Var(var) => name_of(&self.rows, *var).or(name_of(&self.columns, *var)).unwrap_or("0").to_owned(),
                Term::Div(inner, by) => format!("({}) // {}", self.index(inner, condition), size(*by)),
                Term::Mod(inner, by) => format!("({}) % {}", self.index(inner, condition), size(*by)),
                Term::Value { expr, wrap: 0 } => self.value(*expr, condition),
                Term::Value { expr, wrap } => {
                    let value = self.value(*expr, condition);
                    format!("tl.where({value} < 0, {value} + {}, {value})", size(*wrap))
                }
            };
            let term = term.replace("(row)", "row").replace("(column)", "column").replace("(i)", "i");
            if !text.is_empty() {
                text.push_str(" + ");
            }
            let _ = match factor {
                1 => write!(text, "{term}"),
                _ if term.contains(' ') => write!(text, "({term}) * {}", size(*factor)),
                _ => write!(text, "{term} * {}", size(*factor)),
            };
        }
        match (index.constant_part(), text.is_empty()) {
            (0, false) => {}
            (constant, true) => text = if constant == 0 { "0".to_owned() } else { size(constant) },
            (constant, false) => {
                let _ = write!(text, " + {}", size(constant));
            }
        }
        text
    }
}

/// Names of loops: `whole` for the only one, else numbered.
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

/// Whether the first bracket of the text closes at its end.
fn closes_at_end(text: &str) -> bool {
    let mut depth = 0;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place + 1 == text.len();
        }
    }
    false
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

const fn neutral(fold: Fold, kind: Kind) -> &'static str {
    match (fold, kind.is_float()) {
        (Fold::Sum, true) => "0.0",
        (Fold::Sum, false) => "0",
        (Fold::Max, true) => "float(\"-inf\")",
        (Fold::Min, true) => "float(\"inf\")",
        (Fold::Max, false) => "-9223372036854775808",
        (Fold::Min, false) => "9223372036854775807",
    }
}

const fn kind_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "tl.int1",
        Kind::I64 => "tl.int64",
        Kind::F32 => "tl.float32",
        Kind::F64 => "tl.float64",
    }
}

const fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "tl.float64",
        DType::Float32 => "tl.float32",
        DType::Float16 => "tl.float16",
        DType::BFloat16 => "tl.bfloat16",
        DType::Int64 => "tl.int64",
        DType::Int32 => "tl.int32",
        DType::Int16 => "tl.int16",
        DType::Int8 => "tl.int8",
        DType::UInt8 => "tl.uint8",
        // Complex numbers are never scheduled.
        DType::Bool | DType::Complex64 | DType::Complex128 => "tl.int1",
    }
}

fn unary(op: Unary, a: &str, kind: Kind) -> String {
    let function = match op {
        Unary::Neg => return format!("(-{a})"),
        Unary::Not => return format!("(~{a})"),
        Unary::Abs => "tl.abs",
        Unary::Exp => "libdevice.exp",
        Unary::Log => "logarithm",
        Unary::Sqrt if kind == Kind::F32 => "tl.sqrt_rn",
        Unary::Sqrt => "libdevice.sqrt",
        Unary::Sin => "libdevice.sin",
        Unary::Cos => "libdevice.cos",
        Unary::Tanh => "libdevice.tanh",
        Unary::Erf => "libdevice.erf",
        Unary::Floor => "libdevice.floor",
        Unary::Ceil => "libdevice.ceil",
        Unary::Trunc => "libdevice.trunc",
    };
    format!("{function}({a})")
}

fn float_literal(value: f64, kind: Kind) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        };
        return format!("float(\"{name}\")");
    }
    match kind {
        Kind::F32 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    }
}
