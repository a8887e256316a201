//! Matrix products that a kernel of the author computes faster than a library call, such as a matrix times a few vectors.

use passnet_graph::{Arg, Target};
use passnet_record::DType;

use super::{Lowering, broadcast_shape, call::Call, dimensions};
use crate::front::{
    expr::{Binary, ReduceOp},
    index::Index,
    scalar::ScalarFn,
    tensor::{Def, Keeps, TensorId},
};

/// Largest number of rows, or columns, of the thin factor.
const MOST_VECTORS: i64 = 4;
/// Largest number of products in all: above, matrix units pay even for thin factors.
const MOST_PRODUCTS: i64 = 1 << 23;
/// Largest number of products of matrix units in all: above, the library's own kernels are faster by more than a launch costs.
const LARGEST: i64 = 1 << 30;
/// Longest sum that one program takes: longer ones are split by the library.
const MOST_TERMS: i64 = 4096;
/// The same for `float32`, of which matrix units take three products for one.
const LARGEST_SINGLE: i64 = 1 << 26;
pub(super) const MOST_TERMS_SINGLE: i64 = 1024;
/// Largest number of terms of a sum of half types that matrix units of any kernel take in the same order: longer ones are split.
pub(crate) const MOST_UNSPLIT: i64 = 1024;
/// Number of products of half types that matrix units compute in the time in which memory moves one byte, with a margin. The
/// second constant is the number for `float32`.
const BALANCE: i64 = 24;
const BALANCE_SINGLE: i64 = 4;
/// Longest sum in `float32` on a CPU: libraries take longer ones in an order that shows at the narrowest tolerance.
const LONGEST_SUM: i64 = 32;

/// Returns whether a kernel of the author is faster than the library for a matrix product of `count` products. It is faster if
/// there are so few products that saving a launch outweighs the faster library, or so few for each of the `bytes` of factors and
/// result that memory decides the time. Sums have `terms` products each.
pub(super) fn is_for_matrix_units(dtype: DType, count: i64, terms: i64, bytes: i64) -> bool {
    match dtype {
        DType::Float16 | DType::BFloat16 => count <= LARGEST.max(bytes * BALANCE) && terms <= MOST_TERMS,
        DType::Float32 => count <= LARGEST_SINGLE.max(bytes * BALANCE_SINGLE) && terms <= MOST_TERMS_SINGLE,
        _ => false,
    }
}

/// Side of the smallest tile of a product.
const LEAST_TILE: i64 = 32;
/// Tiles of all parts of a product together: two for each multiprocessor of an H200.
const MANY_TILES: i64 = 264;
/// Numbers of parts. Fewer parts save less than the second launch costs.
const LEAST_PARTS: i64 = 4;
const MOST_PARTS: i64 = 16;
/// Smallest number of terms of a product of half types that is split: a kernel takes about 2 ns for each term of its sums, and the
/// second launch costs about 4 us.
const LEAST_SPLIT: i64 = 4096;
/// The same for `float32`, with about 10 ns for each term.
const LEAST_SPLIT_SINGLE: i64 = 1024;
/// Parts of the shortest product that is split.
const PARTS_OF_SHORTEST: i64 = 8;
/// Divisor of the number of terms of a part: the terms that a kernel takes at a time.
const STEP: i64 = 128;

/// Returns the number of parts in which the sums of a product are computed; 1 if one launch is as fast. A few tiles would leave
/// most multiprocessors idle while each sums many terms (`benches/gpu/split_products.py`).
fn parts(tiles: i64, length: i64, dtype: DType) -> i64 {
    let least = if dtype == DType::Float32 { LEAST_SPLIT_SINGLE } else { LEAST_SPLIT };
    let most = (MANY_TILES / tiles.max(1)).min(length * PARTS_OF_SHORTEST / least).min(MOST_PARTS);
    let fits = |parts: &i64| length % (parts * STEP) == 0;
    (LEAST_PARTS..=most).rev().find(fits).filter(|_| length >= least).unwrap_or(1)
}

/// Returns whether one side of a product has so few rows or columns that matrix units would idle.
pub(super) fn is_of_vectors(sides: [i64; 2], count: i64) -> bool {
    sides[0].min(sides[1]) <= MOST_VECTORS && count <= MOST_PRODUCTS
}

impl<'g> Lowering<'g> {
    pub(super) fn product(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let shape = self.result_type(call)?.shape.clone();
        match call.name {
            "matmul" | "bmm" | "mm" => {
                let (a, b) = (call.subject()?, call.arg(1, "other").or_else(|| call.arg(1, "mat2"))?);
                let (a, b) = (self.tensor(a)?, self.tensor(b)?);
                let b = self.swapped(b)?;
                let product = self.rows_by_rows(a, b, &shape)?;
                self.begin(call, product);
                Some(product)
            }
            "linear" => {
                let (x, weight) = (self.tensor(call.subject()?)?, self.tensor(call.arg(1, "weight")?)?);
                let product = self.rows_by_rows(x, weight, &shape)?;
                self.begin(call, product);
                self.biased(product, call.given(2, "bias"))
            }
            "addmm" | "baddbmm" if call.len() == 3 => {
                let (a, b) = (self.tensor(call.arg(1, "mat1")?)?, self.tensor(call.arg(2, "mat2")?)?);
                let b = self.swapped(b)?;
                let product = self.rows_by_rows(a, b, &shape)?;
                self.begin(call, product);
                self.biased(product, call.subject())
            }
            "einsum" => self.einsum(call, &shape),
            _ => None,
        }
    }

    /// Makes a region begin with a call, if the result of the call is a product for matrix units, or such a product rounded.
    pub(super) fn begin(&mut self, call: &Call<'_>, product: TensorId) {
        let sum = match &self.tensors[product].def {
            Def::Map { function: ScalarFn::Cast, of } => of[0],
            _ => product,
        };
        let of_parts = match &self.tensors[sum].def {
            Def::Reduce { of, .. } => *of,
            _ => sum,
        };
        if self.tensors.is_product(sum) || self.tensors.is_product(of_parts) {
            self.begins.insert(call.value);
        }
    }

    /// Returns the tensor with its last two dimensions exchanged.
    fn swapped(&mut self, of: TensorId) -> Option<TensorId> {
        let rank = self.tensors[of].shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank.checked_sub(2)?, rank - 1);
        self.permute(of, &order)
    }

    /// Returns each row of `a` times each row of `b`, rounded once, as libraries accumulate half types in `float32`.
    pub(super) fn rows_by_rows(&mut self, a: TensorId, b: TensorId, shape: &[i64]) -> Option<TensorId> {
        let dtype = self.tensors[a].dtype;
        let (a_shape, b_shape) = (self.tensors[a].shape.clone(), self.tensors[b].shape.clone());
        let [batch_a @ .., rows, length] = a_shape.as_slice() else { return None };
        let [batch_b @ .., columns, b_length] = b_shape.as_slice() else { return None };
        (length == b_length && self.tensors[b].dtype == dtype).then_some(())?;
        let batch = broadcast_shape(batch_a, batch_b)?;
        ([batch.as_slice(), &[*rows, *columns]].concat() == shape).then_some(())?;
        let count = shape.iter().product::<i64>() * length;
        let is_cuda = self.target == Target::Cuda;
        let is_half = matches!(dtype, DType::Float16 | DType::BFloat16) && is_cuda;
        let is_short = *length <= LONGEST_SUM && dtype == DType::Float32;
        let is_single = dtype == DType::Float32 && is_cuda && *length <= MOST_TERMS_SINGLE;
        // On a CPU only short sums of `float32`: libraries sum longer ones in another order, which shows at the
        // narrowest tolerance.
        let is_thin = is_of_vectors([*rows, *columns], count) && (is_half || is_short || is_single);
        let numel = [a_shape.as_slice(), b_shape.as_slice(), shape].map(|shape| shape.iter().product::<i64>());
        let bytes = numel.iter().sum::<i64>() * dtype.size() as i64;
        let tiles = batch.iter().product::<i64>()
            * [*rows, *columns].map(|extent| (extent + LEAST_TILE - 1) / LEAST_TILE).iter().product::<i64>();
        let parts = if is_cuda { parts(tiles, *length, dtype) } else { 1 };
        let is_matrix = is_cuda && is_for_matrix_units(dtype, count, *length / parts, bytes);
        (is_thin || is_matrix).then_some(())?;
        let (a, b) = (self.widen(a)?, self.widen(b)?);
        if !is_thin && parts > 1 {
            return self.in_parts(a, b, shape, parts, dtype);
        }
        let wide = self.tensors[a].dtype;
        let whole = [batch.as_slice(), &[*rows, *columns, *length]].concat();
        let rank = whole.len();
        // A product of matrices is a sum of elementwise products over one more dimension. The schedule finds the
        // matrix units for it again.
        let (a, b) = (self.spread(a, &whole, rank - 2), self.spread(b, &whole, rank - 3));
        let products = self.map(ScalarFn::Binary(Binary::Mul), &[a, b], wide)?;
        let reduced: Vec<bool> = (0..rank).map(|dim| dim + 1 == rank).collect();
        let sum = match is_thin {
            true => self.reduce(ReduceOp::Sum, products, &reduced, false),
            false => self.reduce_at_once(ReduceOp::Sum, products, &reduced, false),
        };
        if !is_thin && matches!(self.tensors[sum].def, Def::Reduce { .. }) {
            self.tensors.mark_product(sum);
        }
        Some(self.cast(sum, dtype))
    }

    /// Returns the product of [`Self::rows_by_rows`] in two stages: sums over parts of the terms, then the sum of these. The batch has a
    /// new last dimension, the parts.
    fn in_parts(&mut self, a: TensorId, b: TensorId, shape: &[i64], parts: i64, dtype: DType) -> Option<TensorId> {
        let wide = self.tensors[a].dtype;
        let mut divided = |of: TensorId| {
            let mut cut = self.tensors[of].shape.clone();
            let length = cut.pop()?;
            cut.extend([parts, length / parts]);
            let cut = self.reshape(of, &cut);
            let rank = self.tensors[cut].shape.len();
            let order: Vec<usize> = (0..rank - 3).chain([rank - 2, rank - 3, rank - 1]).collect();
            self.permute(cut, &order)
        };
        let (a, b) = (divided(a)?, divided(b)?);
        let (batch, matrix) = shape.split_at(shape.len() - 2);
        let length = *self.tensors[a].shape.last()?;
        let whole = [batch, &[parts], matrix, &[length]].concat();
        let rank = whole.len();
        let (a, b) = (self.spread(a, &whole, rank - 2), self.spread(b, &whole, rank - 3));
        let products = self.map(ScalarFn::Binary(Binary::Mul), &[a, b], wide)?;
        let last = |rank: usize, dim: usize| -> Vec<bool> { (0..rank).map(|other| other == dim).collect() };
        let sums = self.reduce_at_once(ReduceOp::Sum, products, &last(rank, rank - 1), false);
        self.tensors.mark_product(sums);
        let sum = self.reduce_at_once(ReduceOp::Sum, sums, &last(rank - 1, batch.len()), false);
        Some(self.cast(sum, dtype))
    }

    /// Returns the tensor broadcast to the shape `whole`. The tensor lacks the dimension `missing` and may lack leading
    /// dimensions.
    fn spread(&mut self, of: TensorId, whole: &[i64], missing: usize) -> TensorId {
        let (shape, dtype) = (self.tensors[of].shape.clone(), self.tensors[of].dtype);
        let (_, mut dims) = dimensions(whole);
        dims.remove(missing);
        let skipped = dims.len() - shape.len();
        let index = shape
            .iter()
            .zip(&dims[skipped..])
            .map(|(&extent, dim)| if extent == 1 { Index::constant(0) } else { dim.clone() })
            .collect();
        self.tensors.add(whole.to_vec(), dtype, Def::View { of, index, keeps: Keeps::Some })
    }

    fn biased(&mut self, product: TensorId, bias: Option<Arg>) -> Option<TensorId> {
        let Some(bias) = bias else { return Some(product) };
        let bias = self.tensor(bias)?;
        let dtype = self.tensors[product].dtype;
        // The library adds the bias before it rounds.
        let (Def::Map { function: ScalarFn::Cast, of }, wide) = (self.tensors[product].def.clone(), self.widen(bias)?)
        else {
            return self.map(ScalarFn::Binary(Binary::Add), &[product, bias], dtype);
        };
        let wide_type = self.tensors[wide].dtype;
        let sum = self.map(ScalarFn::Binary(Binary::Add), &[of[0], wide], wide_type)?;
        Some(self.cast(sum, dtype))
    }
}
