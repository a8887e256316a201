//! Loops: a region as a sequence of stages, each one nest of loops.
//!
//! A stage runs over *rows* (the outer loops); within a row it runs over the row's elements (the inner loops) once per *level*.
//! Values that need a reduction's result are on a later level than the reduction: a softmax has the levels maximum, sum,
//! quotient. Reductions over rows of another form are in other stages, and their results are stored in between.

use std::collections::BTreeMap;

use passnet_graph::{Target, TensorType};
use passnet_record::DType;

use crate::front::{
    arena::Arena,
    expr::{BufferId, ExprId, ReduceOp, ValueKind},
    index::{Index, Var},
    tensor::TensorId,
};

/// One loop from 0 to `extent`. An extent of 1 has no variable.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) var: Option<Var>,
    pub(crate) extent: i64,
}

/// Statement of a loop nest: the use of a computed value.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// Combines a value over the inner loops. [`Expr::Reduced`] of the tensor stands for the result.
    Reduce { tensor: TensorId, fold: ReduceOp, kind: ValueKind, value: ExprId },
    /// Writes a value to a buffer.
    Store { buffer: BufferId, dtype: DType, at: Index, value: ExprId },
}

impl Statement {
    pub(crate) const fn value(&self) -> ExprId {
        match self {
            Self::Reduce { value, .. } | Self::Store { value, .. } => *value,
        }
    }
}

/// A part of the innermost loop on which every piecewise definition is decided.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) innermost: Loop,
    /// Statements of each level.
    pub(crate) levels: Vec<Vec<Statement>>,
}

/// One nest of loops.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) outer: Vec<Loop>,
    /// Inner loops without the innermost one.
    pub(crate) inner: Vec<Loop>,
    pub(crate) segments: Vec<Segment>,
    /// For each level, the stores that follow once per row.
    pub(crate) per_row: Vec<Vec<Statement>>,
    /// True if the stage is a product of matrices for matrix units (`contraction`).
    pub(crate) is_product: bool,
}

/// A tensor argument of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Buffer {
    pub(crate) dtype: DType,
    pub(crate) role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Value from outside. Inputs come in the order of the region.
    Input,
    /// Input that is overwritten.
    Updated,
    /// Result. Results come in the order of the region.
    Output(TensorType),
    /// Memory between stages, with its number of elements.
    Temporary(i64),
}

/// The whole computation of a region.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) buffers: Vec<Buffer>,
    /// Elements of each input from its first to its last one in memory.
    pub(crate) reaches: Vec<i64>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) arena: Arena,
    /// True if kernels for a GPU assert that indices are in range.
    pub(crate) checks_indices: bool,
    pub(crate) operations: OperationNames,
}

/// Names of the operations that the parts of a program belong to, for comments in its kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationNames {
    /// For buffers that are written, the operation whose result they hold.
    pub(crate) written: BTreeMap<BufferId, String>,
    pub(crate) reductions: BTreeMap<TensorId, String>,
}

impl OperationNames {
    /// Returns the comment before a store to a buffer, without the sign of comments.
    pub(crate) fn of_store(&self, buffer: BufferId) -> Option<String> {
        self.written.get(&buffer).map(|operation| format!("Result of {operation}."))
    }

    /// Returns the comment before a reduction, without the sign of comments.
    pub(crate) fn of_reduction(&self, tensor: TensorId) -> Option<String> {
        self.reductions.get(&tensor).map(|operation| format!("Part of {operation}."))
    }
}

/// Form of the loops of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopForm {
    /// Nests without divisions, for a CPU: split where an index divides their variable, else merged.
    Nests,
    /// One loop over rows and one along them, for a device that computes the position in each itself.
    Tiles,
}

impl LoopForm {
    pub(crate) const fn of(target: Target) -> Self {
        match target {
            Target::Cpu => Self::Nests,
            Target::Cuda => Self::Tiles,
        }
    }
}

/// Returns all values that a stage stores or reduces.
pub(crate) fn roots(stage: &Stage) -> Vec<ExprId> {
    let all = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    all.chain(stage.per_row.iter().flatten()).map(Statement::value).collect()
}
