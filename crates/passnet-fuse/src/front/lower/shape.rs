//! Views, slices, concatenation, padding, gathering.

use passnet_graph::{Arg, Graph, Type};
use passnet_record::DType;

use super::{
    Lowered, Lowering,
    call::{Call, dimension},
    dimensions,
    gather::has_tensors,
};
use crate::front::{
    expr::{Binary, ReduceOp},
    index::Index,
    scalar::{PythonNumber, ScalarFn},
    tensor::{Def, Keeps, Signs, TensorId},
};

impl<'g> Lowering<'g> {
    pub(super) fn reshape_call(&mut self, call: &Call<'g>) -> Option<Lowered> {
        match call.name {
            "getitem" => return self.getitem(call),
            "unbind" | "split" | "chunk" | "tensor_split" => return self.pieces(call),
            "max" | "min" => return self.extremes(call),
            "meshgrid" => return self.meshgrid(call),
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
            "permute" | "movedim" | "moveaxis" | "transpose" | "swapaxes" | "t" => {
                let x = self.tensor(call.subject()?)?;
                self.permute(x, &order_of(call, shape.len())?)?
            }
            "expand" | "expand_as" | "broadcast_to" => {
                let x = self.tensor(call.subject()?)?;
                self.expand(x, &shape)?
            }
            "roll" | "flip" | "repeat" | "tile" | "repeat_interleave" | "narrow" | "select" | "pixel_shuffle"
            | "pixel_unshuffle" | "channel_shuffle" => self.rearranged(call, &shape)?,
            "unfold" if call.is_method => self.rearranged(call, &shape)?,
            "cat" | "concat" | "stack" => self.cat(call, &shape)?,
            "pad" | "constant_pad_nd" => self.pad(call, &shape)?,
            "embedding" => {
                let (indices, table) = (self.tensor(call.arg(0, "input")?)?, self.tensor(call.arg(1, "weight")?)?);
                call.given(3, "max_norm").is_none().then_some(())?;
                let dtype = self.tensors[table].dtype;
                self.tensors.add(shape, dtype, Def::Gather { table, dim: 0, indices, signs: Signs::Positive })
            }
            "index_select" => {
                let x = self.tensor(call.subject()?)?;
                let dim = dimension(call.int(1, "dim")?, shape.len())?;
                let places = self.tensor(call.arg(2, "index")?)?;
                (self.tensors[places].shape.len() == 1).then_some(())?;
                self.taken(x, dim, places)
            }
            "gather" => self.picked(call, &shape)?,
            "diff" => self.differences(call, &shape)?,
            "aten_slice" => self.aten_slice(call, &shape)?,
            "triu" | "tril" => self.triangle(call)?,
            "glu" => return self.glu(call).map(Lowered::Tensor),
            _ => return None,
        };
        Some(Lowered::Tensor(tensor))
    }

    pub(super) fn view(&mut self, of: TensorId, shape: Vec<i64>, index: Vec<Index>, keeps: Keeps) -> TensorId {
        let dtype = self.tensors[of].dtype;
        self.tensors.add(shape, dtype, Def::View { of, index, keeps })
    }

    /// Returns the tensor with permuted dimensions: dimension `d` of the result is dimension `order[d]` of the operand.
    pub(super) fn permute(&mut self, of: TensorId, order: &[usize]) -> Option<TensorId> {
        let from = self.tensors[of].shape.clone();
        (from.len() == order.len()).then_some(())?;
        let shape: Vec<i64> = order.iter().map(|&dim| from[dim]).collect();
        let (_, dims) = dimensions(&shape);
        let index = (0..from.len()).map(|dim| Some(dims[order.iter().position(|&at| at == dim)?].clone()));
        let index: Option<Vec<Index>> = index.collect();
        Some(self.view(of, shape, index?, Keeps::Dimensions))
    }

    pub(super) fn expand(&mut self, of: TensorId, shape: &[i64]) -> Option<TensorId> {
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

    /// Returns the elements `start + step * index` along one dimension.
    pub(super) fn slice(&mut self, of: TensorId, dim: usize, start: i64, step: i64, extent: i64) -> TensorId {
        let mut shape = self.tensors[of].shape.clone();
        shape[dim] = extent;
        let (_, mut index) = dimensions(&shape);
        index[dim] = index[dim].clone().times(step).plus_constant(start);
        self.view(of, shape, index, Keeps::Some)
    }

    /// Lowers `slice(x, dim, start, end, step)`, an operator of the library.
    fn aten_slice(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let dim = if call.arg(1, "dim").is_some() { call.int(1, "dim")? } else { 0 };
        let dim = dimension(dim, shape.len())?;
        let [start, end, step] =
            [(2, "start"), (3, "end"), (4, "step")].map(|(place, name)| call.arg(place, name).unwrap_or(Arg::None));
        let slice = StridedSlice::between(start, end, step, *self.tensors[x].shape.get(dim)?)?;
        Some(self.slice(x, dim, slice.start, slice.step, slice.extent))
    }

    fn pieces(&mut self, call: &Call<'g>) -> Option<Lowered> {
        let x = self.tensor(call.subject()?)?;
        let shape = self.tensors[x].shape.clone();
        let place = if call.name == "unbind" { 1 } else { 2 };
        let dim = if call.arg(place, "dim").is_some() { call.int(place, "dim")? } else { 0 };
        let dim = dimension(dim, shape.len())?;
        let Type::List { list } = self.typed.type_of(call.value) else { return None };
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
        // The extents are those of PyTorch's result. If they do not fill the dimension, the call means something
        // else.
        (start == shape[dim]).then_some(Lowered::List(pieces))
    }

    /// Lowers `getitem`: a piece of a list, or an indexed tensor.
    fn getitem(&mut self, call: &Call<'g>) -> Option<Lowered> {
        let key = call.arg(1, "key")?;
        match (self.value(call.arg(0, "self")?.as_value()?)?, key) {
            (Lowered::List(list), Arg::Int(place)) => list.get(dimension(place, list.len())?).cloned(),
            (Lowered::List(_) | Lowered::Absent, _) => None,
            (Lowered::Tensor(x), Arg::Value(_)) => self.gathered(x, &[key], call.graph).map(Lowered::Tensor),
            (Lowered::Tensor(x), Arg::Tuple(range)) if has_tensors(call.graph.elements(range)) => {
                self.gathered(x, call.graph.elements(range), call.graph).map(Lowered::Tensor)
            }
            (Lowered::Tensor(x), key) => self.indexed(x, key, call.graph).map(Lowered::Tensor),
        }
    }

    /// Lowers `x[key]` with integers, slices, `None` and `...`, which is a view.
    pub(super) fn indexed(&mut self, x: TensorId, key: Arg, graph: &Graph) -> Option<TensorId> {
        let keys = match key {
            Arg::Tuple(range) => graph.elements(range).to_vec(),
            key => vec![key],
        };
        let from = self.tensors[x].shape.clone();
        let consumed = keys.iter().filter(|key| !matches!(key, Arg::None | Arg::Ellipsis)).count();
        let skipped = from.len().checked_sub(consumed)?;
        let mut shape: Vec<i64> = Vec::new();
        let mut index: Vec<Index> = Vec::with_capacity(from.len());
        // A dimension of the result, as a variable.
        let mut add = |extent: i64| {
            shape.push(extent);
            Index::var(shape.len() as u32 - 1)
        };
        let mut has_ellipsis = false;
        for key in keys {
            match key {
                Arg::None => drop(add(1)),
                Arg::Ellipsis if !has_ellipsis => {
                    has_ellipsis = true;
                    for _ in 0..skipped {
                        index.push(add(from[index.len()]));
                    }
                }
                Arg::Int(place) => {
                    let extent = *from.get(index.len())?;
                    index.push(Index::constant(if place < 0 { place + extent } else { place }));
                }
                Arg::Slice(range) => {
                    let slice = StridedSlice::of(graph.elements(range), *from.get(index.len())?)?;
                    index.push(add(slice.extent).times(slice.step).plus_constant(slice.start));
                }
                _ => return None,
            }
        }
        while index.len() < from.len() {
            index.push(add(from[index.len()]));
        }
        (index.len() == from.len() && shape.iter().all(|&extent| extent > 0)).then_some(())?;
        // The index keeps all elements in their order, as in `x[:, None]`.
        let is_whole = shape.iter().product::<i64>() == self.tensors[x].numel()
            && index.iter().zip(&from).all(|(index, &extent)| index.as_var().is_some() || extent == 1);
        if is_whole {
            return Some(self.reshape(x, &shape));
        }
        Some(self.view(x, shape, index, Keeps::Some))
    }

    /// Returns the part above or below a diagonal, zero elsewhere.
    fn triangle(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let diagonal = if call.arg(1, "diagonal").is_some() { call.int(1, "diagonal")? } else { 0 };
        let (shape, dtype) = (self.tensors[x].shape.clone(), self.tensors[x].dtype);
        let &[.., rows, columns] = shape.as_slice() else { return None };
        let row = self.tensors.add(vec![rows], DType::Int64, Def::Range { start: diagonal, step: 1 });
        let row = self.reshape(row, &[rows, 1]);
        let column = self.tensors.add(vec![columns], DType::Int64, Def::Range { start: 0, step: 1 });
        let operands = if call.name == "triu" { [row, column] } else { [column, row] };
        let stays = self.map(ScalarFn::Compare(Binary::Le, DType::Int64), &operands, DType::Bool)?;
        let zero = self.tensors.add(Vec::new(), dtype, Def::Fill(PythonNumber::Int(0)));
        self.map(ScalarFn::Where, &[stays, x, zero], dtype)
    }

    /// Lowers `max` and `min` along a dimension: the values without their positions.
    fn extremes(&mut self, call: &Call<'g>) -> Option<Lowered> {
        let Type::List { list } = self.typed.type_of(call.value) else { return None };
        let x = self.tensor(call.subject()?)?;
        let reduced = call.marked_dims(1, self.tensors[x].shape.len())?;
        let keep = call.bool(2, "keepdim", false)?;
        let values = self.reduce(if call.name == "max" { ReduceOp::Max } else { ReduceOp::Min }, x, &reduced, keep);
        (list.len() == 2).then(|| Lowered::List(vec![Lowered::Tensor(values), Lowered::Absent]))
    }

    /// Returns each vector along a separate dimension.
    fn meshgrid(&mut self, call: &Call<'g>) -> Option<Lowered> {
        let is_by_row = match call.given(usize::MAX, "indexing") {
            None => true,
            Some(Arg::Str(order)) => call.graph.str(order) == "ij",
            Some(_) => false,
        };
        is_by_row.then_some(())?;
        let vectors = match call.arg(0, "tensors")? {
            list @ (Arg::List(_) | Arg::Tuple(_)) if call.len() == 1 => self.tensor_list(list)?,
            _ => call.positional().iter().map(|&arg| self.tensor(arg)).collect::<Option<Vec<_>>>()?,
        };
        let extents: Option<Vec<i64>> = vectors
            .iter()
            .map(|&vector| match self.tensors[vector].shape.as_slice() {
                &[extent] => Some(extent),
                _ => None,
            })
            .collect();
        let extents = extents?;
        let grid = |(dim, vector): (usize, TensorId)| {
            let (_, dims) = dimensions(&extents);
            let index = vec![dims[dim].clone()];
            Lowered::Tensor(self.view(vector, extents.clone(), index, Keeps::Some))
        };
        Some(Lowered::List(vectors.into_iter().enumerate().map(grid).collect()))
    }
}

/// Elements `start + step * i` for `i` below `extent`.
pub(super) struct StridedSlice {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) extent: i64,
}

impl StridedSlice {
    /// Returns the slice `parts` (start, stop, step) of `whole` elements.
    fn of(parts: &[Arg], whole: i64) -> Option<Self> {
        let &[start, stop, step] = parts else { return None };
        Self::between(start, stop, step, whole)
    }

    /// Returns the slice from `start` to `stop` of `whole` elements.
    pub(super) fn between(start: Arg, stop: Arg, step: Arg, whole: i64) -> Option<Self> {
        let step = match step {
            Arg::None => 1,
            // PyTorch refuses slices with negative steps, and so does the pattern.
            Arg::Int(step) if step > 0 => step,
            _ => return None,
        };
        let bound = |arg: Arg, default: i64| match arg {
            Arg::None => Some(default),
            Arg::Int(place) if place < 0 => Some((place + whole).max(0)),
            Arg::Int(place) => Some(place.min(whole)),
            _ => None,
        };
        let (start, stop) = (bound(start, 0)?, bound(stop, whole)?);
        Some(Self { start, step, extent: ((stop - start + step - 1) / step).max(0) })
    }
}

/// Returns, for each dimension of the result, the dimension of the operand.
fn order_of(call: &Call<'_>, rank: usize) -> Option<Vec<usize>> {
    match call.name {
        "permute" => call.variadic_ints(1, "dims")?.into_iter().map(|dim| dimension(dim, rank)).collect(),
        "movedim" | "moveaxis" => {
            let (from, to) = (call.int(1, "source")?, call.int(2, "destination")?);
            let (from, to) = (dimension(from, rank)?, dimension(to, rank)?);
            let mut order: Vec<usize> = (0..rank).filter(|&dim| dim != from).collect();
            order.insert(to, from);
            Some(order)
        }
        _ => {
            let mut order: Vec<usize> = (0..rank).collect();
            let (a, b) = match call.name {
                "t" if rank == 2 => (0, 1),
                "t" => return None,
                _ => (dimension(call.int(1, "dim0")?, rank)?, dimension(call.int(2, "dim1")?, rank)?),
            };
            order.swap(a, b);
            Some(order)
        }
    }
}
