//! Loops: a region as a sequence of stages, each one nest of loops.
//!
//! A stage runs over *rows* (the outer loops); within a row it runs over the row's elements (the inner loops) once per
//! *level*. What needs a reduction's result stands on a later level than the reduction: a softmax has the levels maximum,
//! sum, quotient. Reductions over rows of another form are stages of their own, and what they give is stored between.

mod build;
mod hazard;
mod loops;
mod plan;

use passnet_record::DType;

use self::plan::{Pending, Scheduler};
use crate::{
    expr::{Arena, BufferId, ExprId, Fold, Kind},
    index::{Index, Var},
    region::Region,
    tensor::{Def, Evaluator, TensorId, Tensors},
    typed::TensorType,
};

/// One loop from 0 to `extent`. An extent of 1 has no variable.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) var: Option<Var>,
    pub(crate) extent: i64,
}

/// What happens to a value once it is computed.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Combined over the inner loops; the result is what [`Expr::Reduced`] of that tensor means.
    Fold { tensor: TensorId, fold: Fold, kind: Kind, value: ExprId },
    /// Written to a buffer.
    Store { buffer: BufferId, dtype: DType, at: Index, value: ExprId },
}

impl Action {
    pub(crate) const fn value(&self) -> ExprId {
        match self {
            Self::Fold { value, .. } | Self::Store { value, .. } => *value,
        }
    }
}

/// A part of the innermost loop on which every piecewise definition is decided.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) innermost: Loop,
    /// For each level what is done.
    pub(crate) levels: Vec<Vec<Action>>,
}

/// One nest of loops.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) outer: Vec<Loop>,
    /// Inner loops but the innermost.
    pub(crate) inner: Vec<Loop>,
    pub(crate) segments: Vec<Segment>,
    /// For each level, what is stored once per row after it.
    pub(crate) per_row: Vec<Vec<Action>>,
}

/// A tensor argument of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Buffer {
    pub(crate) dtype: DType,
    pub(crate) role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Values from outside, in order.
    Input,
    /// One of them that is overwritten.
    Updated,
    /// Results, in order.
    Output(TensorType),
    /// Between stages: number of elements.
    Temporary(i64),
}

/// All that is computed for a region.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) arena: Arena,
}

/// How the loops of a stage are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nests without divisions, for a processor: split where an index divides their variable, else merged.
    Nests,
    /// One loop over rows and one along them, for a device that takes them apart itself.
    Tiles,
}

/// When inputs that change are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Updates {
    /// Together with the results.
    Beside,
    /// In stages of their own, before the results, which read the new elements.
    First,
}

/// Schedules a region. `None` where it holds complex numbers, or where an input would be read after it was overwritten.
pub(crate) fn schedule(region: &Region, form: Form) -> Option<Program> {
    let beside = || schedule_with(region, form, Updates::Beside);
    let first = || schedule_with(region, form, Updates::First).filter(|_| !region.updates.is_empty());
    beside().or_else(first)
}

fn schedule_with(region: &Region, form: Form, order: Updates) -> Option<Program> {
    let tensors = &region.tensors;
    let mut buffers: Vec<Buffer> = Vec::new();
    for number in 0..region.inputs.len() {
        let dtype = buffer_dtype(tensors, number)?;
        buffers.push(Buffer { dtype, role: Role::Input });
    }
    let mut updates = Vec::new();
    for &(buffer, tensor) in &region.updates {
        buffers[buffer].role = Role::Updated;
        updates.push(Pending::whole(tensor, buffer, buffer_stride(tensors, buffer)?));
    }
    let mut pending = Vec::new();
    for output in region.allocated() {
        pending.push(Pending::whole(output.tensor, buffers.len(), output.ty.stride.clone()));
        buffers.push(Buffer { dtype: output.ty.dtype, role: Role::Output(output.ty.clone()) });
    }
    let mut scheduler = Scheduler { evaluator: Evaluator::new(tensors), tensors, form, buffers, stages: Vec::new() };
    let mut own_stages = 0;
    match order {
        Updates::Beside => pending = updates.into_iter().chain(pending).collect(),
        Updates::First => {
            scheduler.run(updates.clone())?;
            own_stages = scheduler.stages.len();
            for Pending { tensor, buffer, stride, .. } in updates {
                scheduler.evaluator.overwrite(tensor, buffer, stride);
            }
        }
    }
    scheduler.run(pending)?;
    let Scheduler { evaluator, buffers, stages, .. } = scheduler;
    let program = Program { buffers, stages, arena: evaluator.arena };
    // Stages after those of the updates read new elements only.
    let stages = match order {
        Updates::Beside => program.stages.as_slice(),
        Updates::First => &program.stages[..own_stages],
    };
    let is_sound = region.updates.iter().all(|&(buffer, _)| program.reads_before_writing(stages, buffer, form));
    is_sound.then_some(program)
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
