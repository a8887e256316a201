//! Norms along dimensions, and operations that divide by a norm.

use passnet_graph::Arg;
use passnet_record::DType;

use super::{
    Lowering,
    call::{Call, dimension},
};
use crate::front::{
    expr::{Binary, ReduceOp, Unary},
    scalar::{PythonNumber, ScalarFn, as_scalar},
    tensor::TensorId,
};

impl<'g> Lowering<'g> {
    pub(super) fn norms(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        match call.name {
            "rms_norm" => self.rms_norm(call, dtype),
            "_weight_norm" => self.weight_norm(call, dtype),
            "norm" | "linalg_norm" | "linalg_vector_norm" => {
                let x = self.tensor(call.subject()?)?;
                is_euclidean(call, 1)?;
                // Of two dimensions or none, `linalg.norm` with an order is the norm of a matrix.
                let is_of_vectors = matches!(call.given(2, "dim"), Some(Arg::Int(_)));
                (call.name != "linalg_norm" || call.given(1, "ord").is_none() || is_of_vectors).then_some(())?;
                let reduced = call.marked_dims(2, self.tensors[x].shape.len())?;
                let keep = call.bool(3, "keepdim", false)?;
                self.euclidean(x, &reduced, keep, dtype)
            }
            "normalize" => {
                let x = self.tensor(call.subject()?)?;
                is_euclidean(call, 1)?;
                let rank = self.tensors[x].shape.len();
                let dim = dimension(call.given(2, "dim").map_or(Some(1), |_| call.int(2, "dim"))?, rank)?;
                let eps = call.float(3, "eps", 1e-12)?;
                let reduced: Vec<bool> = (0..rank).map(|place| place == dim).collect();
                let norm = self.euclidean(x, &reduced, true, dtype)?;
                let least = ScalarFn::Clamp { low: Some(PythonNumber::Float(eps)), high: None };
                let divisor = self.map(least, &[norm], dtype)?;
                self.map(ScalarFn::Binary(Binary::Div), &[x, divisor], dtype)
            }
            _ => None,
        }
    }

    /// Returns `x / sqrt(mean(x * x) + eps) * weight`, rounded once.
    fn rms_norm(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let normalized = call.ints(call.arg(1, "normalized_shape")?)?;
        // Without an `eps`, PyTorch uses a value that depends on the type. Such calls stay with PyTorch.
        let eps = as_scalar(call.given(3, "eps")?)?.as_f64();
        let rank = self.tensors[x].shape.len();
        let reduced: Vec<bool> = (0..rank).map(|dim| dim + normalized.len() >= rank).collect();
        let wide = self.widen(x)?;
        let wide_type = self.tensors[wide].dtype;
        let square = self.map(ScalarFn::Binary(Binary::Mul), &[wide, wide], wide_type)?;
        let mean = self.mean(square, &reduced, true)?;
        // Multiplied by the inverse root, as PyTorch's kernel does: a division rounds otherwise in the last place.
        let scale = self.inverse_deviation(mean, eps)?;
        let standard = self.map(ScalarFn::Binary(Binary::Mul), &[wide, scale], wide_type)?;
        let result = self.affine(standard, call.given(2, "weight"), None, &normalized)?;
        Some(self.cast(result, dtype))
    }

    /// Returns `v * (g / norm(v))`, rounded once, with the norm over all dimensions except one. `torch.nn.utils.parametrizations.weight_norm`
    /// computes weights so in each call.
    fn weight_norm(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let (v, g) = (self.tensor(call.arg(0, "v")?)?, self.tensor(call.arg(1, "g")?)?);
        let shape = self.tensors[v].shape.clone();
        // -1 is no dimension here: it stands for one norm of all elements.
        let kept = usize::try_from(call.given(2, "dim").map_or(Some(0), |_| call.int(2, "dim"))?).ok()?;
        let of_kept: Vec<i64> = (0..shape.len()).map(|dim| if dim == kept { shape[dim] } else { 1 }).collect();
        (self.tensors[g].shape == of_kept && self.tensors[g].dtype == dtype).then_some(())?;
        let reduced: Vec<bool> = (0..shape.len()).map(|dim| dim != kept).collect();
        let (v, g) = (self.widen(v)?, self.widen(g)?);
        let wide = self.tensors[v].dtype;
        let norm = self.euclidean(v, &reduced, true, wide)?;
        let scale = self.map(ScalarFn::Binary(Binary::Div), &[g, norm], wide)?;
        let result = self.map(ScalarFn::Binary(Binary::Mul), &[v, scale], wide)?;
        Some(self.cast(result, dtype))
    }

    fn euclidean(&mut self, x: TensorId, reduced: &[bool], keep: bool, dtype: DType) -> Option<TensorId> {
        let wide = self.widen(x)?;
        let wide_type = self.tensors[wide].dtype;
        let square = self.map(ScalarFn::Binary(Binary::Mul), &[wide, wide], wide_type)?;
        let sum = self.reduce(ReduceOp::Sum, square, reduced, keep);
        let root = self.map(ScalarFn::Unary(Unary::Sqrt), &[sum], wide_type)?;
        Some(self.cast(root, dtype))
    }
}

/// Returns whether the order of a norm, at a place or as `p`, is 2.
fn is_euclidean(call: &Call<'_>, place: usize) -> Option<()> {
    match call.given(place, if call.name.starts_with("linalg") { "ord" } else { "p" }) {
        None => Some(()),
        Some(Arg::Str(id)) => (call.graph.str(id) == "fro").then_some(()),
        Some(order) => (as_scalar(order)?.as_f64() == 2.0).then_some(()),
    }
}
