//! C++ for CPUs: one function per program, its loops ready for the compiler's vectoriser.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use passnet_record::DType;

use super::{buffer_names, coefficient, order::Order, size};
use crate::{
    expr::{Arena, Binary, Expr, ExprId, Fold, Kind, Unary},
    index::{Index, Term, Var},
    stage::{Action, Loop, Program, Role, Segment, Stage},
    tensor::TensorId,
};

/// Functions that printed kernels use, to be put before them. It opens a namespace that [`END`] closes.
pub(crate) const MATH: &str = include_str!("math.hpp");

/// What follows the kernels.
pub(crate) const END: &str = "}  // namespace fused\n";

/// Values per step of a vectorised loop, as `math.hpp` has it.
const LANES: i64 = 16;

/// Longest row that is kept in memory between levels, in elements.
const LONGEST_ROW: i64 = 8192;

/// Products and sums may be contracted, as in PyTorch's own kernels: apart from these, results differ more often from
/// eager mode.
pub(crate) const FLAGS: &[&str] = &["-ffp-contract=fast", "-Wno-psabi"];

/// Names and types of the parameters, without the table's row.
pub(crate) fn parameters(program: &Program) -> Vec<String> {
    let names = buffer_names(program);
    let constness = |role: &Role| if *role == Role::Input { "const " } else { "" };
    let parameter = |(buffer, name): (&crate::stage::Buffer, &String)| {
        format!("{}{}* {name}", constness(&buffer.role), storage_type(buffer.dtype))
    };
    program.buffers.iter().zip(&names).map(parameter).collect()
}

/// The body of the function.
pub(crate) fn body(program: &Program) -> String {
    let mut printer = Printer {
        program,
        buffers: buffer_names(program),
        text: String::new(),
        indent: 1,
        names: BTreeMap::new(),
        vars: BTreeMap::new(),
        folds: BTreeMap::new(),
        count: 0,
        lanes: None,
        rows: BTreeMap::new(),
        filled: BTreeSet::new(),
    };
    for stage in &program.stages {
        printer.stage(stage);
    }
    printer.text
}

/// Type of the elements in memory.
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
        // Complex numbers are never scheduled.
        DType::UInt8 | DType::Bool | DType::Complex64 | DType::Complex128 => "uint8_t",
    }
}

const fn kind_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::I64 => "int64_t",
        Kind::F32 => "float",
        Kind::F64 => "double",
    }
}

struct Printer<'p> {
    program: &'p Program,
    buffers: Vec<String>,
    text: String,
    indent: usize,
    /// Variables of the text that hold values, in scope.
    names: BTreeMap<ExprId, String>,
    vars: BTreeMap<Var, String>,
    folds: BTreeMap<TensorId, String>,
    count: usize,
    /// While a loop is printed that takes sixteen elements a step: its variable and the values that vary with it.
    lanes: Option<(Var, BTreeSet<ExprId>)>,
    /// Values that are kept for the levels to come, with the array that holds them.
    rows: BTreeMap<ExprId, String>,
    filled: BTreeSet<ExprId>,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn open(&mut self, nest: &Loop, name: &str) {
        match nest.var {
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

    fn stage(&mut self, stage: &Stage) {
        let order = Order::new(&self.program.arena, stage);
        self.names.clear();
        let all: Vec<&Action> = stage
            .segments
            .iter()
            .flat_map(|segment| segment.levels.iter().flatten())
            .chain(stage.per_row.iter().flatten())
            .collect();
        let certain = order.certain(&all);
        let at = |depth: usize, after: usize| {
            let order = &order;
            certain.iter().copied().filter(move |&id| {
                let place = order.place(id);
                place.depth == depth && place.after == after
            })
        };
        let rows = stage.outer.len();
        self.rows.clear();
        self.filled.clear();
        self.define(&at(0, 0).collect::<Vec<_>>());
        for (depth, nest) in stage.outer.iter().enumerate() {
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
                for action in &stage.per_row[level] {
                    self.act(action);
                }
            }
        }
        for _ in 0..rows {
            self.close();
        }
    }

    fn level(&mut self, stage: &Stage, level: usize, order: &Order<'_>) {
        let Some(first) = stage.segments.first() else { return };
        for action in &first.levels[level] {
            if let Action::Fold { tensor, fold, kind, .. } = action {
                self.declare_fold(*tensor, *fold, *kind);
            }
        }
        if first.levels[level].is_empty() {
            return;
        }
        let rows = stage.outer.len();
        for (place, nest) in stage.inner.iter().enumerate() {
            self.open(nest, &format!("j{place}"));
            let actions: Vec<&Action> = stage.segments.iter().flat_map(|segment| &segment.levels[level]).collect();
            let here: Vec<ExprId> =
                order.certain(&actions).into_iter().filter(|&id| order.place(id).depth == rows + place + 1).collect();
            self.define(&here);
        }
        let outside = self.names.clone();
        for segment in &stage.segments {
            self.segment(stage, segment, level, order);
            self.names.clone_from(&outside);
        }
        for _ in &stage.inner {
            self.close();
        }
        self.names.retain(|&id, _| order.place(id).depth <= rows);
        for action in &first.levels[level] {
            self.finish_fold(action, stage);
        }
    }

    fn segment(&mut self, stage: &Stage, segment: &Segment, level: usize, order: &Order<'_>) {
        let innermost = stage.outer.len() + stage.inner.len() + 1;
        let actions: Vec<&Action> = segment.levels[level].iter().collect();
        let varies = |id: &ExprId| order.place(*id).depth >= innermost;
        let here: Vec<ExprId> = order
            .certain_beyond(&actions, &|id| self.rows.contains_key(&id) && self.filled.contains(&id))
            .into_iter()
            .filter(varies)
            .collect();
        let mut start = "0";
        let outside = self.names.clone();
        if let Some(var) = segment.innermost.var
            && let Some(varying) = self.vectorised(segment, level, &varies)
        {
            self.vars.insert(var, "k".to_owned());
            self.line("{");
            self.indent += 1;
            self.line("int64_t k = 0;");
            self.line(&format!("for (; k + lanes <= {}; k += lanes) {{", size(segment.innermost.extent)));
            self.indent += 1;
            self.lanes = Some((var, varying));
            self.block(&here, &actions);
            self.lanes = None;
            self.close();
            start = "k";
            self.names.clone_from(&outside);
        }
        match (segment.innermost.var, start) {
            (Some(_), "k") => self.line(&format!("for (; k < {}; ++k) {{", size(segment.innermost.extent))),
            (Some(var), _) => {
                self.vars.insert(var, "k".to_owned());
                self.line(&format!("for (int64_t k = 0; k < {}; ++k) {{", size(segment.innermost.extent)));
            }
            (None, _) => self.line("{"),
        }
        self.indent += 1;
        self.block(&here, &actions);
        self.close();
        if start == "k" {
            self.close();
        }
        self.filled.extend(here);
    }

    fn block(&mut self, here: &[ExprId], actions: &[&Action]) {
        self.define(here);
        for action in actions {
            self.act(action);
        }
    }

    /// The values that vary along the innermost loop of a segment, if all of them have a form of sixteen lanes.
    fn vectorised(
        &self,
        segment: &Segment,
        level: usize,
        varies: &dyn Fn(&ExprId) -> bool,
    ) -> Option<BTreeSet<ExprId>> {
        let Loop { var: Some(var), extent: LANES.. } = segment.innermost else { return None };
        let arena = &self.program.arena;
        let actions = &segment.levels[level];
        for action in actions {
            match action {
                Action::Store { dtype, at, value, .. } => {
                    let stride = coefficient(at, var)?;
                    let is_row = stride == 1 || (stride != 0 && *dtype != DType::Bool);
                    let is_float = arena.kind(*value) == Kind::F32 && Kind::of(*dtype) == Some(Kind::F32);
                    (is_row && (is_float || *dtype == DType::Bool)).then_some(())?;
                }
                Action::Fold { kind, .. } => (*kind == Kind::F32).then_some(())?,
            }
        }
        let roots: Vec<ExprId> = actions.iter().map(Action::value).collect();
        let varying: BTreeSet<ExprId> = arena.reachable(&roots).into_iter().filter(varies).collect();
        let has_lanes = |&id: &ExprId| match arena.get(id) {
            Expr::Load { dtype, at, .. } => {
                let is_float = Kind::of(*dtype) == Some(Kind::F32);
                coefficient(at, var).is_some_and(|stride| is_float || (*dtype == DType::Bool && stride == 1))
            }
            Expr::Binary(op, a, _) => {
                let is_known = !matches!(op, Binary::Pow | Binary::Xor);
                is_known && matches!(arena.kind(*a), Kind::F32 | Kind::Bool)
            }
            Expr::Unary(..) | Expr::Select(..) | Expr::Round(..) => true,
            Expr::Guard(condition, ..) => !varies(condition),
            Expr::Convert(a, to) => matches!((arena.kind(*a), to), (Kind::Bool, Kind::F32) | (Kind::F32, Kind::Bool)),
            _ => false,
        };
        let is_float_or_bool = |id: &ExprId| matches!(arena.kind(*id), Kind::F32 | Kind::Bool);
        varying.iter().all(|id| is_float_or_bool(id) && has_lanes(id)).then_some(varying)
    }

    /// Declares arrays for what several levels compute alike and at some cost.
    fn keep_rows(&mut self, stage: &Stage, order: &Order<'_>) {
        let [segment] = stage.segments.as_slice() else { return };
        let Loop { var: Some(var), extent: 2..=LONGEST_ROW } = segment.innermost else { return };
        if !stage.inner.is_empty() {
            return;
        }
        let arena = &self.program.arena;
        let innermost = stage.outer.len() + 1;
        let mut seen: BTreeSet<ExprId> = BTreeSet::new();
        let mut kept: BTreeSet<ExprId> = BTreeSet::new();
        for actions in &segment.levels {
            let actions: Vec<&Action> = actions.iter().collect();
            let here: BTreeSet<ExprId> =
                order.certain(&actions).into_iter().filter(|&id| order.place(id).depth >= innermost).collect();
            let mut used: BTreeSet<ExprId> = actions.iter().map(|action| action.value()).collect();
            for &id in here.difference(&seen) {
                arena.for_each_operand(id, &mut |operand| {
                    used.insert(operand);
                });
            }
            let is_worth = |id: &ExprId| arena.kind(*id) == Kind::F32 && cost(arena, *id, var) >= 4;
            kept.extend(used.intersection(&seen).copied().filter(|id| here.contains(id)).filter(is_worth));
            seen.extend(here);
        }
        for id in kept {
            let name = format!("row{}", self.count);
            self.count += 1;
            self.line(&format!("float {name}[{}];", size(segment.innermost.extent)));
            self.rows.insert(id, name);
        }
    }

    fn declare_fold(&mut self, tensor: TensorId, fold: Fold, kind: Kind) {
        let prefix = match fold {
            Fold::Sum => "sum",
            Fold::Max => "most",
            Fold::Min => "least",
        };
        let name = format!("{prefix}{}", self.count);
        self.count += 1;
        let start = match (fold, kind) {
            (Fold::Sum, Kind::F32) => "0.0f",
            (Fold::Sum, _) => "0",
            (Fold::Max, Kind::F32 | Kind::F64) => "-INFINITY",
            (Fold::Min, Kind::F32 | Kind::F64) => "INFINITY",
            (Fold::Max, _) => "INT64_MIN",
            (Fold::Min, _) => "INT64_MAX",
        };
        self.line(&format!("{} {name} = {start};", kind_type(kind)));
        if kind == Kind::F32 {
            self.line(&format!("vec {name}_lanes = splat({start});"));
        }
        self.folds.insert(tensor, name);
    }

    /// Joins the lanes of a reduction, if a loop had any.
    fn finish_fold(&mut self, action: &Action, stage: &Stage) {
        let Action::Fold { tensor, fold, kind: Kind::F32, .. } = action else { return };
        if stage.segments.iter().all(|segment| segment.innermost.extent < LANES) {
            return;
        }
        let name = self.folds[tensor].clone();
        let line = match fold {
            Fold::Sum => format!("{name} += add_lanes({name}_lanes);"),
            Fold::Max => format!("{name} = maximum({name}, max_lanes({name}_lanes));"),
            Fold::Min => format!("{name} = minimum({name}, min_lanes({name}_lanes));"),
        };
        self.line(&line);
    }

    /// Gives names to values, operands first.
    fn define(&mut self, ids: &[ExprId]) {
        for &id in ids {
            let is_trivial = matches!(
                self.program.arena.get(id),
                Expr::Float { .. } | Expr::Int(_) | Expr::Bool(_) | Expr::Extent { .. } | Expr::Reduced { .. }
            );
            if is_trivial || self.names.contains_key(&id) {
                continue;
            }
            let has_lanes = self.has_lanes(id);
            let row = self.rows.get(&id).cloned();
            let value = match &row {
                Some(row) if self.filled.contains(&id) && has_lanes => format!("get_row({row} + k)"),
                Some(row) if self.filled.contains(&id) => format!("{row}[k]"),
                _ => self.operation(id),
            };
            let name = format!("v{}", self.count);
            self.count += 1;
            let kind = self.program.arena.kind(id);
            let ty = match (has_lanes, kind) {
                (true, Kind::Bool) => "mask",
                (true, _) => "vec",
                (false, kind) => kind_type(kind),
            };
            self.line(&format!("const {ty} {name} = {value};"));
            if let Some(row) = row.filter(|_| !self.filled.contains(&id)) {
                let store =
                    if has_lanes { format!("put_row({row} + k, {name});") } else { format!("{row}[k] = {name};") };
                self.line(&store);
            }
            self.names.insert(id, name);
        }
    }

    /// Whether a value stands for sixteen elements here.
    fn has_lanes(&self, id: ExprId) -> bool {
        self.lanes.as_ref().is_some_and(|(_, varying)| varying.contains(&id))
    }

    fn act(&mut self, action: &Action) {
        let line = match action {
            Action::Store { buffer, dtype, at, value } => {
                let (to, at_text, value) = (&self.buffers[*buffer], self.index(at), self.operand(*value));
                match (&self.lanes, dtype) {
                    (Some((var, _)), _) => match coefficient(at, *var) {
                        Some(1) | None => format!("put_row({to} + {at_text}, {value});"),
                        Some(stride) => format!("put_strided({to} + {at_text}, {}, {value});", size(stride)),
                    },
                    (None, DType::Float16 | DType::BFloat16) => format!("put({to} + {at_text}, {value});"),
                    (None, DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8) => {
                        format!("{to}[{at_text}] = static_cast<{}>({value});", storage_type(*dtype))
                    }
                    (None, _) => format!("{to}[{at_text}] = {value};"),
                }
            }
            Action::Fold { tensor, fold, value, .. } => {
                let mut name = self.folds[tensor].clone();
                if self.lanes.is_some() {
                    name.push_str("_lanes");
                }
                let value = self.operand(*value);
                match fold {
                    Fold::Sum => format!("{name} += {value};"),
                    Fold::Max => format!("{name} = maximum({value}, {name});"),
                    Fold::Min => format!("{name} = minimum({value}, {name});"),
                }
            }
        };
        self.line(&line);
    }

    /// A value as an operand: in a vectorised loop, what is the same for all elements is spread.
    fn operand(&self, id: ExprId) -> String {
        if self.lanes.is_some() && !self.has_lanes(id) {
            return format!("splat({})", self.expr(id));
        }
        self.expr(id)
    }

    /// A value by its name, or as an expression in place.
    fn expr(&self, id: ExprId) -> String {
        match self.names.get(&id) {
            Some(name) => name.clone(),
            None => self.operation(id),
        }
    }

    fn operation(&self, id: ExprId) -> String {
        let arena = &self.program.arena;
        let kind = arena.kind(id);
        match arena.get(id) {
            Expr::Float { bits, kind } => float_literal(f64::from_bits(*bits), *kind),
            Expr::Int(value) => format!("int64_t({value})"),
            Expr::Bool(value) => value.to_string(),
            Expr::Extent { value, kind } => format!("{}({})", kind_type(*kind), size(*value)),
            Expr::Load { buffer, dtype, at } => {
                let (from, index) = (&self.buffers[*buffer], self.index(at));
                if let Some((var, _)) = self.lanes.as_ref().filter(|_| self.has_lanes(id)) {
                    return match coefficient(at, *var) {
                        Some(1) | None => format!("get_row({from} + {index})"),
                        Some(stride) => format!("get_strided({from} + {index}, {})", size(stride)),
                    };
                }
                let element = format!("{from}[{index}]");
                match dtype {
                    DType::Float16 | DType::BFloat16 => format!("get({element})"),
                    DType::Bool => format!("({element} != 0)"),
                    _ => element,
                }
            }
            Expr::Position(index) => format!("({})", self.index(index)),
            Expr::InRange { index, low, high } => {
                let index = self.index(index);
                match (*low == i64::MIN, *high == i64::MAX) {
                    (true, _) => format!("({index} < {})", size(*high)),
                    (false, true) => format!("({index} >= {})", size(*low)),
                    (false, false) => format!("({index} >= {} && {index} < {})", size(*low), size(*high)),
                }
            }
            Expr::Unary(op, a) => self.unary(*op, *a, kind),
            Expr::Binary(op, a, b) if self.has_lanes(id) => self.binary(*op, *a, *b, true),
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b, false),
            Expr::Select(condition, a, b) if self.has_lanes(id) => {
                format!("choose({}, {}, {})", self.operand(*condition), self.operand(*a), self.operand(*b))
            }
            Expr::Select(condition, a, b) | Expr::Guard(condition, a, b) => {
                let (a, b) = if self.has_lanes(id) {
                    (self.operand(*a), self.operand(*b))
                } else {
                    (self.expr(*a), self.expr(*b))
                };
                format!("({} ? {a} : {b})", self.expr(*condition))
            }
            Expr::Convert(a, _) if self.has_lanes(id) && kind == Kind::F32 => {
                format!("choose({}, splat(1.0f), splat(0.0f))", self.operand(*a))
            }
            Expr::Convert(a, Kind::Bool) => format!("({} != 0)", self.expr(*a)),
            Expr::Convert(a, to) => format!("static_cast<{}>({})", kind_type(*to), self.expr(*a)),
            Expr::Round(a, dtype) => {
                let a = self.expr(*a);
                match dtype {
                    DType::Float16 => format!("round_float16({a})"),
                    DType::BFloat16 => format!("round_bfloat16({a})"),
                    _ => format!("int64_t(static_cast<{}>({a}))", storage_type(*dtype)),
                }
            }
            Expr::Reduced { tensor, .. } => self.folds.get(tensor).cloned().unwrap_or_default(),
        }
    }

    fn unary(&self, op: Unary, a: ExprId, kind: Kind) -> String {
        let a_has_lanes = self.has_lanes(a);
        let a = self.expr(a);
        let function = match op {
            Unary::Neg => return format!("(-{a})"),
            Unary::Not if a_has_lanes => return format!("(~{a})"),
            Unary::Not => return format!("(!{a})"),
            Unary::Abs if kind == Kind::I64 => return format!("({a} < 0 ? -{a} : {a})"),
            Unary::Abs => "abs_of",
            Unary::Exp => "exp_of",
            Unary::Log => "log_of",
            Unary::Sqrt => "sqrt_of",
            Unary::Sin => "sin_of",
            Unary::Cos => "cos_of",
            Unary::Tanh => "tanh_of",
            Unary::Erf => "erf_of",
            Unary::Floor => "floor_of",
            Unary::Ceil => "ceil_of",
            Unary::Trunc => "trunc_of",
        };
        format!("{function}({a})")
    }

    fn binary(&self, op: Binary, a: ExprId, b: ExprId, has_lanes: bool) -> String {
        let is_bool = self.program.arena.kind(a) == Kind::Bool && !has_lanes;
        let (a, b) = if has_lanes { (self.operand(a), self.operand(b)) } else { (self.expr(a), self.expr(b)) };
        let sign = match op {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Pow => return format!("std::pow({a}, {b})"),
            Binary::Max => return format!("maximum({a}, {b})"),
            Binary::Min => return format!("minimum({a}, {b})"),
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::And if is_bool => "&&",
            Binary::Or if is_bool => "||",
            Binary::Xor if is_bool => "!=",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
        };
        format!("({a} {sign} {b})")
    }

    fn index(&self, index: &Index) -> String {
        let mut text = String::new();
        for (term, factor) in index.terms() {
            let term = match term {
                Term::Var(var) => self.vars.get(var).cloned().unwrap_or_else(|| "0".to_owned()),
                Term::Div(inner, by) => format!("({}) / {}", self.index(inner), size(*by)),
                Term::Mod(inner, by) => format!("({}) % {}", self.index(inner), size(*by)),
                Term::Value { expr, wrap: 0 } => self.expr(*expr),
                Term::Value { expr, wrap } => {
                    let value = self.expr(*expr);
                    format!("({value} < 0 ? {value} + {} : {value})", size(*wrap))
                }
            };
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

fn float_literal(value: f64, kind: Kind) -> String {
    if value.is_nan() {
        return "NAN".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-INFINITY".to_owned() } else { "INFINITY".to_owned() };
    }
    let text = match kind {
        Kind::F32 => format!("{:?}f", value as f32),
        _ => format!("{value:?}"),
    };
    if value < 0.0 { format!("({text})") } else { text }
}

/// Rough cost of computing a value again at each element, in additions.
fn cost(arena: &Arena, id: ExprId, var: Var) -> u32 {
    let of_one = |id: ExprId| match arena.get(id) {
        Expr::Load { dtype, at, .. } => match (dtype.size(), coefficient(at, var)) {
            (_, Some(0)) => 0,
            (4, Some(1)) => 1,
            (_, Some(1)) => 2,
            _ => 16,
        },
        Expr::Unary(Unary::Neg | Unary::Abs | Unary::Not, _) => 1,
        Expr::Unary(..) => 12,
        Expr::Binary(Binary::Div | Binary::Pow, ..) => 4,
        Expr::Round(..) => 2,
        Expr::Binary(..) | Expr::Select(..) | Expr::Guard(..) | Expr::Convert(..) => 1,
        _ => 0,
    };
    arena.reachable(&[id]).into_iter().map(of_one).sum()
}
