//! All expressions of a region, without duplicates, and the rules that simplify them when they are made.

use std::collections::BTreeMap;

use passnet_record::DType;

use super::{
    constants::{self, Known, is_half},
    expr::{Binary, BufferId, Expr, ExprId, Unary, ValueKind, for_each_value},
    index::{Index, Vars},
};

/// Depth of nested selections that is searched to prove that a value needs no rounding.
const SELECTIONS: usize = 8;

/// Returns whether a number is a whole one of at most eight bits, which every floating-point type has.
fn is_small_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() <= 256.0
}

/// All expressions of one region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    exprs: Vec<(Expr, ValueKind)>,
    ids: BTreeMap<Expr, ExprId>,
}

impl Arena {
    pub(crate) fn get(&self, id: ExprId) -> &Expr {
        &self.exprs[id as usize].0
    }

    pub(crate) fn kind(&self, id: ExprId) -> ValueKind {
        self.exprs[id as usize].1
    }

    fn add(&mut self, expr: Expr, kind: ValueKind) -> ExprId {
        if let Some(&id) = self.ids.get(&expr) {
            return id;
        }
        let id = self.exprs.len() as ExprId;
        self.exprs.push((expr.clone(), kind));
        self.ids.insert(expr, id);
        id
    }

    pub(crate) fn float(&mut self, value: f64, kind: ValueKind) -> ExprId {
        self.add(Expr::Float { bits: value.to_bits(), kind }, kind)
    }

    pub(crate) fn int(&mut self, value: i64) -> ExprId {
        self.add(Expr::Int(value), ValueKind::I64)
    }

    pub(crate) fn bool(&mut self, value: bool) -> ExprId {
        self.add(Expr::Bool(value), ValueKind::Bool)
    }

    pub(crate) fn extent(&mut self, value: i64, kind: ValueKind, is_divisor: bool) -> ExprId {
        self.add(Expr::Extent { value, kind, is_divisor }, kind)
    }

    /// Adds the load of an element. Returns `None` for complex numbers.
    pub(crate) fn load(&mut self, buffer: BufferId, dtype: DType, at: Index) -> Option<ExprId> {
        let kind = ValueKind::of(dtype)?;
        Some(self.add(Expr::Load { buffer, dtype, at }, kind))
    }

    pub(crate) fn position(&mut self, index: Index) -> ExprId {
        match index.as_constant() {
            Some(value) => self.int(value),
            None => self.add(Expr::Position(index), ValueKind::I64),
        }
    }

    /// Adds the condition `low <= index < high`. If the range of the index decides the condition, the result is a constant.
    pub(crate) fn in_range(&mut self, index: &Index, low: i64, high: i64, vars: &Vars) -> ExprId {
        match index.range(vars) {
            Some((least, most)) if least >= low && most < high => self.bool(true),
            Some((least, most)) if most < low || least >= high => self.bool(false),
            _ => self.add(Expr::InRange { index: index.clone(), low, high }, ValueKind::Bool),
        }
    }

    pub(crate) fn unary(&mut self, op: Unary, of: ExprId) -> ExprId {
        if let (Unary::Not, Some(value)) = (op, self.as_bool(of)) {
            return self.bool(!value);
        }
        let kind = self.kind(of);
        if let Some(value) = self.as_float(of).and_then(|value| constants::unary(op, value)) {
            return self.float(value, kind);
        }
        self.add(Expr::Unary(op, of), kind)
    }

    /// Adds an operation on two values. The caller ensures that both are of one kind.
    pub(crate) fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let kind = if op.is_comparison() { ValueKind::Bool } else { self.kind(a) };
        if let Some(index) = self.of_positions(op, a, b) {
            return self.position(index);
        }
        if let (Some(first), Some(second)) = (self.as_float(a), self.as_float(b))
            && let Some(known) = constants::binary(op, first, second, self.kind(a))
        {
            return self.known(known, kind);
        }
        match (op, self.get(a), self.get(b)) {
            // Only logic is simplified. Arithmetic of floats with a constant is not: `x * 1` and `x + 0` change NaN payloads,
            // signs of zero and roundings.
            (Binary::And, Expr::Bool(true), _) | (Binary::Or, Expr::Bool(false), _) => b,
            (Binary::And, _, Expr::Bool(true)) | (Binary::Or, _, Expr::Bool(false)) => a,
            (Binary::And, Expr::Bool(false), _) | (Binary::And, _, Expr::Bool(false)) => self.bool(false),
            (Binary::Or, Expr::Bool(true), _) | (Binary::Or, _, Expr::Bool(true)) => self.bool(true),
            // Triton has no values for constants that are known before it runs.
            (Binary::Lt, Expr::Int(a), Expr::Int(b)) => self.bool(a < b),
            (Binary::Le, Expr::Int(a), Expr::Int(b)) => self.bool(a <= b),
            (Binary::Eq, Expr::Int(a), Expr::Int(b)) => self.bool(a == b),
            (Binary::Ne, Expr::Int(a), Expr::Int(b)) => self.bool(a != b),
            // Python, which computes with Triton's constants, rounds down.
            (Binary::Quotient, Expr::Int(a), Expr::Int(b)) if *b != 0 => self.int(a.wrapping_div(*b)),
            (Binary::Rest, Expr::Int(a), Expr::Int(b)) if *b != 0 => self.int(a.wrapping_rem(*b)),
            _ => match (op, self.plus_one(a, b).or_else(|| self.plus_one(b, a))) {
                (Binary::Add, Some((function, of))) => self.add(Expr::Unary(function, of), kind),
                _ => self.add(Expr::Binary(op, a, b), kind),
            },
        }
    }

    /// Returns the function that is `a + 1` and its operand, where `b` is 1 and there is such a function.
    fn plus_one(&self, a: ExprId, b: ExprId) -> Option<(Unary, ExprId)> {
        let is_one = matches!(*self.get(b), Expr::Float { bits, .. } if f64::from_bits(bits) == 1.0);
        match *self.get(a) {
            Expr::Unary(Unary::Tanh, of) if is_one => Some((Unary::TanhPlus1, of)),
            Expr::Unary(Unary::Erf, of) if is_one => Some((Unary::ErfPlus1, of)),
            _ => None,
        }
    }

    /// Returns a sum, difference or multiple of positions, which is a position again.
    fn of_positions(&self, op: Binary, a: ExprId, b: ExprId) -> Option<Index> {
        let (a, b) = (self.as_index(a)?, self.as_index(b)?);
        match op {
            Binary::Add => Some(a.plus(&b)),
            Binary::Sub => Some(a.plus(&b.times(-1))),
            Binary::Mul => match (a.as_constant(), b.as_constant()) {
                (_, Some(factor)) => Some(a.times(factor)),
                (Some(factor), _) => Some(b.times(factor)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn select(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        let kind = self.kind(then);
        match self.as_bool(condition) {
            Some(true) => then,
            Some(false) => otherwise,
            None => self.add(Expr::Select(condition, then, otherwise), kind),
        }
    }

    /// Returns the value of a condition if it is known.
    pub(crate) fn as_bool(&self, id: ExprId) -> Option<bool> {
        match self.get(id) {
            Expr::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a float constant.
    fn as_float(&self, id: ExprId) -> Option<f64> {
        match *self.get(id) {
            Expr::Float { bits, .. } => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn known(&mut self, value: Known, kind: ValueKind) -> ExprId {
        match value {
            Known::Float(value) => self.float(value, kind),
            Known::Int(value) => self.int(value),
            Known::Bool(value) => self.bool(value),
        }
    }

    /// Returns an integer as an index; `None` if it is neither a position nor a constant.
    pub(crate) fn as_index(&self, id: ExprId) -> Option<Index> {
        match self.get(id) {
            Expr::Int(value) => Some(Index::constant(*value)),
            Expr::Position(index) => Some(index.clone()),
            _ => None,
        }
    }

    pub(crate) fn guard(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        // Inside the branch, the condition is known.
        let then = match *self.get(then) {
            Expr::Guard(inner, then, _) if inner == condition => then,
            _ => then,
        };
        let otherwise = match *self.get(otherwise) {
            Expr::Guard(inner, _, otherwise) if inner == condition => otherwise,
            _ => otherwise,
        };
        if then == otherwise {
            return then;
        }
        let kind = self.kind(then);
        self.add(Expr::Guard(condition, then, otherwise), kind)
    }

    pub(crate) fn convert(&mut self, of: ExprId, to: ValueKind) -> ExprId {
        let from = self.kind(of);
        if from == to {
            return of;
        }
        match *self.get(of) {
            Expr::Int(value) if to.is_float() => self.float(value as f64, to),
            Expr::Bool(value) if to == ValueKind::I64 => self.int(value.into()),
            Expr::Bool(value) if to.is_float() => self.float(f64::from(u8::from(value)), to),
            Expr::Float { bits, .. } if let Some(known) = constants::converted(f64::from_bits(bits), from, to) => {
                self.known(known, to)
            }
            _ => self.add(Expr::Convert(of, to), to),
        }
    }

    /// Adds a rounding to a type. Only types that are narrower than their arithmetic need one.
    pub(crate) fn round(&mut self, of: ExprId, dtype: DType) -> ExprId {
        let kind = self.kind(of);
        let is_wide = matches!(dtype, DType::Float32 | DType::Float64 | DType::Int64 | DType::Bool);
        if let Some(value) = self.as_float(of).and_then(|value| constants::rounded(value, dtype)) {
            return self.float(value, kind);
        }
        if is_wide || self.is_exact(of, dtype) { of } else { self.add(Expr::Round(of, dtype), kind) }
    }

    /// Returns whether a type holds a value exactly: the value was read as that type, rounded to it, or selected among such
    /// values.
    pub(crate) fn is_exact(&self, id: ExprId, dtype: DType) -> bool {
        self.is_exact_within(id, dtype, SELECTIONS)
    }

    fn is_exact_within(&self, id: ExprId, dtype: DType, depth: usize) -> bool {
        let is_exact = |id| depth > 0 && self.is_exact_within(id, dtype, depth - 1);
        let is_float = is_half(dtype);
        match *self.get(id) {
            Expr::Load { dtype: from, .. } | Expr::Round(_, from) => from == dtype,
            Expr::Float { bits, .. } => is_float && is_small_whole(f64::from_bits(bits)),
            Expr::Int(value) => match dtype {
                DType::Int32 => i32::try_from(value).is_ok(),
                DType::Int16 => i16::try_from(value).is_ok(),
                DType::Int8 => i8::try_from(value).is_ok(),
                DType::UInt8 => u8::try_from(value).is_ok(),
                _ => false,
            },
            Expr::Unary(Unary::Neg | Unary::Abs, of) => is_float && is_exact(of),
            Expr::Binary(Binary::Max | Binary::Min, a, b) | Expr::Select(_, a, b) | Expr::Guard(_, a, b) => {
                is_float && is_exact(a) && is_exact(b)
            }
            _ => false,
        }
    }

    /// Returns the value before it was rounded to the type, if storing it as that type rounds.
    pub(crate) fn unrounded(&self, id: ExprId, dtype: DType) -> ExprId {
        match *self.get(id) {
            Expr::Round(of, to) if to == dtype && is_half(dtype) => of,
            _ => id,
        }
    }

    /// Adds a rounding as [`Self::round`] does, to the result of an operation. A product of `float32` gets one, too.
    pub(crate) fn round_result(&mut self, of: ExprId, dtype: DType) -> ExprId {
        if dtype == DType::Float32 && self.is_product(of) {
            return self.add(Expr::Round(of, dtype), ValueKind::F32);
        }
        self.round(of, dtype)
    }

    /// Returns whether a value is a product in `float32`; quotients by constants are multiples of their inverse on CUDA devices.
    pub(crate) fn is_product(&self, id: ExprId) -> bool {
        let is_multiple = match *self.get(id) {
            Expr::Binary(Binary::Mul, ..) => true,
            Expr::Binary(Binary::Div, _, by) => {
                matches!(self.get(by), Expr::Float { .. } | Expr::Extent { is_divisor: false, .. })
            }
            _ => false,
        };
        is_multiple && self.kind(id) == ValueKind::F32
    }

    pub(crate) fn reduced(&mut self, tensor: usize, kept: Vec<Index>, kind: ValueKind) -> ExprId {
        self.add(Expr::Reduced { tensor, kept, kind }, kind)
    }

    /// Calls `visit` with the operands, including those inside indices.
    pub(crate) fn for_each_operand(&self, id: ExprId, visit: &mut impl FnMut(ExprId)) {
        match self.get(id) {
            Expr::Float { .. } | Expr::Int(_) | Expr::Bool(_) | Expr::Extent { .. } => {}
            Expr::Load { at: index, .. } | Expr::Position(index) | Expr::InRange { index, .. } => {
                for_each_value(index, visit);
            }
            Expr::Unary(_, a) | Expr::Convert(a, _) | Expr::Round(a, _) => visit(*a),
            Expr::Binary(_, a, b) => {
                visit(*a);
                visit(*b);
            }
            Expr::Select(a, b, c) | Expr::Guard(a, b, c) => {
                visit(*a);
                visit(*b);
                visit(*c);
            }
            Expr::Reduced { kept, .. } => kept.iter().for_each(|index| for_each_value(index, visit)),
        }
    }

    /// Calls `visit` with every index of the expression itself.
    pub(crate) fn for_each_index(&self, id: ExprId, visit: &mut impl FnMut(&Index)) {
        match self.get(id) {
            Expr::Load { at: index, .. } | Expr::Position(index) | Expr::InRange { index, .. } => visit(index),
            Expr::Reduced { kept, .. } => kept.iter().for_each(visit),
            _ => {}
        }
    }

    /// Returns all values from which the roots are computed, operands before users.
    pub(crate) fn reachable(&self, roots: &[ExprId]) -> Vec<ExprId> {
        self.reachable_beyond(roots, &|_| false)
    }

    /// Returns the values of [`Self::reachable`], without the operands of known values that nothing else uses.
    pub(crate) fn reachable_beyond(&self, roots: &[ExprId], is_known: &dyn Fn(ExprId) -> bool) -> Vec<ExprId> {
        let mut seen = vec![false; self.exprs.len()];
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut seen[id as usize], true) && !is_known(id) {
                self.for_each_operand(id, &mut |operand| stack.push(operand));
            }
        }
        // Operands were added before their users.
        (0..self.exprs.len() as ExprId).filter(|&id| seen[id as usize]).collect()
    }
}
