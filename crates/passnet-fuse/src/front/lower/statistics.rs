//! Variances, and logarithms of sums of exponentials.

use passnet_graph::{Arg, Target};
use passnet_record::DType;

use super::{
    Lowering,
    call::{Call, dimension},
};
use crate::front::{
    expr::{Binary, ReduceOp, Unary},
    scalar::ScalarFn,
    tensor::TensorId,
};

impl<'g> Lowering<'g> {
    pub(super) fn statistics(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        match call.name {
            "var" | "std" => self.variance(call, dtype),
            "log_softmax" => self.log_softmax(call, dtype),
            "logsumexp" => self.log_sum_exp(call, dtype),
            _ => None,
        }
    }

    /// Returns the variance `sum((x - mean)^2) / (count - correction)`, or its root.
    fn variance(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        // In `x.var(False)`, the argument is the flag `unbiased`, and the variance is over all dimensions.
        let is_of_all = matches!(call.given(1, "dim"), Some(Arg::Bool(_)));
        let (reduced, is_corrected) = match is_of_all {
            true => (vec![true; self.tensors[x].shape.len()], call.bool(1, "unbiased", true)?),
            false => (call.marked_dims(1, self.tensors[x].shape.len())?, call.bool(2, "unbiased", true)?),
        };
        let keep = if is_of_all { false } else { call.bool(3, "keepdim", false)? };
        let correction = match call.given(usize::MAX, "correction") {
            Some(Arg::Int(correction)) => correction,
            Some(_) => return None,
            None => is_corrected.into(),
        };
        let dims = self.tensors[x].shape.iter().zip(&reduced);
        let count: i64 = dims.filter(|&(_, &reduced)| reduced).map(|(&extent, _)| extent).product();
        // PyTorch warns if the divisor is 0, so such a call stays.
        (correction >= 0 && count > correction).then_some(())?;
        let wide = match self.target {
            // Eager mode sums in double precision on a CPU. The difference is visible for rows of nearly equal large values.
            Target::Cpu if dtype.is_float() => self.cast(x, DType::Float64),
            _ => self.widen(x)?,
        };
        let wide_type = self.tensors[wide].dtype;
        let squares = self.moments(wide, &reduced, keep)?.squares;
        let mut result = self.map(ScalarFn::DivideBy(count - correction), &[squares], wide_type)?;
        if call.name == "std" {
            result = self.map(ScalarFn::Unary(Unary::Sqrt), &[result], wide_type)?;
        }
        Some(self.cast(result, dtype))
    }

    /// Returns `(x - max) - log(sum(exp(x - max)))`. This order keeps small differences of large values.
    fn log_softmax(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let rank = self.tensors[x].shape.len();
        let dim = dimension(call.int(1, "dim")?, rank)?;
        let reduced: Vec<bool> = (0..rank).map(|place| place == dim).collect();
        let x = self.wide_as(x, dtype)?;
        let wide = self.tensors[x].dtype;
        let largest = self.reduce(ReduceOp::Max, x, &reduced, true);
        let shifted = self.map(ScalarFn::Binary(Binary::Sub), &[x, largest], wide)?;
        let power = self.map(ScalarFn::Unary(Unary::Exp), &[shifted], wide)?;
        let mut sum = self.reduce(ReduceOp::Sum, power, &reduced, true);
        // Eager mode stores sums and logarithms of the last dimension in the type of the result on a CPU.
        let is_stored = self.target == Target::Cpu && dim + 1 == rank;
        if is_stored {
            sum = self.rounded(sum, dtype);
        }
        let mut log = self.map(ScalarFn::Unary(Unary::Log), &[sum], wide)?;
        if is_stored {
            log = self.rounded(log, dtype);
        }
        let result = self.map(ScalarFn::Binary(Binary::Sub), &[shifted, log], wide)?;
        Some(self.cast(result, dtype))
    }

    /// Returns `max + log(sum(exp(x - max)))`, with 0 in place of an infinite maximum. PyTorch computes it by five operations,
    /// each of which rounds to the type of the result.
    fn log_sum_exp(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        call.given(1, "dim")?;
        let reduced = call.marked_dims(1, self.tensors[x].shape.len())?;
        let keep = call.bool(2, "keepdim", false)?;
        let x = self.wide_as(x, dtype)?;
        let wide = self.tensors[x].dtype;
        let largest = self.reduce(ReduceOp::Max, x, &reduced, true);
        let size = self.map(ScalarFn::Unary(Unary::Abs), &[largest], wide)?;
        let infinity = self.fill(f64::INFINITY, wide);
        let is_infinite = self.map(ScalarFn::Compare(Binary::Eq, wide), &[size, infinity], DType::Bool)?;
        let zero = self.fill(0.0, wide);
        let shift = self.map(ScalarFn::Where, &[is_infinite, zero, largest], wide)?;
        let shifted = self.map(ScalarFn::Binary(Binary::Sub), &[x, shift], wide)?;
        let shifted = self.rounded(shifted, dtype);
        let power = self.map(ScalarFn::Unary(Unary::Exp), &[shifted], wide)?;
        let power = self.rounded(power, dtype);
        let sum = self.reduce(ReduceOp::Sum, power, &reduced, true);
        let sum = self.rounded(sum, dtype);
        let log = self.map(ScalarFn::Unary(Unary::Log), &[sum], wide)?;
        let log = self.rounded(log, dtype);
        let result = self.map(ScalarFn::Binary(Binary::Add), &[log, shift], wide)?;
        let result = self.cast(result, dtype);
        let shape = self.result_type(call)?.shape.clone();
        Some(if keep { result } else { self.reshape(result, &shape) })
    }
}
