//! Values and indices as expressions on tiles.

use passnet_record::DType;

use super::{
    TritonPrinter,
    extent::Extent,
    types::{kind_type, storage_type},
};
use crate::{
    back::print::{operand, size},
    front::{
        expr::{Binary, BufferId, Expr, ExprId, Unary, ValueKind, for_each_value},
        index::{Index, Term},
    },
};

impl TritonPrinter<'_> {
    /// Returns a value by its name, or as an expression in place. Long expressions, and those with several uses, get a name.
    pub(super) fn value(&mut self, id: ExprId, condition: usize) -> String {
        let condition = self.needed(id, condition);
        if let Some(name) = self.names.get(&(id, condition)) {
            return name.clone();
        }
        if let &Expr::Round(product, DType::Float32) = self.arena.get(id)
            && !self.summed.contains(&id)
        {
            return self.value(product, condition);
        }
        let text = self.operation(id, condition);
        let is_trivial = matches!(
            self.arena.get(id),
            Expr::Float { .. } | Expr::Int(_) | Expr::Bool(_) | Expr::Extent { .. } | Expr::Reduced { .. }
        );
        let is_load = matches!(self.arena.get(id), Expr::Load { .. });
        // Names cost nothing at run time. A long expression in one line is hard to read, and one that is used twice
        // would be computed twice.
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

    pub(super) fn loads(&self, id: ExprId) -> bool {
        self.arena.reachable(&[id]).into_iter().any(|id| matches!(self.arena.get(id), Expr::Load { .. }))
    }

    fn operation(&mut self, id: ExprId, condition: usize) -> String {
        let arena = self.arena;
        let kind = arena.kind(id);
        match arena.get(id) {
            Expr::Float { bits, kind } => constant(f64::from_bits(*bits), *kind),
            Expr::Int(value) => value.to_string(),
            Expr::Bool(value) => (if *value { "True" } else { "False" }).to_owned(),
            Expr::Extent { value, .. } => size(*value),
            Expr::Load { buffer, dtype, at } => self.load(*buffer, *dtype, at, condition),
            // Positions in a tile are 32-bit numbers, while eager mode computes with indices as `int64`.
            Expr::Position(index) => format!("({}).to(tl.int64)", self.index(index, condition)),
            Expr::InRange { index, low, high } => {
                let index = operand(self.index(index, condition));
                match (*low == i64::MIN, *high == i64::MAX) {
                    (true, _) => format!("({index} < {})", size(*high)),
                    (false, true) => format!("({index} >= {})", size(*low)),
                    (false, false) => format!("(({index} >= {}) & ({index} < {}))", size(*low), size(*high)),
                }
            }
            Expr::Unary(op, a) => {
                let a = self.tensor(*a, condition);
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
                    (printer.value(id, at), printer.needed(id, at) == at)
                };
                let (then, is_masked) = side(self, *a, true);
                if is_masked && matches!(arena.get(*a), Expr::Load { .. }) && is_zero(arena.get(*b)) {
                    // A masked load gives 0 elsewhere.
                    return then;
                }
                let (otherwise, _) = side(self, *b, false);
                let test = self.value(*test, condition);
                format!("tl.where({test}, {then}, {otherwise})")
            }
            Expr::Convert(a, ValueKind::Bool) => format!("({} != 0)", self.tensor(*a, condition)),
            Expr::Convert(a, to) => format!("{}.to({})", self.tensor(*a, condition), kind_type(*to)),
            Expr::Round(of, dtype) => {
                let is_summed = self.summed.contains(&id) && arena.is_product(*of);
                let value = match arena.get(*of) {
                    Expr::Binary(op, a, b) if is_summed => self.rounded_product(*op, *a, *b, condition),
                    _ => self.tensor(*of, condition),
                };
                match dtype {
                    DType::Float32 => value,
                    _ => format!("{value}.to({}).to({})", storage_type(*dtype), kind_type(kind)),
                }
            }
            Expr::Reduced { tensor, .. } => self.folds.get(tensor).cloned().unwrap_or_default(),
        }
    }

    /// Returns a value that has the methods of a tensor. A number of Python has none, and Python would compute with it in double precision.
    fn tensor(&mut self, id: ExprId, condition: usize) -> String {
        let text = self.value(id, condition);
        if self.is_number(id) { format!("tl.full((), {text}, {})", kind_type(self.arena.kind(id))) } else { text }
    }

    /// Returns whether a value is printed as a number of Python.
    fn is_number(&self, id: ExprId) -> bool {
        match *self.arena.get(id) {
            Expr::Float { bits, kind } => !needs_double(f64::from_bits(bits), kind),
            Expr::Int(_) | Expr::Extent { .. } => true,
            _ => false,
        }
    }

    fn load(&mut self, buffer: BufferId, dtype: DType, at: &Index, condition: usize) -> String {
        let load = self.stored(buffer, at, condition);
        match dtype {
            DType::Float16 | DType::BFloat16 => format!("{load}.to(tl.float32)"),
            DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8 => format!("{load}.to(tl.int64)"),
            DType::Bool => format!("({load} != 0)"),
            _ => load,
        }
    }

    /// Returns a load in the type of the buffer.
    pub(super) fn stored(&mut self, buffer: BufferId, at: &Index, condition: usize) -> String {
        let mut extent = self.vars_of(at);
        for_each_value(at, &mut |value| extent = extent.and(self.extents[&value]));
        let text = self.index(at, condition);
        let (text, mask) = self.place(text, extent, Extent::default(), condition);
        if self.checks_indices {
            self.assert_within(at, mask.as_deref(), condition);
        }
        let from = &self.buffers[buffer];
        let mask = mask.map_or(String::new(), |mask| format!(", {mask}, 0"));
        format!("tl.load({from} + {text}{mask})")
    }

    /// Ends the process, as PyTorch does, where an index that is loaded or computed is out of range in a place that is read.
    fn assert_within(&mut self, at: &Index, mask: Option<&str>, condition: usize) {
        let mut selections = Vec::new();
        at.for_each_term(&mut |term| {
            if let Term::Value { expr, wrap, extent } = term {
                selections.push((*expr, *wrap, *extent));
            }
        });
        for (expr, wrap, extent) in selections {
            let value = self.value(expr, condition);
            let least = if wrap == 0 { "0".to_owned() } else { format!("-{}", size(wrap)) };
            let elsewhere = mask.map_or(String::new(), |mask| format!(" | ~({mask})"));
            let is_within = format!("(({value} >= {least}) & ({value} < {})){elsewhere}", size(extent));
            self.line(&format!("tl.device_assert({is_within}, \"index out of range\")"));
        }
    }

    fn binary(&mut self, op: Binary, a: ExprId, b: ExprId, condition: usize) -> String {
        let kind = self.arena.kind(a);
        let one = Expr::Float { bits: 1.0_f64.to_bits(), kind };
        if let (Binary::Div, Expr::Unary(Unary::Sqrt, x)) = (op, self.arena.get(b))
            && *self.arena.get(a) == one
        {
            // A sum, as in normalisations, is never subnormal, so it does not need the slower function.
            let is_sum = matches!(self.arena.get(*x), Expr::Binary(Binary::Add, ..));
            let function = if is_sum { "libdevice.rsqrt" } else { "inverse_root" };
            return format!("{function}({})", self.value(*x, condition));
        }
        let first = if self.is_number(b) { self.tensor(a, condition) } else { self.value(a, condition) };
        let second = self.value(b, condition);
        let sign = match op {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => {
                return match (self.inverse(b), kind) {
                    (Some(inverse), _) => format!("({first} * {inverse})"),
                    (None, ValueKind::F32) => format!("tl.div_rn({first}, {second})"),
                    (None, _) => format!("({first} / {second})"),
                };
            }
            // Of integers, both round towards 0.
            Binary::Quotient => "//",
            Binary::Rest if kind == ValueKind::I64 => "%",
            Binary::Rest => return format!("libdevice.fmod({first}, {second})"),
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

    /// Returns the factor that replaces a divisor: PyTorch's CUDA kernels multiply by the inverse of a constant.
    fn inverse(&self, divisor: ExprId) -> Option<String> {
        match *self.arena.get(divisor) {
            Expr::Extent { value, is_divisor: false, .. } => Some(format!("(1.0 / {})", size(value))),
            Expr::Float { bits, kind } => {
                let divisor = f64::from_bits(bits);
                let inverse = if kind == ValueKind::F32 { f64::from(1.0 / divisor as f32) } else { 1.0 / divisor };
                Some(constant(inverse, kind))
            }
            _ => None,
        }
    }

    /// Returns the text of a product that is rounded before something is added to it. Otherwise the compiler for CUDA devices
    /// would round product and sum together, even where a half type is stored between them.
    fn rounded_product(&mut self, op: Binary, a: ExprId, b: ExprId, condition: usize) -> String {
        let inverse = if op == Binary::Div { self.inverse(b) } else { None };
        let (a, b) = (self.value(a, condition), inverse.unwrap_or_else(|| self.value(b, condition)));
        format!("libdevice.mul_rn({a}, {b})")
    }
}

/// Returns whether the first bracket of the text closes at its end.
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

/// Returns whether a value is the number 0, and not -0.
const fn is_zero(value: &Expr) -> bool {
    matches!(value, Expr::Float { bits: 0, .. } | Expr::Int(0))
}

fn unary(op: Unary, a: &str, kind: ValueKind) -> String {
    let function = match op {
        Unary::Neg => return format!("(-{a})"),
        Unary::Not => return format!("(~{a})"),
        Unary::Abs => "tl.abs",
        Unary::Exp => "libdevice.exp",
        Unary::Log => "logarithm",
        Unary::Expm1 => "power_minus_1",
        Unary::Log1p => "logarithm_of_1_plus",
        Unary::TanhPlus1 => return format!("(libdevice.tanh({a}) + 1.0)"),
        Unary::ErfPlus1 => return format!("(libdevice.erf({a}) + 1.0)"),
        Unary::Sqrt if kind == ValueKind::F32 => "tl.sqrt_rn",
        Unary::Sqrt => "libdevice.sqrt",
        Unary::Sin => "libdevice.sin",
        Unary::Cos => "libdevice.cos",
        Unary::Tanh => "libdevice.tanh",
        Unary::Erf => "libdevice.erf",
        Unary::Floor => "libdevice.floor",
        Unary::Ceil => "libdevice.ceil",
        Unary::Trunc => "libdevice.trunc",
        Unary::Round => "libdevice.rint",
    };
    format!("{function}({a})")
}

/// Returns a constant that keeps its value in comparisons and as an argument.
fn constant(value: f64, kind: ValueKind) -> String {
    let text = float_literal(value, kind);
    // Triton takes a number of Python for a `float32` in comparisons and as an argument.
    if needs_double(value, kind) { format!("tl.full((), {text}, tl.float64)") } else { text }
}

/// Returns whether a `float64` constant would be rounded in a `float32`.
fn needs_double(value: f64, kind: ValueKind) -> bool {
    kind == ValueKind::F64 && value.is_finite() && f64::from(value as f32) != value
}

fn float_literal(value: f64, kind: ValueKind) -> String {
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
        // The shortest digits of the largest `float32` give a larger number, which Triton would take for a `float64`.
        ValueKind::F32 if (value as f32).abs() == f32::MAX => format!("{:?}", f64::from(value as f32)),
        ValueKind::F32 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    }
}
