//! Reductions, and the statistics that are made of them.
//!
//! A kernel for a GPU reduces a row in one program. Few rows leave most of the device idle. There, long rows are split into
//! chunks: one stage reduces each chunk, and another one combines their results.

use passnet_graph::Target;

use super::{Lowering, dimensions};
use crate::front::{
    expr::{Binary, ReduceOp},
    index::Index,
    scalar::ScalarFn,
    tensor::{Def, Keeps, TensorId},
};

/// Largest number of elements of a reduction that is written out.
const MOST_UNROLLED: i64 = 4;

/// Largest number of programs of a reduction that is split: half of the multiprocessors of an H100.
const FEW_PROGRAMS: i64 = 64;

/// Rows of one program if they lie next to each other in memory: so many that it reads whole sectors.
const ADJACENT_ROWS: i64 = 4;

/// Reads of a program from which a split saves more time than its second launch takes.
const LONG_READS: i64 = 1 << 17;

/// Target number of chunks of all rows together: eight for each multiprocessor of an H100.
const CHUNKS: i64 = 1024;

/// Smallest target number of elements of a chunk.
const SHORT_CHUNK: i64 = 2048;
const LONG_CHUNK: i64 = 8192;

/// Rows of a reduction, cut into chunks of equal length.
struct Chunks {
    /// Shape of the operand, in which the dimension that is cut is split into two.
    shape: Vec<i64>,
    /// Dimensions of `shape` that are reduced.
    reduced: Vec<bool>,
    /// Dimensions of `shape` within a chunk. The other reduced dimensions number the chunks of a row.
    within: Vec<bool>,
    /// Elements of a chunk.
    length: i64,
}

/// Statistics of the rows of a reduction.
pub(super) struct Moments {
    /// Mean of each row. Reduced dimensions stay with extent 1.
    pub(super) mean: TensorId,
    /// Each element minus the mean of its row.
    pub(super) centred: TensorId,
    /// Sum of the squares of `centred` for each row.
    pub(super) squares: TensorId,
}

impl Lowering<'_> {
    /// Returns a reduction over the marked dimensions. If `keep` is true, these stay with extent 1.
    pub(super) fn reduce(&mut self, fold: ReduceOp, of: TensorId, reduced: &[bool], keep: bool) -> TensorId {
        let Some(chunks) = self.chunks(of, reduced) else { return self.reduce_at_once(fold, of, reduced, keep) };
        let parts = self.reshape(of, &chunks.shape);
        let parts = self.reduce_at_once(fold, parts, &chunks.within, true);
        let whole = self.reduce(fold, parts, &chunks.reduced, false);
        let shape = self.reduced_shape(of, reduced, keep);
        self.reshape(whole, &shape)
    }

    /// Returns a reduction with one loop over each row. Kernels for products and cumulative sums are made from this form.
    pub(super) fn reduce_at_once(&mut self, fold: ReduceOp, of: TensorId, reduced: &[bool], keep: bool) -> TensorId {
        let shape = self.reduced_shape(of, reduced, keep);
        let result = match self.unrolled(fold, of, reduced) {
            Some(unrolled) => unrolled,
            None => {
                let (own, dtype) = (self.reduced_shape(of, reduced, false), self.tensors[of].dtype);
                self.tensors.add(own, dtype, Def::Reduce { fold, of, reduced: reduced.to_vec() })
            }
        };
        self.reshape(result, &shape)
    }

    /// Returns the shape of a reduction.
    fn reduced_shape(&self, of: TensorId, reduced: &[bool], keep: bool) -> Vec<i64> {
        let dims = self.tensors[of].shape.iter().zip(reduced);
        dims.filter_map(|(&extent, &reduced)| if reduced { keep.then_some(1) } else { Some(extent) }).collect()
    }

    /// Returns the number of elements of a row.
    fn row_length(&self, of: TensorId, reduced: &[bool]) -> i64 {
        self.tensors[of].shape.iter().zip(reduced).filter(|&(_, &reduced)| reduced).map(|(&extent, _)| extent).product()
    }

    /// Returns how to split the rows, or `None` if one program for each row is as fast.
    fn chunks(&self, of: TensorId, reduced: &[bool]) -> Option<Chunks> {
        let of_row = self.row_length(of, reduced);
        let rows = self.tensors[of].numel() / of_row.max(1);
        let of_program = if reduced.last() == Some(&false) { ADJACENT_ROWS.min(rows) } else { 1 };
        let is_worth_it = || of_program * of_row * self.tensors.distinct_reads(of) >= LONG_READS;
        (self.target == Target::Cuda
            && rows <= FEW_PROGRAMS * of_program
            && of_row >= 2 * SHORT_CHUNK
            && is_worth_it())
        .then_some(())?;
        let longest = (rows * of_row / CHUNKS).clamp(SHORT_CHUNK, LONG_CHUNK);
        let mut chunks = Chunks {
            shape: self.tensors[of].shape.clone(),
            reduced: reduced.to_vec(),
            within: vec![false; reduced.len()],
            length: 1,
        };
        // Innermost dimensions first, so that a chunk is contiguous if the row is.
        for dim in (0..reduced.len()).rev().filter(|&dim| reduced[dim]) {
            let extent = chunks.shape[dim];
            let most = longest / chunks.length;
            if extent <= most {
                chunks.within[dim] = true;
                chunks.length *= extent;
                continue;
            }
            let part = (1..=most).rev().find(|part| extent % part == 0)?;
            if part > 1 {
                chunks.shape.splice(dim..=dim, [extent / part, part]);
                chunks.reduced.insert(dim, true);
                chunks.within.insert(dim + 1, true);
                chunks.length *= part;
            }
            break;
        }
        // Lengths with no suitable divisor leave chunks of a few elements.
        (chunks.length * 4 >= SHORT_CHUNK).then_some(chunks)
    }

    /// Returns a reduction over few elements as an expression with one operand for each element, first to last. A loop over so
    /// few elements is slower. Reduced dimensions stay with extent 1.
    fn unrolled(&mut self, fold: ReduceOp, of: TensorId, reduced: &[bool]) -> Option<TensorId> {
        let shape = self.tensors[of].shape.clone();
        let count = self.row_length(of, reduced);
        (count <= MOST_UNROLLED).then_some(())?;
        let op = match fold {
            ReduceOp::Sum => Binary::Add,
            ReduceOp::Max => Binary::Max,
            ReduceOp::Min => Binary::Min,
        };
        let dtype = self.tensors[of].dtype;
        let kept = self.reduced_shape(of, reduced, true);
        let mut result = None;
        for number in 0..count {
            let (mut rest, (_, mut index)) = (number, dimensions(&kept));
            for dim in (0..shape.len()).rev().filter(|&dim| reduced[dim]) {
                index[dim] = Index::constant(rest % shape[dim]);
                rest /= shape[dim];
            }
            let element = self.tensors.add(kept.clone(), dtype, Def::View { of, index, keeps: Keeps::Some });
            result = Some(match result {
                None => element,
                Some(so_far) => self.map(ScalarFn::Binary(op), &[so_far, element], dtype)?,
            });
        }
        result
    }

    /// Returns the mean, in the type of the operand.
    pub(super) fn mean(&mut self, of: TensorId, reduced: &[bool], keep: bool) -> Option<TensorId> {
        let count = self.row_length(of, reduced);
        let dtype = self.tensors[of].dtype;
        let sum = self.reduce(ReduceOp::Sum, of, reduced, keep);
        self.map(ScalarFn::DivideBy(count), &[sum], dtype)
    }

    /// Returns the mean for deviations from it. PyTorch updates a mean by each element, so elements of a row that are all equal do not
    /// deviate. A product with the rounded inverse would deviate, and two normalisations multiply the error by up to 100000.
    fn centre(&mut self, of: TensorId, reduced: &[bool]) -> Option<TensorId> {
        let count = self.row_length(of, reduced);
        let dtype = self.tensors[of].dtype;
        let sum = self.reduce(ReduceOp::Sum, of, reduced, true);
        self.map(ScalarFn::DivideOnceBy(count), &[sum], dtype)
    }

    /// Returns the mean, the deviations and the sum of their squares for each row. `keep` is for the squares. Statistics of
    /// chunks are combined by the formula of Chan, Golub and LeVeque (1979), which reads the operand once and loses no digits if
    /// the mean is large.
    pub(super) fn moments(&mut self, x: TensorId, reduced: &[bool], keep: bool) -> Option<Moments> {
        let Some(chunks) = self.chunks(x, reduced) else {
            let mean = self.centre(x, reduced)?;
            let (centred, square) = self.deviation(x, mean)?;
            let squares = self.reduce(ReduceOp::Sum, square, reduced, keep);
            return Some(Moments { mean, centred, squares });
        };
        let dtype = self.tensors[x].dtype;
        let parts = self.reshape(x, &chunks.shape);
        let sums = self.reduce_at_once(ReduceOp::Sum, parts, &chunks.within, true);
        let means = self.map(ScalarFn::DivideOnceBy(chunks.length), &[sums], dtype)?;
        let (_, square) = self.deviation(parts, means)?;
        let within = self.reduce_at_once(ReduceOp::Sum, square, &chunks.within, true);
        let mean = self.centre(means, &chunks.reduced)?;
        let (_, square) = self.deviation(means, mean)?;
        let across = self.reduce(ReduceOp::Sum, square, &chunks.reduced, false);
        let within = self.reduce(ReduceOp::Sum, within, &chunks.reduced, false);
        let length = self.fill(chunks.length as f64, dtype);
        let across = self.map(ScalarFn::Binary(Binary::Mul), &[across, length], dtype)?;
        let squares = self.map(ScalarFn::Binary(Binary::Add), &[within, across], dtype)?;
        let (kept, own) = (self.reduced_shape(x, reduced, true), self.reduced_shape(x, reduced, keep));
        let (mean, squares) = (self.reshape(mean, &kept), self.reshape(squares, &own));
        let centred = self.map(ScalarFn::Binary(Binary::Sub), &[x, mean], dtype)?;
        Some(Moments { mean, centred, squares })
    }

    /// Returns each element minus the mean of its row, and the square of this difference.
    fn deviation(&mut self, x: TensorId, mean: TensorId) -> Option<(TensorId, TensorId)> {
        let dtype = self.tensors[x].dtype;
        let centred = self.map(ScalarFn::Binary(Binary::Sub), &[x, mean], dtype)?;
        let square = self.map(ScalarFn::Binary(Binary::Mul), &[centred, centred], dtype)?;
        Some((centred, square))
    }

    /// Returns the mean and the biased variance of each row, and each element minus the mean.
    pub(super) fn variance_of(&mut self, x: TensorId, reduced: &[bool]) -> Option<(TensorId, TensorId, TensorId)> {
        let dtype = self.tensors[x].dtype;
        let moments = self.moments(x, reduced, true)?;
        let variance = self.map(ScalarFn::DivideBy(self.row_length(x, reduced)), &[moments.squares], dtype)?;
        Some((moments.mean, moments.centred, variance))
    }
}
