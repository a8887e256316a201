//! Pointwise operations that are short formulas of others.

use passnet_graph::Target;
use passnet_record::DType;

use super::{Lowering, call::Call};
use crate::front::constants::rounded_to;
use crate::front::{
    expr::{Binary, Unary},
    scalar::{PythonNumber, ScalarFn, as_scalar},
    tensor::TensorId,
};

impl<'g> Lowering<'g> {
    pub(super) fn derived(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        match call.name {
            "add" | "sub" | "rsub" => self.scaled_sum(call, dtype),
            "addcdiv" => self.quotient_added(call, dtype),
            "lerp" => self.interpolated_between(call, dtype),
            "fmod" | "remainder" => self.rest_of_division(call, dtype),
            "div" | "floor_divide" | "floordiv" => self.whole_quotient(call, dtype),
            "isnan" | "isinf" | "isfinite" => self.kind_of_number(call),
            "nan_to_num" => self.without_infinities(call, dtype),
            "logical_xor" => self.of_conditions(call, Binary::Xor),
            "frac" => {
                let x = self.tensor(call.subject()?)?;
                let whole = self.map(ScalarFn::Unary(Unary::Trunc), &[x], dtype)?;
                self.combined(Binary::Sub, x, whole)
            }
            "round" => {
                let x = self.tensor(call.subject()?)?;
                (call.given(1, "decimals").is_none() && dtype.is_float()).then_some(())?;
                self.map(ScalarFn::Unary(Unary::Round), &[x], dtype)
            }
            "threshold" => {
                let x = self.tensor(call.subject()?)?;
                let (limit, value) = (call.float(1, "threshold", 0.0)?, as_scalar(call.arg(2, "value")?)?);
                call.bool(3, "inplace", false)?;
                dtype.is_float().then_some(())?;
                // For half types, eager mode compares with the limit as a `float32` on CPUs and rounds it on CUDA.
                (rounded_to(limit, dtype) == limit).then_some(())?;
                let limit = self.number(limit, x);
                let is_cut = self.compared(Binary::Le, x, limit)?;
                self.map(ScalarFn::MaskedFill(value), &[x, is_cut], dtype)
            }
            "hardshrink" => self.shrunk(call, dtype),
            "softsign" => {
                // Three operations, each of which rounds.
                let x = self.tensor(call.subject()?)?;
                let size = self.map(ScalarFn::Unary(Unary::Abs), &[x], dtype)?;
                let one = self.number(1.0, x);
                let divisor = self.combined(Binary::Add, size, one)?;
                dtype.is_float().then_some(())?;
                self.combined(Binary::Div, x, divisor)
            }
            _ => None,
        }
    }

    /// Returns `x + alpha * y`, rounded once.
    fn scaled_sum(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let (mut x, mut y) = (self.tensor(call.subject()?)?, self.tensor(call.arg(1, "other")?)?);
        let alpha = call.float(2, "alpha", 1.0)?;
        // For half types, eager mode on CPUs rounds the product too.
        matches!(dtype, DType::Float32 | DType::Float64).then_some(())?;
        [x, y].iter().all(|&of| self.tensors[of].dtype == dtype).then_some(())?;
        if call.name == "rsub" {
            (x, y) = (y, x);
        }
        let (x, y) = (self.widen(x)?, self.widen(y)?);
        let alpha = self.number(alpha, y);
        let product = self.combined(Binary::Mul, y, alpha)?;
        let sum = self.combined(if call.name == "add" { Binary::Add } else { Binary::Sub }, x, product)?;
        Some(self.cast(sum, dtype))
    }

    /// Returns `x + value * (a / b)`, rounded once.
    fn quotient_added(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let value = call.float(usize::MAX, "value", 1.0)?;
        let mut wide = Vec::new();
        for arg in [call.subject()?, call.arg(1, "tensor1")?, call.arg(2, "tensor2")?] {
            let operand = self.tensor(arg)?;
            (self.tensors[operand].dtype == dtype).then_some(())?;
            wide.push(self.widen(operand)?);
        }
        let value = self.number(value, wide[0]);
        let part = match self.target {
            Target::Cpu => {
                let product = self.combined(Binary::Mul, wide[1], value)?;
                self.combined(Binary::Div, product, wide[2])?
            }
            Target::Cuda => {
                let quotient = self.combined(Binary::Div, wide[1], wide[2])?;
                self.combined(Binary::Mul, quotient, value)?
            }
        };
        let sum = self.combined(Binary::Add, wide[0], part)?;
        Some(self.cast(sum, dtype))
    }

    /// Returns the point between two tensors. PyTorch begins at the nearer end. The weight 1 stays with PyTorch: on CPUs, the sign of
    /// its zeros depends on the place of the element.
    fn interpolated_between(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let (start, end) = (self.tensor(call.subject()?)?, self.tensor(call.arg(1, "end")?)?);
        let weight = as_scalar(call.arg(2, "weight")?)?.as_f64();
        [start, end].iter().all(|&of| self.tensors[of].dtype == dtype).then_some(())?;
        let (start, end) = (self.widen(start)?, self.widen(end)?);
        let is_double = dtype == DType::Float64;
        let weight = if is_double { weight } else { f64::from(weight as f32) };
        (weight != 1.0).then_some(())?;
        let distance = self.combined(Binary::Sub, end, start)?;
        let rest = if is_double { 1.0 - weight } else { f64::from(1.0 - weight as f32) };
        let (op, nearer, part) =
            if weight.abs() < 0.5 { (Binary::Add, start, weight) } else { (Binary::Sub, end, rest) };
        let part = self.number(part, start);
        let step = self.combined(Binary::Mul, distance, part)?;
        let result = self.combined(op, nearer, step)?;
        Some(self.cast(result, dtype))
    }

    fn kind_of_number(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let dtype = self.tensors[x].dtype;
        dtype.is_float().then_some(())?;
        if call.name == "isnan" {
            return self.compared(Binary::Ne, x, x);
        }
        let size = self.map(ScalarFn::Unary(Unary::Abs), &[x], dtype)?;
        let infinity = self.number(f64::INFINITY, x);
        self.compared(if call.name == "isinf" { Binary::Eq } else { Binary::Lt }, size, infinity)
    }

    /// Lowers `nan_to_num`. Infinities become the largest numbers of the type, unless the call names others.
    fn without_infinities(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let largest = match dtype {
            DType::Float16 => 65_504.0,
            DType::BFloat16 => f64::from(f32::from_bits(0x7f7f_0000)),
            DType::Float32 => f64::from(f32::MAX),
            DType::Float64 => f64::MAX,
            _ => return None,
        };
        let nan = call.float(1, "nan", 0.0)?;
        let (above, below) = (call.float(2, "posinf", largest)?, call.float(3, "neginf", -largest)?);
        let mut result = x;
        for (place, value) in [(f64::INFINITY, above), (f64::NEG_INFINITY, below)] {
            let place = self.number(place, x);
            let is_there = self.compared(Binary::Eq, x, place)?;
            result = self.map(ScalarFn::MaskedFill(PythonNumber::Float(value)), &[result, is_there], dtype)?;
        }
        let is_nan = self.compared(Binary::Ne, x, x)?;
        self.map(ScalarFn::MaskedFill(PythonNumber::Float(nan)), &[result, is_nan], dtype)
    }

    /// Lowers `hardshrink`. `softshrink` stays with PyTorch: on CPUs, the sign of its zeros depends on the place of the element.
    fn shrunk(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let limit = call.float(1, "lambd", 0.5)?;
        (dtype.is_float() && limit >= 0.0).then_some(())?;
        let limit = rounded_to(limit, dtype);
        let (high, low, zero) = (self.number(limit, x), self.number(-limit, x), self.number(0.0, x));
        let (above, below) = (self.compared(Binary::Le, low, x)?, self.compared(Binary::Le, x, high)?);
        let is_small = self.map(ScalarFn::Binary(Binary::And), &[above, below], DType::Bool)?;
        self.map(ScalarFn::Where, &[is_small, zero, x], dtype)
    }
}
