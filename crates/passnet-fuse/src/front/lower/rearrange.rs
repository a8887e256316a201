//! Operations that reorder, repeat or select elements of a tensor.

use super::{
    Lowering,
    call::{Call, dimension},
    dimensions,
};
use crate::front::tensor::{Keeps, TensorId};

impl<'g> Lowering<'g> {
    /// Returns a tensor of this shape whose elements are those of the first argument at computed places.
    pub(super) fn rearranged(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        match call.name {
            "roll" => self.rolled(call, x),
            "flip" => self.flipped(call, x),
            "repeat" | "tile" => self.repeated(x, shape),
            "repeat_interleave" => self.each_repeated(call, x, shape),
            "narrow" | "select" => self.narrowed(call, x, shape),
            "pixel_shuffle" | "pixel_unshuffle" | "channel_shuffle" => self.shuffled(call, x, shape),
            "unfold" => self.unfolded(call, x, shape),
            _ => None,
        }
    }

    fn rolled(&mut self, call: &Call<'g>, x: TensorId) -> Option<TensorId> {
        let shape = self.tensors[x].shape.clone();
        let (shifts, dims) = (call.ints(call.arg(1, "shifts")?)?, call.ints(call.given(2, "dims")?)?);
        (shifts.len() == dims.len()).then_some(())?;
        let (vars, mut index) = dimensions(&shape);
        for (shift, dim) in shifts.into_iter().zip(dims) {
            let dim = dimension(dim, shape.len())?;
            let extent = shape[dim];
            index[dim] = index[dim].clone().plus_constant((-shift).rem_euclid(extent)).rem(extent, &vars);
        }
        Some(self.view(x, shape, index, Keeps::Some))
    }

    /// Returns the tensor with the order of some dimensions reversed.
    fn flipped(&mut self, call: &Call<'g>, x: TensorId) -> Option<TensorId> {
        let shape = self.tensors[x].shape.clone();
        let (_, mut index) = dimensions(&shape);
        for dim in call.variadic_ints(1, "dims")? {
            let dim = dimension(dim, shape.len())?;
            index[dim] = index[dim].clone().times(-1).plus_constant(shape[dim] - 1);
        }
        Some(self.view(x, shape, index, Keeps::Some))
    }

    /// Returns the tensor repeated along each dimension to the extent of the result.
    fn repeated(&mut self, x: TensorId, shape: &[i64]) -> Option<TensorId> {
        let from = self.tensors[x].shape.clone();
        let skipped = shape.len().checked_sub(from.len())?;
        let (vars, dims) = dimensions(shape);
        let index = from.iter().zip(&dims[skipped..]).map(|(&extent, dim)| dim.rem(extent, &vars)).collect();
        Some(self.view(x, shape.to_vec(), index, Keeps::Some))
    }

    /// Lowers `x.repeat_interleave(count, dim)`, which repeats each element `count` times in succession.
    fn each_repeated(&mut self, call: &Call<'g>, x: TensorId, shape: &[i64]) -> Option<TensorId> {
        let count = call.int(1, "repeats")?;
        let from = self.tensors[x].shape.clone();
        let (x, from, dim) = match call.given(2, "dim") {
            Some(_) => (x, from.clone(), dimension(call.int(2, "dim")?, from.len())?),
            None => {
                let flat = vec![self.tensors[x].numel()];
                (self.reshape(x, &flat), flat, 0)
            }
        };
        let mut extents = from;
        extents[dim] = extents[dim].checked_mul(count)?;
        (count > 0 && extents == shape).then_some(())?;
        let (vars, mut index) = dimensions(shape);
        index[dim] = index[dim].div(count, &vars);
        Some(self.view(x, shape.to_vec(), index, Keeps::Some))
    }

    /// Lowers `x.narrow(dim, start, length)` and `x.select(dim, index)`.
    fn narrowed(&mut self, call: &Call<'g>, x: TensorId, shape: &[i64]) -> Option<TensorId> {
        let from = self.tensors[x].shape.clone();
        let dim = dimension(call.int(1, "dim")?, from.len())?;
        let is_one = call.name == "select";
        let start = if is_one { call.int(2, "index")? } else { call.int(2, "start")? };
        let start = if start < 0 { start + from[dim] } else { start };
        let length = if is_one { 1 } else { call.int(3, "length")? };
        (start >= 0 && length > 0 && start + length <= from[dim]).then_some(())?;
        let part = self.slice(x, dim, start, 1, length);
        Some(self.reshape(part, shape))
    }

    /// Lowers `x.unfold(dim, size, step)`: windows along one dimension. The last dimension of the result contains the elements of
    /// a window.
    fn unfolded(&mut self, call: &Call<'g>, x: TensorId, shape: &[i64]) -> Option<TensorId> {
        let dim = dimension(call.int(1, "dimension")?, shape.len().checked_sub(1)?)?;
        let step = call.int(3, "step")?;
        let (_, mut index) = dimensions(shape);
        let within = index.pop()?;
        index[dim] = index[dim].clone().times(step).plus(&within);
        Some(self.view(x, shape.to_vec(), index, Keeps::Some))
    }

    /// Lowers shuffles: a reshape that splits dimensions, a permutation, and a reshape that merges them.
    fn shuffled(&mut self, call: &Call<'g>, x: TensorId, shape: &[i64]) -> Option<TensorId> {
        let from = self.tensors[x].shape.clone();
        if call.name == "channel_shuffle" {
            let groups = call.int(1, "groups")?;
            let [batch, channels, rest @ ..] = from.as_slice() else { return None };
            (groups > 0 && channels % groups == 0).then_some(())?;
            let split = self.reshape(x, &[&[*batch, groups, channels / groups], rest].concat());
            let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..rest.len() + 3).collect();
            let turned = self.permute(split, &order)?;
            return Some(self.reshape(turned, shape));
        }
        let [before @ .., channels, rows, columns] = from.as_slice() else { return None };
        let n = before.len();
        let (split, order) = if call.name == "pixel_shuffle" {
            let by = call.int(1, "upscale_factor")?;
            (by > 0 && channels % (by * by) == 0).then_some(())?;
            (vec![channels / (by * by), by, by, *rows, *columns], [0, 3, 1, 4, 2])
        } else {
            let by = call.int(1, "downscale_factor")?;
            (by > 0 && rows % by == 0 && columns % by == 0).then_some(())?;
            (vec![*channels, rows / by, by, columns / by, by], [0, 2, 4, 1, 3])
        };
        let split = self.reshape(x, &[before, split.as_slice()].concat());
        let order: Vec<usize> = (0..n).chain(order.into_iter().map(|place| place + n)).collect();
        let turned = self.permute(split, &order)?;
        Some(self.reshape(turned, shape))
    }
}
