//! Tensors as functions of their indices. They describe the computation of a region before its loops are chosen.

use std::collections::BTreeSet;

use passnet_record::DType;

use super::{
    expr::{BufferId, ReduceOp},
    index::Index,
    scalar::{PythonNumber, ScalarFn},
};

/// Number of a tensor in [`Tensors`].
pub(crate) type TensorId = usize;

/// Definition of the elements of a tensor. Indices of a view are written over the dimensions of the result: variable
/// `i` is dimension `i`.
#[derive(Clone, Debug)]
pub(crate) enum Def {
    /// Elements of a buffer.
    Buffer { buffer: BufferId, stride: Vec<i64> },
    /// The same constant at each index.
    Fill(PythonNumber),
    /// `start + step * index` along the only dimension.
    Range { start: i64, step: i64 },
    /// A function of elements of other tensors, broadcast against each other.
    Map { function: ScalarFn, of: Vec<TensorId> },
    /// Elements of another tensor.
    View { of: TensorId, index: Vec<Index>, keeps: Keeps },
    /// Tensors one after the other along a dimension.
    Cat { of: Vec<TensorId>, dim: usize },
    /// A tensor surrounded by a constant, with `before[d]` constant elements before it along dimension `d`.
    Pad { of: TensorId, before: Vec<i64>, fill: PythonNumber },
    /// `table[.., indices[..], ..]`: the dimensions of `indices` stand in the place of dimension `dim` of the table.
    Gather { table: TensorId, dim: usize, indices: TensorId, signs: Signs },
    /// The tensor with other elements at some places: element `j` of `with` stands at the place that `spans` gives it.
    Overwrite { of: TensorId, with: TensorId, spans: Vec<OverwrittenSpan> },
    /// Combines elements over the dimensions marked in `reduced`. The shape consists of the other dimensions.
    Reduce { fold: ReduceOp, of: TensorId, reduced: Vec<bool> },
}

/// Signs that the indices of a gather can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signs {
    /// None below 0.
    Positive,
    /// Any; indices below 0 count from the end.
    Any,
}

/// Overwritten places of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverwrittenSpan {
    /// A single place.
    At(i64),
    /// `start + step * j`, where `j` is dimension `dim` of the new elements.
    Along { dim: usize, start: i64, step: i64 },
}

/// Elements of a tensor that a view of it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// All of them, in another order of dimensions (dimensions of extent 1 may come and go).
    Dimensions,
    /// All of them in row-major order.
    Order,
    /// Some of them, or some several times.
    Some,
}

/// A tensor; `dtype` is the type to which its elements are rounded.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<i64>,
    pub(crate) dtype: DType,
    pub(crate) def: Def,
}

impl Tensor {
    pub(crate) fn numel(&self) -> i64 {
        self.shape.iter().product()
    }
}

/// The tensors of a region, operands before users.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensors {
    all: Vec<Tensor>,
    /// Results of operations. Other tensors are parts of the formula of one operation.
    results: BTreeSet<TensorId>,
    /// Reductions that are products of matrices.
    products: BTreeSet<TensorId>,
    /// Reductions that are cumulative sums.
    cumulative: BTreeSet<TensorId>,
    /// Parts of a formula that a CPU stores, because each of their elements is used several times.
    reused: BTreeSet<TensorId>,
    /// Names of the operations so far.
    operations: Vec<String>,
    /// For each tensor, the number of operations that had begun when it was added.
    begun: Vec<usize>,
}

impl std::ops::Index<TensorId> for Tensors {
    type Output = Tensor;

    fn index(&self, id: TensorId) -> &Tensor {
        &self.all[id]
    }
}

impl Tensors {
    pub(crate) const fn new() -> Self {
        Self {
            all: Vec::new(),
            results: BTreeSet::new(),
            products: BTreeSet::new(),
            cumulative: BTreeSet::new(),
            reused: BTreeSet::new(),
            operations: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// Notes that the tensors which are added next are parts of an operation.
    pub(crate) fn begin_operation(&mut self, name: &str) {
        self.operations.push(name.to_owned());
    }

    /// Returns the name of the operation that a tensor is a part of, with the number of its line in the pattern: `add (t0)`.
    pub(crate) fn operation(&self, id: TensorId) -> Option<String> {
        let number = self.begun[id].checked_sub(1)?;
        let is_computed = !matches!(self[id].def, Def::Buffer { .. });
        is_computed.then(|| format!("{} (t{number})", self.operations[number]))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn add(&mut self, shape: Vec<i64>, dtype: DType, def: Def) -> TensorId {
        self.all.push(Tensor { shape, dtype, def });
        self.begun.push(self.operations.len());
        self.all.len() - 1
    }

    /// Marks a tensor, or the tensor that a view shows, as the result of an operation.
    pub(crate) fn mark_result(&mut self, id: TensorId) {
        match self[id].def {
            // A view does not round. The operation computed the tensor that the view shows.
            Def::View { of, .. } => self.mark_result(of),
            _ => {
                self.results.insert(id);
            }
        }
    }

    /// Marks a reduction as a product of matrices, large enough for matrix units.
    pub(crate) fn mark_product(&mut self, id: TensorId) {
        self.products.insert(id);
    }

    /// Returns whether a tensor is a product of matrices.
    pub(crate) fn is_product(&self, id: TensorId) -> bool {
        self.products.contains(&id)
    }

    /// Marks a reduction as a cumulative sum: element `i` is the sum of the elements up to `i` of another tensor.
    pub(crate) fn mark_cumulative(&mut self, id: TensorId) {
        self.cumulative.insert(id);
    }

    /// Returns whether a tensor is a cumulative sum.
    pub(crate) fn is_cumulative(&self, id: TensorId) -> bool {
        self.cumulative.contains(&id)
    }

    /// Marks a part of a formula that a CPU computes once and stores.
    pub(crate) fn mark_reused(&mut self, id: TensorId) {
        self.reused.insert(id);
    }

    /// Returns the parts of formulas that a CPU computes once, operands before users.
    pub(crate) fn reused(&self) -> impl Iterator<Item = TensorId> {
        self.reused.iter().copied()
    }

    /// Returns whether the tensor is the result of an operation; other tensors are parts of the formula of one operation.
    pub(crate) fn is_result(&self, id: TensorId) -> bool {
        self.results.contains(&id)
    }

    /// Calls `visit` with the operands of a tensor.
    pub(crate) fn for_each_operand(&self, id: TensorId, visit: &mut impl FnMut(TensorId)) {
        match &self[id].def {
            Def::Buffer { .. } | Def::Fill(_) | Def::Range { .. } => {}
            Def::Map { of, .. } | Def::Cat { of, .. } => of.iter().copied().for_each(visit),
            Def::View { of, .. } | Def::Pad { of, .. } | Def::Reduce { of, .. } => visit(*of),
            Def::Gather { table, indices, .. } => {
                visit(*table);
                visit(*indices);
            }
            Def::Overwrite { of, with, .. } => {
                visit(*of);
                visit(*with);
            }
        }
    }
}
