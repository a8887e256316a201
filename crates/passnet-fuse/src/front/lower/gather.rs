//! Gathers: elements at places that tensors of integers give.

use passnet_graph::{Arg, Graph};
use passnet_record::DType;

use super::{
    Lowering, broadcast_shape,
    call::{Call, dimension},
    dimensions,
};
use crate::front::tensor::{Def, Keeps, Signs, TensorId};

/// Largest number of elements of tensors of places. The square of their number is an extent of a tensor that is never computed.
const MOST_PLACES: i64 = 1 << 24;

impl<'g> Lowering<'g> {
    /// `x[:, places]`, or `x[:, places, others]` where both are broadcast against each other: tensors of integers, of
    /// which negative ones count from the end, after any number of whole dimensions.
    pub(super) fn gathered(&mut self, table: TensorId, keys: &[Arg], graph: &Graph) -> Option<TensorId> {
        let is_none = |part: &Arg| matches!(part, Arg::None);
        let is_whole = |key: &&Arg| matches!(key, Arg::Slice(range) if graph.elements(*range).iter().all(is_none));
        let dim = keys.iter().take_while(is_whole).count();
        let count = keys[dim..].iter().take_while(|key| matches!(key, Arg::Value(_))).count();
        // Keys with tensors that are not neighbours put their dimensions first (NumPy's rule), which is not expressed
        // here.
        let is_rest_whole = keys[dim + count..].iter().all(|key| is_whole(&key));
        (is_rest_whole && matches!(count, 1 | 2) && keys.len() <= self.tensors[table].shape.len()).then_some(())?;
        let places: Vec<TensorId> =
            keys[dim..dim + count].iter().map(|&key| self.tensor(key)).collect::<Option<_>>()?;
        let mut whole: Vec<i64> = Vec::new();
        for &places in &places {
            matches!(self.tensors[places].dtype, DType::Int64 | DType::Int32).then_some(())?;
            whole = broadcast_shape(&whole, &self.tensors[places].shape)?;
        }
        (whole.iter().product::<i64>() <= MOST_PLACES).then_some(())?;
        let mut result = table;
        for places in places {
            let places = self.expand(places, &whole)?;
            // The dimensions of the earlier places come first.
            let at = dim + if result == table { 0 } else { whole.len() };
            result = self.with_places(result, at, places, Signs::Any)?;
            // Two gathers give each place of the first key with each of the second. The pairs that stand together are
            // the diagonal.
            if at > dim {
                result = self.diagonal(result, dim, whole.len());
            }
        }
        Some(result)
    }

    /// `x.gather(dim, places)`: along one dimension the elements at these places, along the others those at the same position.
    pub(super) fn picked(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let dim = dimension(call.int(1, "dim")?, shape.len())?;
        let places = self.tensor(call.arg(2, "index")?)?;
        (shape.iter().product::<i64>() <= MOST_PLACES && self.tensors[places].shape == shape).then_some(())?;
        let taken = self.with_places(x, dim, places, Signs::Positive)?;
        // Dimensions before `dim`, then those of the places, then dimensions after `dim`.
        let (_, dims) = dimensions(shape);
        let index = [&dims[..dim], dims.as_slice(), &dims[dim + 1..]].concat();
        Some(self.view(taken, shape.to_vec(), index, Keeps::Some))
    }

    /// Returns the elements of a tensor at places of one dimension. The dimensions of `indices` replace that dimension.
    fn with_places(&mut self, table: TensorId, dim: usize, indices: TensorId, signs: Signs) -> Option<TensorId> {
        let mut shape = self.tensors[table].shape.clone();
        (*shape.get(dim)? > 0).then_some(())?;
        shape.splice(dim..=dim, self.tensors[indices].shape.iter().copied());
        let dtype = self.tensors[table].dtype;
        Some(self.tensors.add(shape, dtype, Def::Gather { table, dim, indices, signs }))
    }

    /// Returns the diagonal: the elements at which the `count` dimensions from `dim` on equal the `count` dimensions after
    /// them. The latter are removed.
    fn diagonal(&mut self, of: TensorId, dim: usize, count: usize) -> TensorId {
        let mut shape = self.tensors[of].shape.clone();
        shape.drain(dim..dim + count);
        let (_, dims) = dimensions(&shape);
        let index = [&dims[..dim + count], &dims[dim..]].concat();
        self.view(of, shape, index, Keeps::Some)
    }
}

/// Returns whether a tensor is among the keys of an index.
pub(super) fn has_tensors(keys: &[Arg]) -> bool {
    keys.iter().any(|key| matches!(key, Arg::Value(_)))
}
