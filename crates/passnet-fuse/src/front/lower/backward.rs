//! Derivatives, as graphs of backward passes have them: the gradient of a result becomes that of an operand.

use passnet_record::DType;

use super::{
    Lowering,
    call::{Call, dimension},
    shape::StridedSlice,
};
use crate::front::{
    expr::Binary,
    scalar::{PythonNumber, ScalarFn},
    tensor::{Def, OverwrittenSpan, TensorId},
};

impl<'g> Lowering<'g> {
    pub(super) fn backward(&mut self, call: &Call<'g>) -> Option<TensorId> {
        match call.name {
            "slice_backward" | "select_backward" => self.scattered(call),
            "native_dropout_backward" => self.dropout_backward(call),
            "threshold_backward" => self.threshold_backward(call),
            _ => None,
        }
    }

    /// Returns the gradient where the operand is above 0, or NaN, and 0 elsewhere.
    fn threshold_backward(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        let (gradient, x) = (self.tensor(call.arg(0, "grad_output")?)?, self.tensor(call.arg(1, "self")?)?);
        let is_float = dtype.is_float() && [gradient, x].iter().all(|&of| self.tensors[of].dtype == dtype);
        // The derivative of `relu`. Rounding the operand to a neighbour moves no element across this limit.
        (is_float && call.float(2, "threshold", 0.0)? == 0.0).then_some(())?;
        let zero = self.number(0.0, x);
        let is_cut = self.compared(Binary::Le, x, zero)?;
        self.map(ScalarFn::Where, &[is_cut, zero, gradient], dtype)
    }

    /// Returns `gradient * mask * scale`. In eager mode on CPUs these are two operations. The first one is exact.
    fn dropout_backward(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        let (gradient, mask) = (self.tensor(call.arg(0, "grad_output")?)?, self.tensor(call.arg(1, "mask")?)?);
        (self.tensors[gradient].dtype == dtype && self.tensors[mask].dtype == DType::Bool).then_some(())?;
        let (gradient, scale) = (self.widen(gradient)?, call.float(2, "scale", 1.0)?);
        let mask = self.cast(mask, self.tensors[gradient].dtype);
        let kept = self.combined(Binary::Mul, gradient, mask)?;
        let scale = self.number(scale, gradient);
        let scaled = self.combined(Binary::Mul, kept, scale)?;
        Some(self.cast(scaled, dtype))
    }

    /// Returns zeros with the gradient of a slice, or of one place, of a dimension.
    fn scattered(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let ty = self.result_type(call)?;
        let (shape, dtype) = (ty.shape.clone(), ty.dtype);
        let gradient = self.tensor(call.arg(0, "grad_output")?)?;
        let sizes = call.ints(call.arg(1, "input_sizes")?)?;
        (sizes == shape && self.tensors[gradient].dtype == dtype).then_some(())?;
        let at = dimension(call.int(2, "dim")?, shape.len())?;
        let is_slice = call.name == "slice_backward";
        let own = if is_slice {
            let slice =
                StridedSlice::between(call.arg(3, "start")?, call.arg(4, "end")?, call.arg(5, "step")?, shape[at])?;
            (slice.extent == *self.tensors[gradient].shape.get(at)?).then_some(())?;
            OverwrittenSpan::Along { dim: at, start: slice.start, step: slice.step }
        } else {
            let place = call.int(3, "index")?;
            OverwrittenSpan::At(if place < 0 { place + shape[at] } else { place })
        };
        let whole = |dim: usize| {
            let dim = if !is_slice && dim > at { dim - 1 } else { dim };
            OverwrittenSpan::Along { dim, start: 0, step: 1 }
        };
        let spans = (0..shape.len()).map(|dim| if dim == at { own } else { whole(dim) }).collect();
        let zeros = self.tensors.add(shape.clone(), dtype, Def::Fill(PythonNumber::Int(0)));
        Some(self.tensors.add(shape, dtype, Def::Overwrite { of: zeros, with: gradient, spans }))
    }
}
