//! C++ for CPUs: one function per program, its loops ready for the compiler's vectoriser.

mod columns;
mod contraction;
mod copies;
mod division;
pub(crate) mod functions;
mod lanes;
pub(crate) mod preamble;
mod running;
mod share;
mod statement;
mod steps;
mod tail;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::{DType, Nests};

use self::{contraction::Contractions, copies::plain_copies, division::Division, tail::Tail};
use super::{buffer_names, order::ValueDepths, size, summed};
use crate::{
    front::{
        arena::Arena,
        expr::{BufferId, Expr, ExprId, ReduceOp, ValueKind},
        index::{Index, Var, coefficient},
        tensor::TensorId,
    },
    plan::{
        running::RunningSums,
        stage::{Buffer, Loop, Program, Role, Segment, Stage, Statement, roots},
    },
};

/// Accumulators of a sum of `float`, chosen by the number of elements in a row; `vectors.hpp` implements them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sums {
    /// One accumulator, for a short row: joining four would take as long as the row.
    Plain,
    /// Four accumulators that take the elements in turn, as in PyTorch.
    Turns,
    /// Four accumulators whose sums are joined every few steps.
    Cascade,
}

impl Sums {
    /// Returns the accumulators for a row. A step takes 32 elements, and sums of 16 steps are joined.
    const fn of_row(elements: i64) -> Self {
        match elements {
            ..128 => Self::Plain,
            128..512 => Self::Turns,
            _ => Self::Cascade,
        }
    }
}

/// Returns names and types of the parameters, without the parameter for the row of the table.
pub(crate) fn parameters(program: &Program) -> Vec<String> {
    let names = buffer_names(program);
    let constness = |role: &Role| if *role == Role::Input { "const " } else { "" };
    let parameter = |(buffer, name): (&Buffer, &String)| {
        format!("{}{}* {name}", constness(&buffer.role), storage_type(buffer.dtype))
    };
    program.buffers.iter().zip(&names).map(parameter).collect()
}

impl<'p> CppPrinter<'p> {
    fn new(program: &'p Program, config: Nests) -> Self {
        Self {
            program,
            config,
            buffers: buffer_names(program),
            text: String::new(),
            indent: 1,
            names: BTreeMap::new(),
            summed: BTreeSet::new(),
            contractions: Contractions::default(),
            conditions: BTreeSet::new(),
            copies: BTreeSet::new(),
            vars: BTreeMap::new(),
            folds: BTreeMap::new(),
            count: 0,
            lanes: None,
            in_whole_step: false,
            left_of: None,
            sums: Sums::Plain,
            rows: BTreeMap::new(),
            filled: BTreeSet::new(),
            is_across: false,
            is_partial: false,
            parts: 1,
            is_sliced: false,
            commented: BTreeSet::new(),
        }
    }
}

/// Returns the type of the elements in memory.
fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "double",
        DType::Float32 => "float",
        DType::Float16 => "float16",
        DType::BFloat16 => "bfloat16",
        DType::Int64 => "int64_t",
        DType::Int32 => "int32_t",
        DType::Int16 => "int16_t",
        DType::Int8 => "int8_t",
        // Complex numbers are never scheduled, so any type is correct for them.
        DType::UInt8 | DType::Bool | DType::Complex64 | DType::Complex128 => "uint8_t",
    }
}

/// Returns the conditions of guards.
fn conditions(arena: &Arena, roots: &[ExprId]) -> BTreeSet<ExprId> {
    let condition = |id: ExprId| match *arena.get(id) {
        Expr::Guard(condition, ..) => Some(condition),
        _ => None,
    };
    arena.reachable(roots).into_iter().filter_map(condition).collect()
}

const fn kind_type(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Bool => "bool",
        ValueKind::I64 => "int64_t",
        ValueKind::F32 => "float",
        ValueKind::F64 => "double",
    }
}

struct CppPrinter<'p> {
    program: &'p Program,
    config: Nests,
    buffers: Vec<String>,
    text: String,
    indent: usize,
    /// Names of the variables in scope, by the value that each holds.
    names: BTreeMap<ExprId, String>,
    /// Rounded products that something is added to.
    summed: BTreeSet<ExprId>,
    contractions: Contractions,
    /// Conditions of guards, which are hidden from the compiler's optimisations.
    conditions: BTreeSet<ExprId>,
    vars: BTreeMap<Var, String>,
    folds: BTreeMap<TensorId, String>,
    count: usize,
    /// Loads that are stored as they are, without a conversion.
    copies: BTreeSet<ExprId>,
    /// Set while a vectorised loop is printed: its variable, and the values that vary with the variable.
    lanes: Option<(Var, BTreeSet<ExprId>)>,
    /// True while the loop is printed that takes whole steps of sums or extremes.
    in_whole_step: bool,
    /// Length of the row, while the elements after the whole steps of sums are printed.
    left_of: Option<String>,
    sums: Sums,
    /// Values that are kept for later levels, with the array that holds each.
    rows: BTreeMap<ExprId, String>,
    filled: BTreeSet<ExprId>,
    /// True while a stage is printed [across its rows](columns).
    is_across: bool,
    /// True while the last lanes of a row are printed. Only the first `left` lanes count.
    is_partial: bool,
    /// Number of parts into which the function's work is divided. With more than one, the function has the parameters `begin` and
    /// `end`.
    parts: i64,
    /// True while a stage is printed whose innermost loops are divided.
    is_sliced: bool,
    /// Buffers whose store has a comment.
    commented: BTreeSet<BufferId>,
}

impl CppPrinter<'_> {
    fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn comment(&mut self, comment: Option<String>) {
        if let Some(comment) = comment {
            self.line(&format!("// {comment}"));
        }
    }

    fn open(&mut self, nest: &Loop, name: &str) {
        match nest.var {
            // Indices are 64-bit numbers: sums of products of 32-bit numbers could overflow on large tensors.
            Some(var) => {
                self.vars.insert(var, name.to_owned());
                self.line(&format!("for (int64_t {name} = 0; {name} < {}; ++{name}) {{", size(nest.extent)));
            }
            None => self.line("{"),
        }
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn stage(&mut self, stage: &Stage, share: Division) {
        self.names.clear();
        self.rows.clear();
        self.filled.clear();
        self.summed = summed(&self.program.arena, &roots(stage));
        self.contractions = Contractions::of(&self.program.arena, &roots(stage));
        self.conditions = conditions(&self.program.arena, &roots(stage));
        self.copies = plain_copies(&self.program.arena, stage);
        self.sums = self.sums_of(stage);
        let all: Vec<&Statement> = stage
            .segments
            .iter()
            .flat_map(|segment| segment.levels.iter().flatten())
            .chain(stage.per_row.iter().flatten())
            .collect();
        let sums = all.iter().filter(|statement| matches!(statement, Statement::Reduce { fold: ReduceOp::Sum, .. }));
        self.summed.extend(sums.map(|statement| statement.value()));
        if let Some(running) = RunningSums::of(stage, &self.program.arena) {
            return self.running_rows(stage, &running, share);
        }
        if let Some(across) = self.across(stage) {
            return self.across_rows(stage, &across, share);
        }
        let order = ValueDepths::new(self.program, stage);
        // Only values that every element needs are computed early. A value behind a guard may read memory that does not
        // exist if the condition is false.
        let certain = order.certain(&all);
        let at = |depth: usize, after: usize| {
            let order = &order;
            certain.iter().copied().filter(move |&id| {
                let place = order.place(id);
                place.depth == depth && place.after == after
            })
        };
        let rows = stage.outer.len();
        self.define(&at(0, 0).collect::<Vec<_>>());
        let together = if let Division::Rows { depth, .. } = share { depth } else { 0 };
        self.open_together(&stage.outer[..together], None);
        self.define(&(1..=together).flat_map(|depth| at(depth, 0)).collect::<Vec<_>>());
        for (depth, nest) in stage.outer.iter().enumerate().skip(together) {
            self.open(nest, &format!("i{depth}"));
            self.define(&at(depth + 1, 0).collect::<Vec<_>>());
        }
        self.keep_rows(stage, &order);
        for level in 0..stage.per_row.len() {
            if level > 0 {
                self.define(&at(rows, level).collect::<Vec<_>>());
            }
            self.level(stage, level, &order);
            if !stage.per_row[level].is_empty() {
                self.define(&at(rows, level + 1).collect::<Vec<_>>());
                for statement in &stage.per_row[level] {
                    self.act(statement);
                }
            }
        }
        for _ in 0..rows - together + together.min(1) {
            self.close();
        }
    }

    fn sums_of(&self, stage: &Stage) -> Sums {
        let arena = &self.program.arena;
        let vars: Vec<Var> = stage.segments.iter().filter_map(|segment| segment.innermost.var).collect();
        let is_row = |at: &Index| vars.iter().all(|&var| matches!(coefficient(at, var), Some(0 | 1)));
        let is_strided = |id: ExprId| matches!(arena.get(id), Expr::Load { at, .. } if !is_row(at));
        if arena.reachable(&roots(stage)).into_iter().any(is_strided) {
            // PyTorch adds in another order then, and gathering elements for four registers takes longer than for one.
            return Sums::Plain;
        }
        let inner: i64 = stage.inner.iter().map(|nest| nest.extent).product();
        let along: i64 = stage.segments.iter().map(|segment| segment.innermost.extent).sum();
        Sums::of_row(inner * along)
    }

    fn level(&mut self, stage: &Stage, level: usize, order: &ValueDepths<'_>) {
        let Some(first) = stage.segments.first() else { return };
        for statement in &first.levels[level] {
            if let Statement::Reduce { tensor, fold, kind, .. } = statement {
                self.declare_fold(*tensor, *fold, *kind);
            }
        }
        // The pieces of a row may have their stores on different levels: a constant needs no reduction.
        if stage.segments.iter().all(|segment| segment.levels[level].is_empty()) {
            return;
        }
        let rows = stage.outer.len();
        for (place, nest) in stage.inner.iter().enumerate() {
            self.open(nest, &format!("j{place}"));
            let statements: Vec<&Statement> =
                stage.segments.iter().flat_map(|segment| &segment.levels[level]).collect();
            let here: Vec<ExprId> = order
                .certain(&statements)
                .into_iter()
                .filter(|&id| order.place(id).depth == rows + place + 1)
                .collect();
            self.define(&here);
        }
        let outside = self.names.clone();
        for segment in stage.segments.iter().filter(|segment| !segment.levels[level].is_empty()) {
            self.segment(stage, segment, level, order);
            self.names.clone_from(&outside);
        }
        for _ in &stage.inner {
            self.close();
        }
        self.names.retain(|&id, _| order.place(id).depth <= rows);
        for statement in &first.levels[level] {
            self.finish_fold(statement, stage);
        }
    }

    fn segment(&mut self, stage: &Stage, segment: &Segment, level: usize, order: &ValueDepths<'_>) {
        let innermost = stage.outer.len() + stage.inner.len() + 1;
        let statements: Vec<&Statement> = segment.levels[level].iter().collect();
        let varies = |id: &ExprId| order.place(*id).depth >= innermost;
        let here: Vec<ExprId> = order
            .certain_beyond(&statements, &|id| self.rows.contains_key(&id) && self.filled.contains(&id))
            .into_iter()
            .filter(varies)
            .collect();
        let (mut start, end) = self.open_slice(segment.innermost.extent);
        let mut ends_in_lanes = false;
        let outside = self.names.clone();
        if let Some(var) = segment.innermost.var
            && let Some(varying) = self.vectorised(segment, level, &varies)
        {
            self.vars.insert(var, "k".to_owned());
            self.line("{");
            self.indent += 1;
            self.line(&format!("int64_t k = {start};"));
            self.lanes = Some((var, varying));
            self.vector_loop(stage, &end, &here, &statements);
            let tail = self.tail(segment, &here, &statements);
            if tail != Tail::OneByOne {
                self.names.clone_from(&outside);
                self.print_tail(tail, &end, &here, &statements);
                ends_in_lanes = true;
            }
            self.lanes = None;
            start = "k";
            self.names.clone_from(&outside);
        }
        self.filled.extend(here.iter().filter(|_| ends_in_lanes));
        if ends_in_lanes {
            self.left_of = None;
            self.close();
            return self.close_slice();
        }
        match (segment.innermost.var, start) {
            (Some(_), "k") => self.line(&format!("for (; k < {end}; ++k) {{")),
            (Some(var), _) => {
                self.vars.insert(var, "k".to_owned());
                self.line(&format!("for (int64_t k = {start}; k < {end}; ++k) {{"));
            }
            (None, _) if self.is_sliced => self.line("if (from < to) {"),
            (None, _) => self.line("{"),
        }
        self.indent += 1;
        self.block(&here, &statements);
        self.close();
        self.left_of = None;
        if start == "k" {
            self.close();
        }
        self.filled.extend(here);
        self.close_slice();
    }

    fn block(&mut self, here: &[ExprId], statements: &[&Statement]) {
        self.define(here);
        for statement in statements {
            self.act(statement);
        }
    }
}
