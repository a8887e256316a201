//! Reductions and the operations that are built from them: softmax, normalisation layers, global pooling.

use passnet_graph::{Arg, Target};
use passnet_record::DType;

use super::{
    Lowering,
    call::{Call, dimension},
    dimensions,
};
use crate::front::{
    constants::is_half,
    expr::{Binary, ReduceOp, Unary},
    scalar::{PythonNumber, ScalarFn},
    tensor::{Def, Keeps, TensorId},
};

/// Longest cumulative sum on a GPU, whose elements are computed one by one.
const LONGEST_CUMULATIVE_SUM: i64 = 2048;

impl<'g> Lowering<'g> {
    pub(super) fn normalize(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        match call.name {
            "sum" | "mean" | "amax" | "amin" => {
                let x = self.tensor(call.subject()?)?;
                let reduced = call.marked_dims(1, self.tensors[x].shape.len())?;
                let keep = call.bool(2, "keepdim", false)?;
                let result = match call.name {
                    "amax" => self.reduce(ReduceOp::Max, x, &reduced, keep),
                    "amin" => self.reduce(ReduceOp::Min, x, &reduced, keep),
                    name => {
                        // PyTorch sums half types in `float32` and rounds the result. Integers are exact in the type
                        // of the result.
                        let wide = if dtype.is_float() { self.wide_as(x, dtype)? } else { self.cast(x, dtype) };
                        match name {
                            "sum" => self.reduce(ReduceOp::Sum, wide, &reduced, keep),
                            _ => self.mean(wide, &reduced, keep)?,
                        }
                    }
                };
                Some(self.cast(result, dtype))
            }
            "all" | "any" if dtype == DType::Bool => {
                let x = self.tensor(call.subject()?)?;
                let reduced = call.marked_dims(1, self.tensors[x].shape.len())?;
                let keep = call.bool(2, "keepdim", false)?;
                let x = self.cast(x, DType::Bool);
                // There is no reduction of booleans: `all` is the least and `any` the largest of 0 and 1.
                let x = self.cast(x, DType::Int64);
                let result =
                    self.reduce(if call.name == "all" { ReduceOp::Min } else { ReduceOp::Max }, x, &reduced, keep);
                Some(self.cast(result, DType::Bool))
            }
            "cumsum" => self.cumulative_sum(call, dtype),
            "softmax" => self.softmax(call, dtype),
            "layer_norm" => self.layer_norm(call, dtype),
            "group_norm" => self.group_norm(call, dtype),
            "batch_norm" => self.batch_norm(call, dtype),
            "adaptive_avg_pool2d" | "adaptive_avg_pool1d" => {
                let x = self.tensor(call.subject()?)?;
                let size = call.ints(call.arg(1, "output_size")?)?;
                // Smaller windows are written out: see `resample`.
                size.iter().all(|&extent| extent == 1).then_some(())?;
                let spatial = if call.name.ends_with("2d") { 2 } else { 1 };
                let rank = self.tensors[x].shape.len();
                let reduced: Vec<bool> = (0..rank).map(|dim| dim + spatial >= rank).collect();
                let wide = self.widen(x)?;
                let mean = self.mean(wide, &reduced, true)?;
                Some(self.cast(mean, dtype))
            }
            _ => None,
        }
    }

    /// Returns the operand converted to the result's type, but kept in `float32` where that is a half type.
    pub(super) fn wide_as(&mut self, x: TensorId, dtype: DType) -> Option<TensorId> {
        let x = self.cast(x, dtype);
        self.widen(x)
    }

    /// Defines each element as a separate sum. A kernel for a CPU computes it from the sum before (`plan::running`), in the order
    /// and the type of PyTorch's own loop. On a GPU, PyTorch adds floats in another order, so only integers are expressed there:
    /// these are exact in any order, and so are counts of true elements in `float32`.
    fn cumulative_sum(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let shape = self.tensors[x].shape.clone();
        let dim = dimension(call.int(1, "dim")?, shape.len())?;
        let extent = shape[dim];
        let is_count = dtype == DType::Float32 && self.tensors[x].dtype == DType::Bool;
        let (result_type, dtype) = match (dtype, self.target) {
            (DType::Int64, _) => (dtype, DType::Int64),
            _ if is_count => (dtype, DType::Int64),
            (DType::Float32 | DType::Float64, Target::Cpu) => (dtype, DType::Float64),
            (DType::Float16 | DType::BFloat16, Target::Cpu) => (dtype, DType::Float32),
            _ => return None,
        };
        (self.target == Target::Cpu || extent <= LONGEST_CUMULATIVE_SUM).then_some(())?;
        // The cumulative sum of a constant needs no sum. Models compute position ids this way, from a mask of ones.
        if let (Def::Fill(PythonNumber::Int(value)), DType::Int64) = (&self.tensors[x].def, dtype) {
            let value = *value;
            let multiples = self.tensors.add(vec![extent], dtype, Def::Range { start: value, step: value });
            let mut along = vec![1; shape.len()];
            along[dim] = extent;
            let multiples = self.reshape(multiples, &along);
            let multiples = self.expand(multiples, &shape)?;
            return Some(self.cast(multiples, result_type));
        }
        // As PyTorch, which converts the elements to the type of the result before it adds them.
        let x = if is_count { x } else { self.cast(x, result_type) };
        let x = self.cast(x, dtype);
        let whole = [shape.as_slice(), &[extent]].concat();
        let (_, dims) = dimensions(&whole);
        let mut index = dims[..shape.len()].to_vec();
        index[dim] = dims[shape.len()].clone();
        let terms = self.tensors.add(whole.clone(), dtype, Def::View { of: x, index, keeps: Keeps::Some });
        let mut own = vec![1; whole.len()];
        own[dim] = extent;
        let positions = self.tensors.add(vec![extent], DType::Int64, Def::Range { start: 0, step: 1 });
        let ends = self.reshape(positions, &own);
        let is_met = self.map(ScalarFn::Compare(Binary::Le, DType::Int64), &[positions, ends], DType::Bool)?;
        let zero = self.tensors.add(Vec::new(), dtype, Def::Fill(PythonNumber::Int(0)));
        let terms = self.map(ScalarFn::Where, &[is_met, terms, zero], dtype)?;
        let reduced: Vec<bool> = (0..whole.len()).map(|dim| dim == shape.len()).collect();
        let sums = self.reduce_at_once(ReduceOp::Sum, terms, &reduced, false);
        self.tensors.mark_cumulative(sums);
        Some(self.cast(sums, result_type))
    }

    fn softmax(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let rank = self.tensors[x].shape.len();
        let dim = call.int(1, "dim")?;
        let mut reduced = vec![false; rank];
        reduced[dimension(dim, rank)?] = true;
        let x = self.wide_as(x, dtype)?;
        let wide = self.tensors[x].dtype;
        let largest = self.reduce(ReduceOp::Max, x, &reduced, true);
        // Subtracting the largest element keeps `exp` finite, as in PyTorch; the quotient is the same.
        let shifted = self.map(ScalarFn::Binary(Binary::Sub), &[x, largest], wide)?;
        let power = self.map(ScalarFn::Unary(Unary::Exp), &[shifted], wide)?;
        let sum = self.reduce(ReduceOp::Sum, power, &reduced, true);
        let quotient = self.map(ScalarFn::Binary(Binary::Div), &[power, sum], wide)?;
        Some(self.cast(quotient, dtype))
    }

    /// Returns `(x - mean) / sqrt(variance + eps)` with the biased variance over the marked dimensions.
    fn standardize(&mut self, x: TensorId, reduced: &[bool], eps: f64) -> Option<TensorId> {
        let wide = self.tensors[x].dtype;
        let (_, centred, variance) = self.variance_of(x, reduced)?;
        let scale = self.inverse_deviation(variance, eps)?;
        self.map(ScalarFn::Binary(Binary::Mul), &[centred, scale], wide)
    }

    /// Returns the value as it is after being stored in a narrower type.
    pub(super) fn rounded(&mut self, x: TensorId, dtype: DType) -> TensorId {
        let wide = self.tensors[x].dtype;
        let narrow = self.cast(x, dtype);
        self.cast(narrow, wide)
    }

    pub(super) fn inverse_deviation(&mut self, variance: TensorId, eps: f64) -> Option<TensorId> {
        let wide = self.tensors[variance].dtype;
        let eps = self.fill(eps, wide);
        let sum = self.map(ScalarFn::Binary(Binary::Add), &[variance, eps], wide)?;
        self.map(ScalarFn::Rsqrt, &[sum], wide)
    }

    /// `x * weight + bias` where these are given, with their shape in the place of the normalised dimensions.
    pub(super) fn affine(
        &mut self,
        x: TensorId,
        weight: Option<Arg>,
        bias: Option<Arg>,
        shape: &[i64],
    ) -> Option<TensorId> {
        let wide = self.tensors[x].dtype;
        let mut result = x;
        for (arg, op) in [(weight, Binary::Mul), (bias, Binary::Add)] {
            if let Some(arg) = arg {
                let factor = self.tensor(arg)?;
                let factor = self.cast(factor, wide);
                let factor = self.reshape(factor, shape);
                result = self.map(ScalarFn::Binary(op), &[result, factor], wide)?;
            }
        }
        Some(result)
    }

    fn layer_norm(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let normalized = call.ints(call.arg(1, "normalized_shape")?)?;
        // On a CPU, PyTorch computes x * scale - mean * scale in half types: the results of rows of one element are rounding errors, and
        // not 0. A later normalisation enlarges them.
        let is_one = normalized.iter().product::<i64>() == 1;
        let is_noise = self.target == Target::Cpu && is_one && is_half(self.tensors[x].dtype);
        (!is_noise).then_some(())?;
        let eps = call.float(4, "eps", 1e-5)?;
        let rank = self.tensors[x].shape.len();
        let reduced: Vec<bool> = (0..rank).map(|dim| dim + normalized.len() >= rank).collect();
        let wide = self.widen(x)?;
        let standard = self.standardize(wide, &reduced, eps)?;
        let result = self.affine(standard, call.given(2, "weight"), call.given(3, "bias"), &normalized)?;
        Some(self.cast(result, dtype))
    }

    fn group_norm(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let groups = call.int(1, "num_groups")?;
        let eps = call.float(4, "eps", 1e-5)?;
        let shape = self.tensors[x].shape.clone();
        let [batch, channels, spatial @ ..] = shape.as_slice() else { return None };
        (groups > 0 && channels % groups == 0).then_some(())?;
        let wide = self.widen(x)?;
        let mut grouped = vec![*batch, groups, channels / groups];
        grouped.extend_from_slice(spatial);
        let grouped_x = self.reshape(wide, &grouped);
        let wide_type = self.tensors[wide].dtype;
        let reduced: Vec<bool> = (0..grouped.len()).map(|dim| dim >= 2).collect();
        let (mut mean, _, variance) = self.variance_of(grouped_x, &reduced)?;
        let inverse = match self.target {
            Target::Cpu => {
                // Eager mode computes the deviation in double precision there. If all elements of a row are one large value, the
                // sum below consists of rounding errors only.
                let variance = self.cast(variance, DType::Float64);
                let inverse = self.inverse_deviation(variance, eps)?;
                self.cast(inverse, wide_type)
            }
            Target::Cuda => {
                // Eager mode keeps the statistics in the type of the input in this case.
                mean = self.rounded(mean, dtype);
                let inverse = self.inverse_deviation(variance, eps)?;
                self.rounded(inverse, dtype)
            }
        };
        // As eager mode: x * scale + shift, scale = weight / deviation, shift = bias - scale * mean.
        let mut channel = vec![groups, channels / groups];
        channel.resize(shape.len(), 1);
        let scale = self.affine(inverse, call.given(2, "weight"), None, &channel)?;
        let product = self.map(ScalarFn::Binary(Binary::Mul), &[scale, mean], wide_type)?;
        let negated = self.map(ScalarFn::Unary(Unary::Neg), &[product], wide_type)?;
        let shift = self.affine(negated, None, call.given(3, "bias"), &channel)?;
        let scaled = self.map(ScalarFn::Binary(Binary::Mul), &[grouped_x, scale], wide_type)?;
        let result = self.map(ScalarFn::Binary(Binary::Add), &[scaled, shift], wide_type)?;
        let result = self.cast(result, dtype);
        Some(self.reshape(result, &shape))
    }

    /// `weight * (x - mean) / deviation`, as eager mode on a CUDA device.
    fn weighted(
        &mut self,
        x: TensorId,
        (mean, variance): (TensorId, TensorId),
        weight: Option<Arg>,
        eps: f64,
        channel: &[i64],
    ) -> Option<TensorId> {
        let wide = self.tensors[x].dtype;
        let inverse = self.inverse_deviation(variance, eps)?;
        let (mean, inverse) = (self.reshape(mean, channel), self.reshape(inverse, channel));
        let centred = self.map(ScalarFn::Binary(Binary::Sub), &[x, mean], wide)?;
        let weighted = self.affine(centred, weight, None, channel)?;
        self.map(ScalarFn::Binary(Binary::Mul), &[weighted, inverse], wide)
    }

    /// Lowers a batch normalisation with running statistics, or with those of the batch if there are no running statistics to
    /// update.
    fn batch_norm(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let trains = call.bool(5, "training", false)?;
        let eps = call.float(7, "eps", 1e-5)?;
        let shape = self.tensors[x].shape.clone();
        (shape.len() >= 2).then_some(())?;
        let mut channel = vec![1; shape.len() - 1];
        channel[0] = shape[1];
        let (weight, bias) = (call.given(3, "weight"), call.given(4, "bias"));
        let wide = self.widen(x)?;
        let wide_type = self.tensors[wide].dtype;
        let statistics = (call.given(1, "running_mean"), call.given(2, "running_var"));
        let result = match (trains, statistics) {
            (true, (None, None)) => {
                let reduced: Vec<bool> = (0..shape.len()).map(|dim| dim != 1).collect();
                // Eager mode keeps the statistics in the type of the input, and so rounds them.
                let (mean, _, variance) = self.variance_of(wide, &reduced)?;
                let scale = self.inverse_deviation(variance, eps)?;
                let (mean, scale) = (self.rounded(mean, dtype), self.rounded(scale, dtype));
                let centred = self.map(ScalarFn::Binary(Binary::Sub), &[wide, mean], wide_type)?;
                let standard = self.map(ScalarFn::Binary(Binary::Mul), &[centred, scale], wide_type)?;
                self.affine(standard, weight, bias, &channel)?
            }
            (false, (Some(mean), Some(variance))) => {
                let (mean, variance) = (self.tensor(mean)?, self.tensor(variance)?);
                let statistics_type = self.tensors[mean].dtype;
                let (mean, variance) = (self.cast(mean, wide_type), self.cast(variance, wide_type));
                if self.target == Target::Cuda {
                    let standard = self.weighted(wide, (mean, variance), weight, eps, &channel)?;
                    let result = self.affine(standard, None, bias, &channel)?;
                    return Some(self.cast(result, dtype));
                }
                // As eager mode on a CPU: x * alpha + beta, alpha = weight / deviation, beta = bias - mean * alpha. PyTorch's
                // compiler contracts the formula of beta for all types except float16.
                let inverse = self.inverse_deviation(variance, eps)?;
                let alpha = self.affine(inverse, weight, None, &[shape[1]])?;
                let product = self.map(ScalarFn::Binary(Binary::Mul), &[mean, alpha], wide_type)?;
                if statistics_type == DType::Float16 {
                    self.tensors.mark_result(product);
                }
                let bias = match bias {
                    Some(bias) => {
                        let bias = self.tensor(bias)?;
                        self.cast(bias, wide_type)
                    }
                    None => self.tensors.add(Vec::new(), wide_type, Def::Fill(PythonNumber::Int(0))),
                };
                let beta = self.map(ScalarFn::Binary(Binary::Sub), &[bias, product], wide_type)?;
                let (alpha, beta) = (self.reshape(alpha, &channel), self.reshape(beta, &channel));
                let scaled = self.map(ScalarFn::Binary(Binary::Mul), &[wide, alpha], wide_type)?;
                self.map(ScalarFn::Binary(Binary::Add), &[scaled, beta], wide_type)?
            }
            _ => return None,
        };
        Some(self.cast(result, dtype))
    }
}
