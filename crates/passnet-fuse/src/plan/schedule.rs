//! The stages of a region: the results that each computes, and its loops.

mod build;
mod grouping;
mod hazard;
#[cfg(test)]
mod interpret;
mod loops;
mod recompute;

use std::collections::BTreeMap;

use passnet_graph::TensorType;
use passnet_record::DType;

use self::grouping::{Pending, StageBuilder};
use super::{
    region::Region,
    stage::{Buffer, LoopForm, OperationNames, Program, Role},
};
use crate::front::{
    evaluator::Scalarizer,
    expr::BufferId,
    tensor::{Def, Tensor, TensorId, Tensors},
};

/// Time at which overwritten inputs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdateTime {
    /// Together with the results.
    WithResults,
    /// In separate stages before the results. The results then read the new elements.
    First,
}

/// Largest position in a buffer of a device. Kernels compute positions with 32 bits, and a tile may begin before the end of a
/// buffer and reach beyond it.
const LARGEST_POSITION: i64 = i32::MAX as i64 - (1 << 16);

/// Schedules a region. Returns `None` if the region contains complex numbers, if an input would be read after it was overwritten,
/// or if a device would need positions of more than 32 bits.
pub(crate) fn schedule(region: &Region, form: LoopForm) -> Option<Program> {
    (form == LoopForm::Nests || has_short_positions(region)).then_some(())?;
    let with_results = || schedule_with(region, form, UpdateTime::WithResults);
    let first = || schedule_with(region, form, UpdateTime::First).filter(|_| !region.updates.is_empty());
    with_results().or_else(first)
}

/// Largest number of values of a region that are stored because computing their functions again takes longer.
const MOST_KEPT: usize = 4;

fn schedule_with(region: &Region, form: LoopForm, order: UpdateTime) -> Option<Program> {
    let reused = if form == LoopForm::Nests { region.tensors.reused().collect() } else { Vec::new() };
    let (mut kept, (mut program, mut expensive)) = match schedule_keeping(region, form, order, &reused) {
        Some(scheduled) => (reused, scheduled),
        None => (Vec::new(), schedule_keeping(region, form, order, &[])?),
    };
    let most = kept.len() + MOST_KEPT;
    while let Some(tensor) = expensive
        && kept.len() < most
    {
        kept.push(tensor);
        // Operands have smaller numbers than their users.
        kept.sort_unstable();
        let Some(next) = schedule_keeping(region, form, order, &kept) else { break };
        (program, expensive) = next;
    }
    Some(program)
}

/// Returns whether 32 bits hold the position of each element that a kernel reads, computes or writes.
fn has_short_positions(region: &Region) -> bool {
    let types = region.inputs.iter().map(|input| &input.ty).chain(region.outputs.iter().map(|output| &output.ty));
    let reductions = (0..region.tensors.len()).map(|id| &region.tensors[id]);
    let numels = reductions.filter(|tensor| matches!(tensor.def, Def::Reduce { .. })).map(Tensor::numel);
    types.map(reach).chain(numels).all(|position| position <= LARGEST_POSITION)
}

/// Returns the number of elements from the first to the last one of a tensor in memory.
fn reach(ty: &TensorType) -> i64 {
    if ty.numel() == 0 {
        return 0;
    }
    let along = ty.shape.iter().zip(&ty.stride);
    along.fold(1_i64, |sum, (extent, stride)| sum.saturating_add((extent - 1).saturating_mul(*stride)))
}

/// Returns the program that stores some tensors before all others, and one further tensor that is worth storing, if there is one.
fn schedule_keeping(
    region: &Region,
    form: LoopForm,
    order: UpdateTime,
    kept: &[TensorId],
) -> Option<(Program, Option<TensorId>)> {
    let tensors = &region.tensors;
    let mut buffers: Vec<Buffer> = Vec::new();
    for number in 0..region.inputs.len() {
        let dtype = buffer_dtype(tensors, number)?;
        buffers.push(Buffer { dtype, role: Role::Input });
    }
    let mut updates = Vec::new();
    let mut written: BTreeMap<BufferId, TensorId> = BTreeMap::new();
    for &(buffer, tensor) in &region.updates {
        written.insert(buffer, tensor);
        buffers[buffer].role = Role::Updated;
        updates.push(Pending::whole(tensor, buffer, buffer_stride(tensors, buffer)?));
    }
    let mut pending = Vec::new();
    for output in region.allocated() {
        written.insert(buffers.len(), output.tensor);
        pending.push(Pending::whole(output.tensor, buffers.len(), output.ty.stride.clone()));
        buffers.push(Buffer { dtype: output.ty.dtype, role: Role::Output(output.ty.clone()) });
    }
    let mut builder =
        StageBuilder { evaluator: Scalarizer::new(tensors), tensors, form, buffers, stages: Vec::new(), written };
    for &tensor in kept {
        builder.keep(tensor)?;
    }
    let mut own_stages = 0;
    match order {
        UpdateTime::WithResults => pending = updates.into_iter().chain(pending).collect(),
        UpdateTime::First => {
            builder.run(updates.clone())?;
            own_stages = builder.stages.len();
            for Pending { tensor, buffer, stride, .. } in updates {
                builder.evaluator.overwrite(tensor, buffer, stride);
            }
        }
    }
    builder.run(pending)?;
    let expensive = builder.computed_again();
    let StageBuilder { evaluator, buffers, stages, written, .. } = builder;
    let reaches = region.inputs.iter().map(|input| reach(&input.ty)).collect();
    let operations = names(tensors, &written);
    let program = Program { buffers, reaches, stages, arena: evaluator.arena, checks_indices: false, operations };
    // Stages after those of the updates read new elements only.
    let stages = match order {
        UpdateTime::WithResults => program.stages.as_slice(),
        UpdateTime::First => &program.stages[..own_stages],
    };
    let is_sound = region.updates.iter().all(|&(buffer, _)| program.reads_before_writing(stages, buffer, form));
    is_sound.then_some((program, expensive))
}

/// Returns the names of the operations of a program that writes these tensors.
fn names(tensors: &Tensors, written: &BTreeMap<BufferId, TensorId>) -> OperationNames {
    let is_reduction = |&id: &TensorId| matches!(tensors[id].def, Def::Reduce { .. });
    OperationNames {
        written: written.iter().filter_map(|(&buffer, &tensor)| Some((buffer, tensors.operation(tensor)?))).collect(),
        reductions: (0..tensors.len())
            .filter(is_reduction)
            .filter_map(|id| Some((id, tensors.operation(id)?)))
            .collect(),
    }
}

fn buffer_stride(tensors: &Tensors, number: BufferId) -> Option<Vec<i64>> {
    (0..tensors.len()).find_map(|id| match &tensors[id].def {
        Def::Buffer { buffer, stride } if *buffer == number => Some(stride.clone()),
        _ => None,
    })
}

fn buffer_dtype(tensors: &Tensors, number: BufferId) -> Option<DType> {
    (0..tensors.len()).find_map(|id| match tensors[id].def {
        Def::Buffer { buffer, .. } if buffer == number => Some(tensors[id].dtype),
        _ => None,
    })
}
