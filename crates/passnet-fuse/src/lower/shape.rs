//! Views, slices, concatenation, padding, gathering.

use passnet_graph::Arg;

use super::{Call, Lowered, Lowering, as_scalar, dimension, dimensions};
use crate::{
    index::Index,
    scalar::Scalar,
    tensor::{Def, Keeps, TensorId},
};

impl<'g> Lowering<'g> {
    pub(super) fn reshape_call(&mut self, call: &Call<'g>) -> Option<Lowered> {
        match call.name {
            "getitem" => return self.getitem(call),
            "unbind" | "split" | "chunk" => return self.pieces(call),
            _ => {}
        }
        let ty = self.result_type(call)?;
        let shape = ty.shape.clone();
        let tensor = match call.name {
            "view" | "reshape" | "flatten" | "unflatten" | "squeeze" | "unsqueeze" | "reshape_as" | "view_as" => {
                let x = self.tensor(call.subject()?)?;
                // `view(dtype)` reinterprets bits.
                (self.tensors[x].dtype == ty.dtype && self.tensors[x].numel() == ty.numel()).then_some(())?;
                self.reshape(x, &shape)
            }
            "permute" => {
                let x = self.tensor(call.subject()?)?;
                let rank = shape.len();
                let order: Option<Vec<usize>> =
                    call.variadic_ints(1, "dims")?.into_iter().map(|dim| dimension(dim, rank)).collect();
                self.permute(x, &order?)?
            }
            "transpose" | "swapaxes" | "t" => {
                let x = self.tensor(call.subject()?)?;
                let rank = shape.len();
                let mut order: Vec<usize> = (0..rank).collect();
                let (a, b) = match call.name {
                    "t" if rank == 2 => (0, 1),
                    "t" => return None,
                    _ => (dimension(call.int(1, "dim0")?, rank)?, dimension(call.int(2, "dim1")?, rank)?),
                };
                order.swap(a, b);
                self.permute(x, &order)?
            }
            "expand" | "expand_as" | "broadcast_to" => {
                let x = self.tensor(call.subject()?)?;
                self.expand(x, &shape)?
            }
            "roll" => self.roll(call)?,
            "cat" | "concat" | "stack" => self.cat(call, &shape)?,
            "pad" => self.pad(call, &shape)?,
            "embedding" => {
                let (indices, table) = (self.tensor(call.arg(0, "input")?)?, self.tensor(call.arg(1, "weight")?)?);
                call.given(3, "max_norm").is_none().then_some(())?;
                let dtype = self.tensors[table].dtype;
                self.tensors.add(shape, dtype, Def::Gather { table, indices })
            }
            "interpolate" => self.interpolate(call, &shape)?,
            "glu" => return self.glu(call).map(Lowered::Tensor),
            _ => return None,
        };
        Some(Lowered::Tensor(tensor))
    }

    fn view(&mut self, of: TensorId, shape: Vec<i64>, index: Vec<Index>, keeps: Keeps) -> TensorId {
        let dtype = self.tensors[of].dtype;
        self.tensors.add(shape, dtype, Def::View { of, index, keeps })
    }

    /// Dimension `d` of the result is dimension `order[d]` of the operand.
    fn permute(&mut self, of: TensorId, order: &[usize]) -> Option<TensorId> {
        let from = self.tensors[of].shape.clone();
        (from.len() == order.len()).then_some(())?;
        let shape: Vec<i64> = order.iter().map(|&dim| from[dim]).collect();
        let (_, dims) = dimensions(&shape);
        let index = (0..from.len()).map(|dim| Some(dims[order.iter().position(|&at| at == dim)?].clone()));
        let index: Option<Vec<Index>> = index.collect();
        Some(self.view(of, shape, index?, Keeps::Dimensions))
    }

    fn expand(&mut self, of: TensorId, shape: &[i64]) -> Option<TensorId> {
        let from = self.tensors[of].shape.clone();
        let skipped = shape.len().checked_sub(from.len())?;
        let (_, dims) = dimensions(shape);
        let index = from
            .iter()
            .zip(&dims[skipped..])
            .map(|(&extent, dim)| if extent == 1 { Index::constant(0) } else { dim.clone() })
            .collect();
        Some(self.view(of, shape.to_vec(), index, Keeps::Some))
    }

    fn roll(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
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

    /// `start + step * index` along one dimension.
    fn slice(&mut self, of: TensorId, dim: usize, start: i64, step: i64, extent: i64) -> TensorId {
        let mut shape = self.tensors[of].shape.clone();
        shape[dim] = extent;
        let (_, mut index) = dimensions(&shape);
        index[dim] = index[dim].clone().times(step).plus_constant(start);
        self.view(of, shape, index, Keeps::Some)
    }

    fn pieces(&mut self, call: &Call<'g>) -> Option<Lowered> {
        let x = self.tensor(call.subject()?)?;
        let shape = self.tensors[x].shape.clone();
        let place = if call.name == "unbind" { 1 } else { 2 };
        let dim = if call.arg(place, "dim").is_some() { call.int(place, "dim")? } else { 0 };
        let dim = dimension(dim, shape.len())?;
        let crate::typed::Type::List { list } = self.typed.type_of(call.value) else { return None };
        let extents: Option<Vec<i64>> = if call.name == "unbind" {
            Some(vec![1; list.len()])
        } else {
            list.iter().map(|ty| Some(ty.as_tensor()?.shape[dim])).collect()
        };
        let mut start = 0;
        let mut pieces = Vec::new();
        for extent in extents? {
            let mut piece = self.slice(x, dim, start, 1, extent);
            if call.name == "unbind" {
                let mut squeezed = shape.clone();
                squeezed.remove(dim);
                piece = self.reshape(piece, &squeezed);
            }
            pieces.push(Lowered::Tensor(piece));
            start += extent;
        }
        (start == shape[dim]).then_some(Lowered::List(pieces))
    }

    /// Integers, slices, `None` and `...`; or one piece of a list.
    fn getitem(&mut self, call: &Call<'g>) -> Option<Lowered> {
        let key = call.arg(1, "key")?;
        let x = match (self.value(call.arg(0, "self")?.as_value()?)?, key) {
            (Lowered::List(list), Arg::Int(place)) => return list.get(dimension(place, list.len())?).cloned(),
            (Lowered::List(_), _) => return None,
            (Lowered::Tensor(x), _) => x,
        };
        let keys = match key {
            Arg::Tuple(range) => call.graph.elements(range).to_vec(),
            key => vec![key],
        };
        let from = self.tensors[x].shape.clone();
        let consumed = keys.iter().filter(|key| !matches!(key, Arg::None | Arg::Ellipsis)).count();
        let skipped = from.len().checked_sub(consumed)?;
        let shape = self.result_type(call)?.shape.clone();
        let (_, dims) = dimensions(&shape);
        let mut results = dims.into_iter();
        let mut index = Vec::with_capacity(from.len());
        let mut has_ellipsis = false;
        for key in keys {
            match key {
                Arg::None => drop(results.next()?),
                Arg::Ellipsis if !has_ellipsis => {
                    has_ellipsis = true;
                    index.extend(results.by_ref().take(skipped));
                }
                Arg::Int(place) => {
                    let extent = *from.get(index.len())?;
                    index.push(Index::constant(if place < 0 { place + extent } else { place }));
                }
                Arg::Slice(range) => {
                    let (start, step) = slice_start(call.graph.elements(range), *from.get(index.len())?)?;
                    index.push(results.next()?.times(step).plus_constant(start));
                }
                _ => return None,
            }
        }
        index.extend(results);
        (index.len() == from.len()).then(|| Lowered::Tensor(self.view(x, shape, index, Keeps::Some)))
    }

    fn cat(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let pieces = self.tensor_list(call.arg(0, "tensors")?)?;
        let dim = if call.arg(1, "dim").is_some() { call.int(1, "dim")? } else { 0 };
        let dim = dimension(dim, shape.len())?;
        let first = *pieces.first()?;
        let dtype = self.tensors[first].dtype;
        pieces.iter().all(|&piece| self.tensors[piece].dtype == dtype).then_some(())?;
        let of = if call.name == "stack" {
            let mut unsqueezed = shape.to_vec();
            unsqueezed[dim] = 1;
            pieces.into_iter().map(|piece| self.reshape(piece, &unsqueezed)).collect()
        } else {
            pieces
        };
        of.iter().all(|&piece| self.tensors[piece].shape.len() == shape.len()).then_some(())?;
        Some(if let &[only] = of.as_slice() {
            only
        } else {
            self.tensors.add(shape.to_vec(), dtype, Def::Cat { of, dim })
        })
    }

    fn pad(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let pads = call.ints(call.arg(1, "pad")?)?;
        if let Some(Arg::Str(mode)) = call.given(2, "mode") {
            (call.graph.str(mode) == "constant").then_some(())?;
        }
        let fill = match call.given(3, "value") {
            Some(value) => as_scalar(value)?,
            None => Scalar::Int(0),
        };
        let mut before = vec![0; shape.len()];
        for (place, pair) in pads.chunks_exact(2).enumerate() {
            let dim = shape.len().checked_sub(place + 1)?;
            // Negative padding cuts off.
            (pair[0] >= 0 && pair[1] >= 0).then_some(())?;
            before[dim] = pair[0];
        }
        if pads.iter().all(|&pad| pad == 0) {
            return Some(x);
        }
        let dtype = self.tensors[x].dtype;
        Some(self.tensors.add(shape.to_vec(), dtype, Def::Pad { of: x, before, fill }))
    }

    /// Nearest neighbour by a whole factor: there, PyTorch's float arithmetic and integer division agree.
    fn interpolate(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        match call.given(3, "mode") {
            None => {}
            Some(Arg::Str(mode)) if call.graph.str(mode) == "nearest" => {}
            Some(_) => return None,
        }
        let from = self.tensors[x].shape.clone();
        let (vars, mut index) = dimensions(shape);
        for dim in 2..shape.len() {
            (shape[dim] % from[dim] == 0).then_some(())?;
            index[dim] = index[dim].div(shape[dim] / from[dim], &vars);
        }
        Some(self.view(x, shape.to_vec(), index, Keeps::Some))
    }

    /// The first half times the sigmoid of the second.
    fn glu(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let shape = self.tensors[x].shape.clone();
        let dim = if call.arg(1, "dim").is_some() { call.int(1, "dim")? } else { -1 };
        let dim = dimension(dim, shape.len())?;
        let half = shape[dim] / 2;
        let dtype = self.tensors[x].dtype;
        let wide = self.widen(x)?;
        let wide_type = self.tensors[wide].dtype;
        let (a, b) = (self.slice(wide, dim, 0, 1, half), self.slice(wide, dim, half, 1, half));
        let gate = self.map(crate::scalar::ScalarFn::Sigmoid, &[b], wide_type)?;
        let product = self.map(crate::scalar::ScalarFn::Binary(crate::expr::Binary::Mul), &[a, gate], wide_type)?;
        Some(self.cast(product, dtype))
    }
}

/// First index and step of a slice over `extent` elements.
fn slice_start(parts: &[Arg], extent: i64) -> Option<(i64, i64)> {
    let &[start, _, step] = parts else { return None };
    let step = match step {
        Arg::None => 1,
        Arg::Int(step) if step > 0 => step,
        _ => return None,
    };
    let start = match start {
        Arg::None => 0,
        Arg::Int(start) if start < 0 => (start + extent).max(0),
        Arg::Int(start) => start.min(extent),
        _ => return None,
    };
    Some((start, step))
}
