//! Rests of divisions, and divisions that round to whole numbers.

use passnet_graph::{Arg, Target};
use passnet_record::DType;

use super::{Lowering, broadcast_shape, call::Call};
use crate::front::{
    expr::{Binary, Unary},
    scalar::{PythonNumber, ScalarFn, as_scalar},
    tensor::{Def, TensorId},
};

impl<'g> Lowering<'g> {
    /// Returns both operands of a division in the type of the result. A divisor of integers must be a number of their type, but not
    /// 0, at which eager mode raises an error, and not -1, whose quotient may overflow.
    fn division(&mut self, call: &Call<'g>, dtype: DType) -> Option<[TensorId; 2]> {
        if !dtype.is_float() {
            matches!(call.arg(1, "other")?, Arg::Int(by) if by != 0 && by != -1 && holds(dtype, by)).then_some(())?;
        }
        let mut operands = self.operands(call, dtype)?;
        self.store_numbers(&mut operands, dtype);
        let [a, b] = operands;
        let broadcast = broadcast_shape(&self.tensors[a].shape, &self.tensors[b].shape)?;
        (broadcast == self.result_type(call)?.shape).then_some(())?;
        operands.iter().all(|&of| self.tensors[of].dtype == dtype).then_some(operands)
    }

    /// Returns the rest of a division: with the sign of the dividend (`fmod`) or of the divisor (`remainder`).
    pub(super) fn rest_of_division(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        // For other types of floats, CPUs give NaN where the quotient overflows and the element is in a full vector. On CUDA, the
        // function that kernels have takes subnormal numbers as 0.
        let is_exact = !dtype.is_float()
            || dtype == DType::Float16
            || (self.target == Target::Cpu
                && as_scalar(call.arg(1, "other")?).is_some_and(|by| by.as_f64() == 0.0 || by.as_f64().abs() >= 1.0));
        is_exact.then_some(())?;
        let [a, b] = self.division(call, dtype)?;
        let rest = self.combined(Binary::Rest, a, b)?;
        if call.name == "fmod" {
            return Some(rest);
        }
        let is_off = self.has_other_sign(rest, b)?;
        let moved = self.combined(Binary::Add, rest, b)?;
        self.map(ScalarFn::Where, &[is_off, moved, rest], dtype)
    }

    /// Returns whether the rest of a division is not 0 and its sign is not that of the divisor.
    fn has_other_sign(&mut self, rest: TensorId, by: TensorId) -> Option<TensorId> {
        let zero = self.tensors.add(Vec::new(), self.tensors[rest].dtype, Def::Fill(PythonNumber::Int(0)));
        let (is_below, by_is_below) = (self.compared(Binary::Lt, rest, zero)?, self.compared(Binary::Lt, by, zero)?);
        let differs = self.map(ScalarFn::Binary(Binary::Xor), &[is_below, by_is_below], DType::Bool)?;
        let is_not_zero = self.compared(Binary::Ne, rest, zero)?;
        self.map(ScalarFn::Binary(Binary::And), &[is_not_zero, differs], DType::Bool)
    }

    /// Lowers divisions that round to whole numbers: `div` with a rounding mode, and `//`.
    pub(super) fn whole_quotient(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let is_floor = match call.given(usize::MAX, "rounding_mode") {
            // An ordinary division.
            None if call.name == "div" => return None,
            None => true,
            Some(Arg::Str(mode)) if call.graph.str(mode) == "floor" => true,
            Some(Arg::Str(mode)) if call.graph.str(mode) == "trunc" => false,
            Some(_) => return None,
        };
        let [a, b] = self.division(call, dtype)?;
        if dtype.is_float() {
            // For half types, eager mode on CPUs rounds the quotient before it becomes whole. On CUDA, it multiplies by the inverse
            // of a number.
            let is_whole_at_once = matches!(dtype, DType::Float32 | DType::Float64);
            (is_whole_at_once && self.target == Target::Cpu).then_some(())?;
            let quotient = self.combined(Binary::Div, a, b)?;
            return match is_floor {
                true => self.floor_of_quotient(a, b, quotient),
                false => self.map(ScalarFn::Unary(Unary::Trunc), &[quotient], dtype),
            };
        }
        let quotient = self.combined(Binary::Quotient, a, b)?;
        if !is_floor {
            return Some(quotient);
        }
        let rest = self.combined(Binary::Rest, a, b)?;
        let is_off = self.has_other_sign(rest, b)?;
        let excess = self.cast(is_off, dtype);
        self.combined(Binary::Sub, quotient, excess)
    }

    /// Returns the floor of `a / b` as PyTorch and Python compute it: from the rest of the division, because the quotient is rounded.
    fn floor_of_quotient(&mut self, a: TensorId, b: TensorId, quotient: TensorId) -> Option<TensorId> {
        let dtype = self.tensors[a].dtype;
        let (zero, half, one) = (self.number(0.0, a), self.number(0.5, a), self.number(1.0, a));
        let rest = self.combined(Binary::Rest, a, b)?;
        let multiple = self.combined(Binary::Sub, a, rest)?;
        let exact = self.combined(Binary::Div, multiple, b)?;
        let lower = self.combined(Binary::Sub, exact, one)?;
        let is_off = self.has_other_sign(rest, b)?;
        let exact = self.map(ScalarFn::Where, &[is_off, lower, exact], dtype)?;
        let floor = self.map(ScalarFn::Unary(Unary::Floor), &[exact], dtype)?;
        let distance = self.combined(Binary::Sub, exact, floor)?;
        let next = self.combined(Binary::Add, floor, one)?;
        let is_nearer = self.compared(Binary::Lt, half, distance)?;
        let floor = self.map(ScalarFn::Where, &[is_nearer, next, floor], dtype)?;
        // The sign of a zero is that of the quotient.
        let signed_zero = self.combined(Binary::Mul, quotient, zero)?;
        let is_not_zero = self.compared(Binary::Ne, exact, zero)?;
        let floor = self.map(ScalarFn::Where, &[is_not_zero, floor, signed_zero], dtype)?;
        let by_zero = self.compared(Binary::Eq, b, zero)?;
        self.map(ScalarFn::Where, &[by_zero, quotient, floor], dtype)
    }
}

/// Returns whether a type of integers has a number.
fn holds(dtype: DType, value: i64) -> bool {
    match dtype {
        DType::Int64 => true,
        DType::Int32 => i32::try_from(value).is_ok(),
        DType::Int16 => i16::try_from(value).is_ok(),
        DType::Int8 => i8::try_from(value).is_ok(),
        DType::UInt8 => u8::try_from(value).is_ok(),
        _ => false,
    }
}
