//! Grouping of results into stages.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{TensorType, contiguous_stride};
use passnet_record::DType;

use crate::{
    front::{
        evaluator::Scalarizer,
        expr::BufferId,
        index::Index,
        scalar::ScalarFn,
        tensor::{Def, Keeps, Tensor, TensorId, Tensors},
    },
    plan::{
        running::RunningSums,
        stage::{Buffer, LoopForm, Role, Stage},
    },
};

/// Largest number of elements of a result that is stored across memory to save a launch.
const MOST_SCATTERED: i64 = 1 << 18;

/// A stage before its loops are chosen: the domain, and the tensors that it computes there.
pub(super) struct StageDraft {
    /// Shape of the domain. Members of the stage have the same row-major position in it.
    pub(super) shape: Vec<i64>,
    /// Dimensions of the domain in the order of the loops.
    pub(super) outer: Vec<usize>,
    pub(super) inner: Vec<usize>,
    pub(super) members: Vec<Member>,
}

#[derive(Clone, Debug)]
pub(super) enum Member {
    Reduce(TensorId),
    /// One value per element.
    Full(Pending),
    /// One value per row.
    PerRow(Pending),
}

impl Member {
    pub(super) const fn tensor(&self) -> TensorId {
        match self {
            Self::Reduce(tensor) => *tensor,
            Self::Full(placed) | Self::PerRow(placed) => placed.tensor,
        }
    }

    const fn placed(&self) -> Option<&Pending> {
        match self {
            Self::Reduce(_) => None,
            Self::Full(placed) | Self::PerRow(placed) => Some(placed),
        }
    }
}

/// A result, or a piece of a result, that is not part of a stage yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) tensor: TensorId,
    pub(super) buffer: BufferId,
    pub(super) stride: Vec<i64>,
    /// Position of the first element.
    pub(super) first: i64,
}

impl Pending {
    pub(super) const fn whole(tensor: TensorId, buffer: BufferId, stride: Vec<i64>) -> Self {
        Self { tensor, buffer, stride, first: 0 }
    }

    fn is(&self, other: &Self) -> bool {
        (self.buffer, self.first) == (other.buffer, other.first)
    }
}

impl StageDraft {
    pub(super) fn extents(&self, dims: &[usize]) -> Vec<i64> {
        dims.iter().map(|&dim| self.shape[dim]).filter(|&extent| extent != 1).collect()
    }
}

pub(super) struct StageBuilder<'t> {
    pub(super) evaluator: Scalarizer<'t>,
    pub(super) tensors: &'t Tensors,
    pub(super) form: LoopForm,
    pub(super) buffers: Vec<Buffer>,
    pub(super) stages: Vec<Stage>,
    /// The tensor that each written buffer holds.
    pub(super) written: BTreeMap<BufferId, TensorId>,
}

impl StageBuilder<'_> {
    /// Adds memory for a tensor that later stages read.
    pub(super) fn temporary(&mut self, tensor: TensorId) -> BufferId {
        let Tensor { dtype, .. } = self.tensors[tensor];
        self.buffers.push(Buffer { dtype, role: Role::Temporary(self.tensors[tensor].numel()) });
        let buffer = self.buffers.len() - 1;
        self.written.insert(buffer, tensor);
        buffer
    }

    pub(super) fn run(&mut self, pending: Vec<Pending>) -> Option<()> {
        let mut pending: Vec<Pending> = pending.into_iter().flat_map(|output| self.pieces(output)).collect();
        loop {
            let reductions = self.reductions(pending.iter().map(|output| output.tensor));
            // The first one depends on no other that is not stored, because operands have smaller numbers than their
            // users.
            let Some(&first) = reductions.first() else { break };
            let draft = self.row_draft(first, &reductions, &pending)?;
            pending.retain(|output| !draft.members.iter().filter_map(Member::placed).any(|placed| placed.is(output)));
            self.emit(&draft)?;
        }
        while !pending.is_empty() {
            let draft = self.pointwise_draft(&mut pending);
            self.emit(&draft)?;
        }
        Some(())
    }

    /// Returns the reductions that the tensors need and that are not stored yet, operands before users.
    fn reductions(&self, roots: impl Iterator<Item = TensorId>) -> Vec<TensorId> {
        let mut seen = BTreeSet::new();
        let mut stack: Vec<TensorId> = roots.collect();
        while let Some(tensor) = stack.pop() {
            if !self.evaluator.stored.contains_key(&tensor) && seen.insert(tensor) {
                self.tensors.for_each_operand(tensor, &mut |operand| stack.push(operand));
            }
        }
        seen.into_iter().filter(|&tensor| matches!(self.tensors[tensor].def, Def::Reduce { .. })).collect()
    }

    /// Returns a stage over the rows of a reduction, with all other tensors that fit into its loops.
    fn row_draft(&mut self, first: TensorId, reductions: &[TensorId], pending: &[Pending]) -> Option<StageDraft> {
        let Def::Reduce { of, reduced, .. } = &self.tensors[first].def else { return None };
        let shape = self.tensors[*of].shape.clone();
        let (inner, outer): (Vec<usize>, Vec<usize>) = (0..shape.len()).partition(|&dim| reduced[dim]);
        let mut draft = StageDraft { shape, outer, inner, members: vec![Member::Reduce(first)] };
        let is_product = self.is_product(&draft);
        let is_running = self.is_running(first);
        for &reduction in reductions[1..].iter().filter(|_| !is_product) {
            if self.is_running(reduction) == is_running {
                self.try_member(&mut draft, Member::Reduce(reduction));
            }
        }
        for output in pending {
            let stored = self.through_views(output);
            let numel = self.tensors[stored.tensor].numel();
            let rows: i64 = draft.outer.iter().map(|&dim| draft.shape[dim]).product();
            if numel == draft.shape.iter().product::<i64>() && !is_product && !is_running {
                self.try_member(&mut draft, Member::Full(stored));
            } else if numel == rows {
                self.try_member(&mut draft, Member::PerRow(stored));
            }
        }
        // Later stages need some of these reductions, so these must be stored.
        let left: Vec<TensorId> = pending
            .iter()
            .filter(|output| !draft.members.iter().filter_map(Member::placed).any(|placed| placed.is(output)))
            .map(|output| output.tensor)
            .collect();
        let needed = self.reductions(left.into_iter());
        let folds: Vec<TensorId> = draft
            .members
            .iter()
            .filter_map(|member| match member {
                Member::Reduce(tensor) if needed.contains(tensor) => Some(*tensor),
                _ => None,
            })
            .collect();
        for tensor in folds {
            let tensor = self.rounded_sum(tensor);
            let buffer = self.temporary(tensor);
            let stride = contiguous_stride(&self.tensors[tensor].shape);
            draft.members.push(Member::PerRow(Pending::whole(tensor, buffer, stride)));
        }
        Some(draft)
    }

    /// Returns whether a draft computes a product of matrices. The tiles of such a stage hold nothing else.
    pub(super) fn is_product(&self, draft: &StageDraft) -> bool {
        self.form == LoopForm::Tiles
            && draft.members.first().is_some_and(|first| self.tensors.is_product(first.tensor()))
    }

    /// Returns whether a reduction is a running sum. A device has none, because it computes all rows at the same time.
    pub(super) fn is_running(&self, tensor: TensorId) -> bool {
        self.form == LoopForm::Nests && self.tensors.is_cumulative(tensor)
    }

    /// Returns the result of the operation that a running sum belongs to. Its type may be narrower than that of the sum. It then
    /// takes less memory, and later stages read it in lanes. Nothing else reads the sum itself.
    fn rounded_sum(&self, tensor: TensorId) -> TensorId {
        let next = tensor + 1;
        let is_cast = self.is_running(tensor)
            && next < self.tensors.len()
            && matches!(&self.tensors[next].def, Def::Map { function: ScalarFn::Cast, of } if of.as_slice() == [tensor]);
        if is_cast { next } else { tensor }
    }

    /// Returns the pieces of a result that is a concatenation, each with its place in the result. Computed by pieces, no
    /// element has to test to which piece it belongs. On a device each loop is a launch, so only pieces that share one loop
    /// are separated there.
    fn pieces(&self, output: Pending) -> Vec<Pending> {
        let stored = self.through_views(&output);
        let Def::Cat { of, dim } = &self.tensors[stored.tensor].def else { return vec![output] };
        let mut shapes = of.iter().map(|&piece| &self.tensors[piece].shape);
        let first = shapes.next();
        if self.form == LoopForm::Tiles && !shapes.all(|shape| Some(shape) == first) {
            return vec![output];
        }
        let mut start = stored.first;
        let mut pieces = Vec::new();
        for &tensor in of {
            pieces.push(Pending { tensor, first: start, ..stored.clone() });
            start += self.tensors[tensor].shape[*dim] * stored.stride[*dim];
        }
        match self.form {
            // Pieces may have pieces, as a `stack` within a `cat` has.
            LoopForm::Nests => pieces.into_iter().flat_map(|piece| self.pieces(piece)).collect(),
            LoopForm::Tiles => pieces,
        }
    }

    /// Returns, for a result that rearranges another tensor, that tensor with the places of the result to store it in.
    fn through_views(&self, output: &Pending) -> Pending {
        let mut result = output.clone();
        // Storing a tensor with other strides costs nothing, while reading it through a view divides indices for each
        // element.
        while let Def::View { of, index, keeps } = &self.tensors[result.tensor].def {
            let shape = &self.tensors[result.tensor].shape;
            match keeps {
                Keeps::Dimensions => {
                    let stride = |index: &Index| index.as_var().map_or(0, |dim| result.stride[dim as usize]);
                    result.stride = index.iter().map(stride).collect();
                }
                Keeps::Order if is_row_major(shape, &result.stride) => {
                    result.stride = contiguous_stride(&self.tensors[*of].shape);
                }
                _ => break,
            }
            result.tensor = *of;
        }
        result
    }

    /// Adds the member if its value can be computed in the loops of the draft.
    fn try_member(&mut self, draft: &mut StageDraft, member: Member) {
        draft.members.push(member);
        let extents = draft.extents(&draft.outer);
        let inner = draft.extents(&draft.inner);
        // The stage is built with the member to find out whether the member fits, because rules for this would repeat `build`.
        let is_running = self.is_running(draft.members[0].tensor());
        let stage = self.build(draft, &extents, &inner, None);
        let fits =
            stage.is_some_and(|stage| !is_running || RunningSums::arrange(stage, &self.evaluator.arena).is_some());
        if !fits {
            draft.members.pop();
        }
    }

    /// Returns a stage without reductions, for the first result and all others that its loops can compute as well.
    fn pointwise_draft(&mut self, pending: &mut Vec<Pending>) -> StageDraft {
        *pending = pending.iter().map(|output| self.through_views(output)).collect();
        let first = pending.remove(0);
        let shape = self.tensors[first.tensor].shape.clone();
        let mut outer: Vec<usize> = (0..shape.len()).filter(|&dim| shape[dim] != 1).collect();
        // The dimension with the smallest stride is innermost, so that stores run along memory.
        outer.sort_by_key(|&dim| (std::cmp::Reverse(first.stride[dim]), dim));
        let inner = outer.pop().into_iter().collect();
        let numel: i64 = shape.iter().product();
        let is_plain = |output: &Pending| is_row_major(&self.tensors[output.tensor].shape, &output.stride);
        let same = |output: &Pending| match (self.form, self.tensors[output.tensor].shape == shape) {
            (_, true) if output.stride == first.stride => true,
            // One launch costs more than stores that do not run along memory, as long as they are few.
            (LoopForm::Tiles, true) => numel <= MOST_SCATTERED,
            (LoopForm::Tiles, false) => {
                self.tensors[output.tensor].numel() == numel && is_plain(&first) && is_plain(output)
            }
            // Both can use the loops of the first result if their shapes differ only in dimensions of extent 1.
            (LoopForm::Nests, _) => {
                let is_long = |extent: &&i64| **extent != 1;
                let shapes = (&shape, &self.tensors[output.tensor].shape);
                shapes.0.iter().filter(is_long).eq(shapes.1.iter().filter(is_long))
                    && is_plain(&first)
                    && is_plain(output)
            }
        };
        let (others, left): (Vec<Pending>, Vec<Pending>) = pending.drain(..).partition(same);
        *pending = left;
        let members = std::iter::once(first).chain(others).map(Member::Full).collect();
        StageDraft { shape, outer, inner, members }
    }

    /// Chooses the loops of a draft, and adds the stage.
    fn emit(&mut self, draft: &StageDraft) -> Option<()> {
        let stage = match self.form {
            LoopForm::Nests => self.nests(draft)?,
            LoopForm::Tiles => self.tiles(draft)?,
        };
        self.stages.push(stage);
        for member in &draft.members {
            if let Member::PerRow(Pending { tensor, buffer, stride, .. }) = member
                && matches!(self.buffers[*buffer].role, Role::Temporary(_))
            {
                self.evaluator.store(*tensor, *buffer, stride.clone());
            }
        }
        Some(())
    }
}

fn is_row_major(shape: &[i64], stride: &[i64]) -> bool {
    TensorType { shape: shape.to_vec(), stride: stride.to_vec(), dtype: DType::Bool }.is_contiguous()
}
