//! Values and indices as expressions.

use passnet_record::DType;

use super::{CppPrinter, contraction::factors, kind_type, storage_type};
use crate::{
    back::print::{size, sum},
    front::{
        expr::{Binary, Expr, ExprId, Unary, ValueKind},
        index::{Index, Term, coefficient},
    },
    plan::lanes::is_whole,
};

impl CppPrinter<'_> {
    /// Returns a value as an operand. In a vectorised loop, a value that is the same for all elements is copied to all lanes.
    pub(super) fn operand(&self, id: ExprId) -> String {
        if self.lanes.is_some() && !self.has_lanes(id) {
            return match self.program.arena.get(id) {
                // In lanes, integers are `float` numbers.
                Expr::Int(value) => format!("splat({value}.0f)"),
                _ => format!("splat({})", self.expr(id)),
            };
        }
        self.expr(id)
    }

    /// Returns a value by its name, from the row that keeps it, or as an expression in place.
    pub(super) fn expr(&self, id: ExprId) -> String {
        match self.names.get(&id) {
            Some(name) => name.clone(),
            None => self.kept_in_row(id).unwrap_or_else(|| self.operation(id)),
        }
    }

    /// Returns the text that reads a value from its row, if an earlier level has stored it there.
    pub(super) fn kept_in_row(&self, id: ExprId) -> Option<String> {
        let row = self.rows.get(&id).filter(|_| self.filled.contains(&id))?;
        Some(if self.has_lanes(id) { format!("get_row({row} + k)") } else { format!("{row}[k]") })
    }

    pub(super) fn operation(&self, id: ExprId) -> String {
        let arena = &self.program.arena;
        let kind = arena.kind(id);
        match arena.get(id) {
            Expr::Float { bits, kind } => float_literal(f64::from_bits(*bits), *kind),
            // A plain literal would be an `int`, and arithmetic on it 32 bits wide.
            Expr::Int(value) => format!("int64_t({value})"),
            Expr::Bool(value) => value.to_string(),
            Expr::Extent { value, kind, .. } => format!("{}({})", kind_type(*kind), size(*value)),
            Expr::Load { buffer, dtype, at } => self.load(&self.buffers[*buffer], *dtype, at, self.has_lanes(id)),
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
            Expr::Binary(op, a, b) => {
                self.contracted(id).unwrap_or_else(|| self.binary(*op, *a, *b, self.has_lanes(id)))
            }
            Expr::Select(condition, a, b) | Expr::Guard(condition, a, b) => self.chosen(id, *condition, [*a, *b]),
            Expr::Convert(a, ValueKind::F32) if self.has_lanes(id) && is_whole(arena, *a) => self.operand(*a),
            Expr::Convert(a, _) if self.has_lanes(id) && kind == ValueKind::F32 => {
                format!("choose({}, splat(1.0f), splat(0.0f))", self.operand(*a))
            }
            Expr::Convert(a, ValueKind::Bool) => format!("({} != 0)", self.expr(*a)),
            Expr::Convert(a, to) => format!("static_cast<{}>({})", kind_type(*to), self.expr(*a)),
            Expr::Round(a, dtype) => {
                let a = self.expr(*a);
                match dtype {
                    DType::Float16 => format!("round_float16({a})"),
                    DType::BFloat16 => format!("round_bfloat16({a})"),
                    // PyTorch rounds the product of one operation before the next one adds to it. `kept` prevents the
                    // compiler from contracting the two.
                    DType::Float32 => format!("kept({a})"),
                    _ => format!("int64_t(static_cast<{}>({a}))", storage_type(*dtype)),
                }
            }
            Expr::Reduced { tensor, .. } => {
                let name = self.folds.get(tensor).cloned().unwrap_or_default();
                match (self.is_across, self.has_lanes(id)) {
                    (false, _) => name,
                    (true, true) => format!("get_row({name} + k)"),
                    (true, false) => format!("{name}[k]"),
                }
            }
        }
    }

    fn load(&self, from: &str, dtype: DType, at: &Index, has_lanes: bool) -> String {
        let index = self.index(at);
        let left = if self.is_partial { ", left" } else { "" };
        if let Some((var, _)) = self.lanes.as_ref().filter(|_| has_lanes) {
            let is_float = ValueKind::of(dtype) == Some(ValueKind::F32);
            return match coefficient(at, *var) {
                _ if !is_float && dtype != DType::Bool => format!("get_whole({from} + {index}{left})"),
                Some(1) | None => format!("get_row({from} + {index}{left})"),
                Some(stride) => format!("get_strided({from} + {index}, {}{left})", size(stride)),
            };
        }
        let element = format!("{from}[{index}]");
        match dtype {
            DType::Float16 | DType::BFloat16 => format!("get({element})"),
            DType::Bool => format!("({element} != 0)"),
            _ => element,
        }
    }

    fn unary(&self, op: Unary, a: ExprId, kind: ValueKind) -> String {
        let a_has_lanes = self.has_lanes(a);
        let a = self.expr(a);
        let function = match op {
            Unary::Neg => return format!("(-{a})"),
            Unary::Not if a_has_lanes => return format!("(~{a})"),
            Unary::Not => return format!("(!{a})"),
            Unary::Abs if kind == ValueKind::I64 => return format!("({a} < 0 ? -{a} : {a})"),
            Unary::Abs => "abs_of",
            Unary::Exp => "exp_of",
            Unary::Expm1 => "expm1_of",
            Unary::Log => "log_of",
            Unary::Log1p => "log1p_of",
            Unary::Sqrt => "sqrt_of",
            Unary::Sin => "sin_of",
            Unary::Cos => "cos_of",
            Unary::Tanh => "tanh_of",
            Unary::TanhPlus1 => "tanh_plus_1",
            Unary::Erf => "erf_of",
            Unary::ErfPlus1 => "erf_plus_1",
            Unary::Floor => "floor_of",
            Unary::Ceil => "ceil_of",
            Unary::Trunc => "trunc_of",
            Unary::Round => "round_of",
        };
        format!("{function}({a})")
    }

    /// Returns the text of one of two values, chosen by a condition.
    fn chosen(&self, id: ExprId, condition: ExprId, sides: [ExprId; 2]) -> String {
        let has_lanes = self.has_lanes(id);
        let [a, b] = sides.map(|side| if has_lanes { self.operand(side) } else { self.expr(side) });
        if has_lanes && matches!(self.program.arena.get(id), Expr::Select(..)) {
            return format!("choose({}, {a}, {b})", self.operand(condition));
        }
        let mut decides = self.expr(condition);
        if self.conditions.contains(&condition) && !self.names.contains_key(&condition) {
            decides = kept(&decides);
        }
        format!("({decides} ? {a} : {b})")
    }

    /// Returns the text of a sum that the compiler would not contract.
    fn contracted(&self, sum: ExprId) -> Option<String> {
        let arena = &self.program.arena;
        let product = self.contractions.product_of(sum)?;
        let (x, y) = factors(arena, product)?;
        let &Expr::Binary(op, a, b) = arena.get(sum) else { return None };
        let operand = |id| if self.has_lanes(sum) { self.operand(id) } else { self.expr(id) };
        let (x, y, other) = (operand(x), operand(y), operand(if product == a { b } else { a }));
        Some(match op {
            Binary::Sub if product == a => format!("multiply_add({x}, {y}, -{other})"),
            Binary::Sub => format!("multiply_add(-{x}, {y}, {other})"),
            _ => format!("multiply_add({x}, {y}, {other})"),
        })
    }

    fn binary(&self, op: Binary, a: ExprId, b: ExprId, has_lanes: bool) -> String {
        let is_bool = self.program.arena.kind(a) == ValueKind::Bool && !has_lanes;
        // A constant other than NaN: only the other operand can make the result NaN.
        let is_bound = matches!(*self.program.arena.get(b), Expr::Float { bits, .. } if !f64::from_bits(bits).is_nan());
        let rest_of = a;
        let (a, b) = if has_lanes { (self.operand(a), self.operand(b)) } else { (self.expr(a), self.expr(b)) };
        let sign = match op {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div | Binary::Quotient => "/",
            Binary::Rest if self.program.arena.kind(rest_of) == ValueKind::I64 => "%",
            Binary::Rest => return format!("std::fmod({a}, {b})"),
            Binary::Pow => return format!("std::pow({a}, {b})"),
            Binary::Max if is_bound => return format!("at_least({b}, {a})"),
            Binary::Min if is_bound => return format!("at_most({b}, {a})"),
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

    pub(super) fn index(&self, index: &Index) -> String {
        sum(index, |term| match term {
            Term::Var(var) => self.vars.get(var).cloned().unwrap_or_else(|| "0".to_owned()),
            Term::Div(inner, by) => format!("({}) / {}", self.index(inner), size(*by)),
            Term::Mod(inner, by) => format!("({}) % {}", self.index(inner), size(*by)),
            Term::Value { expr, wrap: 0, .. } => self.expr(*expr),
            Term::Value { expr, wrap, .. } => {
                let value = self.expr(*expr);
                format!("({value} < 0 ? {value} + {} : {value})", size(*wrap))
            }
        })
    }
}

/// Returns a condition that is hidden from the compiler's optimisations.
pub(super) fn kept(condition: &str) -> String {
    if condition.starts_with('(') { format!("kept{condition}") } else { format!("kept({condition})") }
}

fn float_literal(value: f64, kind: ValueKind) -> String {
    if value.is_nan() {
        return "NAN".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-INFINITY".to_owned() } else { "INFINITY".to_owned() };
    }
    // Debug formatting prints the shortest digits that read back as the same number.
    let text = match kind {
        ValueKind::F32 => format!("{:?}f", value as f32),
        _ => format!("{value:?}"),
    };
    if value < 0.0 { format!("({text})") } else { text }
}
