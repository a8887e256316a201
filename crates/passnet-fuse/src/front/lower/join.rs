//! Concatenation, stacking and padding.

use passnet_graph::Arg;
use passnet_record::DType;

use super::{
    Lowering,
    call::{Call, dimension},
};
use crate::front::{
    expr::Binary,
    scalar::{PythonNumber, as_scalar},
    tensor::{Def, TensorId},
};

impl<'g> Lowering<'g> {
    /// Joins tensors along a dimension, or along a new one.
    pub(super) fn cat(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let pieces = self.joined(call.arg(0, "tensors")?)?;
        let dim = if call.arg(1, "dim").is_some() { call.int(1, "dim")? } else { 0 };
        let dim = dimension(dim, shape.len())?;
        // Pieces of several types are converted to the type that holds all of them.
        let dtype = self.result_type(call)?.dtype;
        let pieces: Vec<TensorId> = pieces.into_iter().map(|piece| self.cast(piece, dtype)).collect();
        let of = if call.name == "stack" {
            let mut unsqueezed = shape.to_vec();
            unsqueezed[dim] = 1;
            pieces.into_iter().map(|piece| self.reshape(piece, &unsqueezed)).collect()
        } else {
            pieces
        };
        // The shape is PyTorch's. If the extents of the pieces do not add up to it, this function has misread the call.
        let mut extents = shape.to_vec();
        extents[dim] = 0;
        let base = extents.clone();
        for &piece in &of {
            let mut piece = self.tensors[piece].shape.clone();
            extents[dim] += std::mem::take(piece.get_mut(dim)?);
            (piece == base).then_some(())?;
        }
        (extents == shape).then_some(())?;
        Some(if let &[only] = of.as_slice() {
            only
        } else {
            self.tensors.add(shape.to_vec(), dtype, Def::Cat { of, dim })
        })
    }

    /// Lowers `diff`: each element minus the one before it, of a tensor that may have more elements put before and after it.
    pub(super) fn differences(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let dtype = self.tensors[x].dtype;
        (dtype != DType::Bool && call.float(1, "n", 1.0)? == 1.0).then_some(())?;
        let dim = if call.arg(2, "dim").is_some() { call.int(2, "dim")? } else { -1 };
        let dim = dimension(dim, shape.len())?;
        let mut of = vec![x];
        for (place, name) in [(3, "prepend"), (4, "append")] {
            if let Some(arg) = call.given(place, name) {
                let more = self.tensor(arg)?;
                (self.tensors[more].dtype == dtype && self.tensors[more].shape.len() == shape.len()).then_some(())?;
                of.insert(if name == "prepend" { 0 } else { of.len() }, more);
            }
        }
        let mut whole = shape.to_vec();
        whole[dim] += 1;
        (of.iter().map(|&of| self.tensors[of].shape[dim]).sum::<i64>() == whole[dim]).then_some(())?;
        let joined = match of.as_slice() {
            &[only] => only,
            _ => self.tensors.add(whole, dtype, Def::Cat { of, dim }),
        };
        let (first, second) = (self.slice(joined, dim, 0, 1, shape[dim]), self.slice(joined, dim, 1, 1, shape[dim]));
        self.combined(Binary::Sub, second, first)
    }

    /// Returns the tensors that a `cat` joins, without empty ones, such as an unused cache.
    fn joined(&mut self, arg: Arg) -> Option<Vec<TensorId>> {
        let (Arg::List(range) | Arg::Tuple(range)) = arg else { return self.tensor_list(arg) };
        let mut pieces = Vec::new();
        for &element in self.graph().elements(range) {
            match self.typed.tensor(element.as_value()?) {
                Some(ty) if ty.numel() == 0 => self.add_empty(element.as_value()?, ty),
                _ => pieces.push(self.tensor(element)?),
            }
        }
        (!pieces.is_empty()).then_some(pieces)
    }

    /// Surrounds a tensor with a constant.
    pub(super) fn pad(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let mut x = self.tensor(call.subject()?)?;
        let pads = call.ints(call.arg(1, "pad")?)?;
        // The operator of the library has no mode.
        let is_operator = call.name == "constant_pad_nd";
        if let Some(Arg::Str(mode)) = call.given(2, "mode").filter(|_| !is_operator) {
            (call.graph.str(mode) == "constant").then_some(())?;
        }
        let dtype = self.tensors[x].dtype;
        let fill = match call.given(if is_operator { 2 } else { 3 }, "value") {
            Some(value) => as_scalar(value)?.stored(dtype),
            None => PythonNumber::Int(0),
        };
        let mut before = vec![0; shape.len()];
        for (place, pair) in pads.chunks_exact(2).enumerate() {
            let dim = shape.len().checked_sub(place + 1)?;
            // Negative padding removes elements.
            let (removed, end) = (-pair[0].min(0), self.tensors[x].shape[dim] + pair[1].min(0));
            (end > removed).then_some(())?;
            if pair[0] < 0 || pair[1] < 0 {
                x = self.slice(x, dim, removed, 1, end - removed);
            }
            before[dim] = pair[0].max(0);
        }
        if pads.iter().all(|&pad| pad <= 0) {
            return Some(x);
        }
        Some(self.tensors.add(shape.to_vec(), dtype, Def::Pad { of: x, before, fill }))
    }
}
