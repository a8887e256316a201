//! Loops: a region as a sequence of stages, each one nest of loops.
//!
//! A stage runs over *rows* (the outer loops); within a row it runs over the row's elements (the inner loops) once per
//! *level*. What needs a reduction's result stands on a later level than the reduction: a softmax has the levels maximum,
//! sum, quotient. Reductions over rows of another form are stages of their own, and what they give is stored between.

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::DType;

use crate::{
    expr::{Arena, Binary, BufferId, Expr, ExprId, Fold, Kind, Unary},
    index::{Index, Term, Var, Vars, delinearize, linearize, offset},
    region::Region,
    tensor::{Def, Evaluator, Keeps, TensorId, Tensors},
    typed::{TensorType, contiguous_stride},
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

/// What happens at one element, and after each level of a row.
struct Actions {
    levels: Vec<Vec<Action>>,
    per_row: Vec<Vec<Action>>,
}

/// What a stage computes: `base` gives the rows and the elements.
struct Plan {
    /// Shape of the domain; its row-major position is what members share.
    shape: Vec<i64>,
    /// Dimensions of the domain in the order of the loops.
    outer: Vec<usize>,
    inner: Vec<usize>,
    members: Vec<Member>,
}

#[derive(Clone, Debug)]
enum Member {
    Fold(TensorId),
    /// One value per element.
    Full {
        tensor: TensorId,
        buffer: BufferId,
        stride: Vec<i64>,
    },
    /// One value per row.
    PerRow {
        tensor: TensorId,
        buffer: BufferId,
        stride: Vec<i64>,
    },
}

impl Member {
    const fn tensor(&self) -> TensorId {
        match self {
            Self::Fold(tensor) | Self::Full { tensor, .. } | Self::PerRow { tensor, .. } => *tensor,
        }
    }
}

/// A result that is still to be placed.
#[derive(Clone, Debug)]
struct Pending {
    tensor: TensorId,
    buffer: BufferId,
    stride: Vec<i64>,
}

/// How the loops of a stage are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nests without divisions, for a processor: split where an index divides their variable, else merged.
    Nests,
    /// One loop over rows and one along them, for a device that takes them apart itself.
    Tiles,
}

/// Schedules a region. `None` where it holds complex numbers.
pub(crate) fn schedule(region: &Region, form: Form) -> Option<Program> {
    let tensors = &region.tensors;
    let mut buffers: Vec<Buffer> = Vec::new();
    for number in 0..region.inputs.len() {
        let dtype = buffer_dtype(tensors, number)?;
        buffers.push(Buffer { dtype, role: Role::Input });
    }
    let mut pending = Vec::new();
    for &(buffer, tensor) in &region.updates {
        buffers[buffer].role = Role::Updated;
        pending.push(Pending { tensor, buffer, stride: buffer_stride(tensors, buffer)? });
    }
    for output in region.allocated() {
        pending.push(Pending { tensor: output.tensor, buffer: buffers.len(), stride: output.ty.stride.clone() });
        buffers.push(Buffer { dtype: output.ty.dtype, role: Role::Output(output.ty.clone()) });
    }
    let mut scheduler = Scheduler { evaluator: Evaluator::new(tensors), tensors, form, buffers, stages: Vec::new() };
    scheduler.run(pending)?;
    let Scheduler { evaluator, buffers, stages, .. } = scheduler;
    let program = Program { buffers, stages, arena: evaluator.arena };
    region.updates.iter().all(|&(buffer, _)| program.reads_before_writing(buffer, form)).then_some(program)
}

impl Program {
    /// Whether each element of an input that is overwritten is read for the last time where it is written.
    fn reads_before_writing(&self, wanted: BufferId, form: Form) -> bool {
        let mut written: Option<&Index> = None;
        for stage in &self.stages {
            // A tile that holds whole rows reads each element once.
            let rereads = form == Form::Nests || crate::print::is_looped(stage, &self.arena);
            let is_over = written.is_some();
            for level in 0..stage.per_row.len() {
                let actions = || {
                    let segments = stage.segments.iter().flat_map(|segment| &segment.levels[level]);
                    segments.chain(&stage.per_row[level])
                };
                for action in actions() {
                    if self.reads(action, wanted).next().is_some() && (is_over || (rereads && written.is_some())) {
                        return false;
                    }
                }
                for action in actions() {
                    if let Action::Store { buffer, at, .. } = action
                        && *buffer == wanted
                    {
                        written = Some(at);
                    }
                }
            }
            if let (Some(written), false) = (written, is_over) {
                let all = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
                let mut all = all.chain(stage.per_row.iter().flatten());
                if stage.segments.len() > 1 || !all.all(|action| self.reads(action, wanted).all(|at| at == written)) {
                    return false;
                }
            }
        }
        true
    }

    /// Where an action reads a buffer.
    fn reads(&self, action: &Action, wanted: BufferId) -> impl Iterator<Item = &Index> {
        self.arena.reachable(&[action.value()]).into_iter().filter_map(move |id| match self.arena.get(id) {
            Expr::Load { buffer, at, .. } if *buffer == wanted => Some(at),
            _ => None,
        })
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

struct Scheduler<'t> {
    evaluator: Evaluator<'t>,
    tensors: &'t Tensors,
    form: Form,
    buffers: Vec<Buffer>,
    stages: Vec<Stage>,
}

impl Scheduler<'_> {
    fn run(&mut self, mut pending: Vec<Pending>) -> Option<()> {
        loop {
            let reductions = self.reductions(pending.iter().map(|output| output.tensor));
            let Some(&first) = reductions.first() else { break };
            let plan = self.row_plan(first, &reductions, &pending)?;
            let placed: BTreeSet<BufferId> = plan
                .members
                .iter()
                .filter_map(|member| match member {
                    Member::Fold(_) => None,
                    Member::Full { buffer, .. } | Member::PerRow { buffer, .. } => Some(*buffer),
                })
                .collect();
            pending.retain(|output| !placed.contains(&output.buffer));
            self.emit(&plan)?;
        }
        while !pending.is_empty() {
            let plan = self.pointwise_plan(&mut pending);
            self.emit(&plan)?;
        }
        Some(())
    }

    /// Reductions that the tensors need and that are not stored yet, operands before users.
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

    /// A stage over the rows of a reduction, with all that fits to it.
    fn row_plan(&mut self, first: TensorId, reductions: &[TensorId], pending: &[Pending]) -> Option<Plan> {
        let Def::Reduce { of, reduced, .. } = &self.tensors[first].def else { return None };
        let shape = self.tensors[*of].shape.clone();
        let (inner, outer): (Vec<usize>, Vec<usize>) = (0..shape.len()).partition(|&dim| reduced[dim]);
        let mut plan = Plan { shape, outer, inner, members: vec![Member::Fold(first)] };
        for &reduction in &reductions[1..] {
            self.try_member(&mut plan, Member::Fold(reduction));
        }
        for output in pending {
            let stored = self.through_views(output);
            let numel = self.tensors[stored.tensor].numel();
            let rows: i64 = plan.outer.iter().map(|&dim| plan.shape[dim]).product();
            let Pending { tensor, buffer, stride } = stored;
            if numel == plan.shape.iter().product::<i64>() {
                self.try_member(&mut plan, Member::Full { tensor, buffer, stride });
            } else if numel == rows {
                self.try_member(&mut plan, Member::PerRow { tensor, buffer, stride });
            }
        }
        // What later stages need of these reductions has to be stored.
        let left: Vec<TensorId> = pending
            .iter()
            .filter(|output| !plan.members.iter().any(|member| is_of_buffer(member, output.buffer)))
            .map(|output| output.tensor)
            .collect();
        let needed = self.reductions(left.into_iter());
        let folds: Vec<TensorId> = plan
            .members
            .iter()
            .filter_map(|member| match member {
                Member::Fold(tensor) if needed.contains(tensor) => Some(*tensor),
                _ => None,
            })
            .collect();
        for tensor in folds {
            let dtype = self.tensors[tensor].dtype;
            let buffer = self.buffers.len();
            self.buffers.push(Buffer { dtype, role: Role::Temporary(self.tensors[tensor].numel()) });
            let stride = contiguous_stride(&self.tensors[tensor].shape);
            plan.members.push(Member::PerRow { tensor, buffer, stride });
        }
        Some(plan)
    }

    /// A result that is a rearrangement of another tensor, as that tensor stored in the result's places.
    fn through_views(&self, output: &Pending) -> Pending {
        let mut result = output.clone();
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

    /// Adds the member if its value can be computed in the loops of the plan.
    fn try_member(&mut self, plan: &mut Plan, member: Member) {
        plan.members.push(member);
        let extents = plan.extents(&plan.outer);
        let inner = plan.extents(&plan.inner);
        if self.build(plan, &extents, &inner, None).is_none() {
            plan.members.pop();
        }
    }

    /// A stage without reductions, for the first result and those of the same shape and layout.
    fn pointwise_plan(&mut self, pending: &mut Vec<Pending>) -> Plan {
        let first = pending.remove(0);
        let shape = self.tensors[first.tensor].shape.clone();
        let mut outer: Vec<usize> = (0..shape.len()).filter(|&dim| shape[dim] != 1).collect();
        outer.sort_by_key(|&dim| (std::cmp::Reverse(first.stride[dim]), dim));
        let inner = outer.pop().into_iter().collect();
        let same = |output: &Pending| output.stride == first.stride && self.tensors[output.tensor].shape == shape;
        let (others, left): (Vec<Pending>, Vec<Pending>) = pending.drain(..).partition(same);
        *pending = left;
        let members = std::iter::once(first)
            .chain(others)
            .map(|Pending { tensor, buffer, stride }| Member::Full { tensor, buffer, stride })
            .collect();
        Plan { shape, outer, inner, members }
    }

    /// Chooses the loops of a plan, and adds the stage.
    fn emit(&mut self, plan: &Plan) -> Option<()> {
        let stage = match self.form {
            Form::Nests => self.nests(plan)?,
            Form::Tiles => self.tiles(plan)?,
        };
        self.stages.push(stage);
        for member in &plan.members {
            if let Member::PerRow { tensor, buffer, stride } = member
                && matches!(self.buffers[*buffer].role, Role::Temporary(_))
            {
                self.evaluator.store(*tensor, *buffer, stride.clone());
            }
        }
        Some(())
    }

    fn tiles(&mut self, plan: &Plan) -> Option<Stage> {
        let product = |extents: Vec<i64>| vec![extents.iter().product::<i64>()];
        let (outer, inner) = (product(plan.extents(&plan.outer)), product(plan.extents(&plan.inner)));
        if plan.members.iter().all(|member| matches!(member, Member::Full { .. })) {
            return self.build(plan, &[], &[outer[0] * inner[0]], None);
        }
        // Where rows of the members lie across those of the plan, the indices simplify only loop by loop.
        self.build(plan, &outer, &inner, None)
            .or_else(|| self.build(plan, &plan.extents(&plan.outer), &plan.extents(&plan.inner), None))
    }

    fn nests(&mut self, plan: &Plan) -> Option<Stage> {
        let mut outer = plan.extents(&plan.outer);
        let mut inner = plan.extents(&plan.inner);
        let mut stage = self.build(plan, &outer, &inner, None)?;
        // A division of a variable goes away where the loop is split in two.
        for _ in 0..8 {
            let Some((var, by)) = self.divided_var(&stage) else { break };
            let split = |extents: &mut Vec<i64>, loops: &[Loop]| {
                let place = loops.iter().position(|candidate| candidate.var == Some(var));
                if let Some(place) = place {
                    extents.splice(place..=place, [extents[place] / by, by]);
                }
                place.is_some()
            };
            let inner_loops: Vec<Loop> = stage
                .inner
                .iter()
                .cloned()
                .chain(stage.segments.first().map(|segment| segment.innermost.clone()))
                .collect();
            let (mut new_outer, mut new_inner) = (outer.clone(), inner.clone());
            if !split(&mut new_outer, &stage.outer) && !split(&mut new_inner, &inner_loops) {
                break;
            }
            let Some(split) = self.build(plan, &new_outer, &new_inner, None) else { break };
            stage = split;
            (outer, inner) = (new_outer, new_inner);
        }
        let mut divisions = self.divisions(&stage);
        let row_is_flat = plan.members.iter().all(|member| !matches!(member, Member::Fold(_) | Member::PerRow { .. }));
        if row_is_flat {
            // Without rows, outer and inner loops are one nest.
            outer.append(&mut inner);
        }
        for extents in [0, 1] {
            let mut place = 0;
            loop {
                let current = if extents == 0 { &outer } else { &inner };
                if place + 1 >= current.len() {
                    break;
                }
                let mut merged = current.clone();
                merged.splice(place..=place + 1, [current[place] * current[place + 1]]);
                let (new_outer, new_inner) =
                    if extents == 0 { (merged.clone(), inner.clone()) } else { (outer.clone(), merged.clone()) };
                let trial = self.build_flat(plan, &new_outer, &new_inner, row_is_flat);
                if let Some(trial_divisions) = trial.map(|trial| self.divisions(&trial))
                    && trial_divisions <= divisions
                {
                    divisions = trial_divisions;
                    (outer, inner) = (new_outer, new_inner);
                } else {
                    place += 1;
                }
            }
        }
        stage = self.build_flat(plan, &outer, &inner, row_is_flat)?;
        let cuts = self.breakpoints(&stage);
        if !cuts.is_empty() {
            let (outer, inner) = flatten(&outer, &inner, row_is_flat);
            stage = self.build(plan, &outer, &inner, Some(&cuts))?;
        }
        self.hoist(&mut stage);
        Some(stage)
    }

    /// Puts the outer loop first on which alone something expensive depends, so that it is computed once for all others:
    /// the scale of a channel for all images of a batch.
    fn hoist(&self, stage: &mut Stage) {
        let arena = &self.evaluator.arena;
        let actions = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
        let roots: Vec<ExprId> = actions.chain(stage.per_row.iter().flatten()).map(Action::value).collect();
        let mut weights: BTreeMap<Var, usize> = BTreeMap::new();
        for id in arena.reachable(&roots) {
            if matches!(arena.get(id), Expr::Unary(Unary::Sqrt | Unary::Exp, _) | Expr::Binary(Binary::Div, ..))
                && let Some(var) = self.only_var(id)
            {
                *weights.entry(var).or_default() += 1;
            }
        }
        let weight = |nest: &Loop| nest.var.and_then(|var| weights.get(&var)).copied().unwrap_or(0);
        stage.outer.sort_by_key(|nest| std::cmp::Reverse(weight(nest)));
    }

    /// The variable that a value depends on, where it is one and no reduction takes part.
    fn only_var(&self, id: ExprId) -> Option<Var> {
        let arena = &self.evaluator.arena;
        let mut vars = BTreeSet::new();
        for id in arena.reachable(&[id]) {
            if matches!(arena.get(id), Expr::Reduced { .. }) {
                return None;
            }
            arena.for_each_index(id, &mut |index| {
                index.for_each_term(&mut |term| {
                    if let Term::Var(var) = term {
                        vars.insert(*var);
                    }
                });
            });
        }
        let var = vars.pop_first()?;
        vars.is_empty().then_some(var)
    }

    fn build_flat(&mut self, plan: &Plan, outer: &[i64], inner: &[i64], is_flat: bool) -> Option<Stage> {
        let (outer, inner) = flatten(outer, inner, is_flat);
        self.build(plan, &outer, &inner, None)
    }

    /// The stage with loops of these extents: row-major over the outer dimensions, and over the inner ones. `cuts` are
    /// places where the innermost loop is cut. `None` where a member does not fit.
    fn build(&mut self, plan: &Plan, outer: &[i64], inner: &[i64], cuts: Option<&[i64]>) -> Option<Stage> {
        let is_flat = plan.members.iter().all(|member| matches!(member, Member::Full { .. }));
        let outer_index: Vec<Index> = outer.iter().map(|&extent| self.evaluator.vars.fresh(extent)).collect();
        let (&last, before) = inner.split_last().unwrap_or((&1, &[]));
        let before_index: Vec<Index> = before.iter().map(|&extent| self.evaluator.vars.fresh(extent)).collect();
        let mut bounds = vec![0];
        bounds.extend(cuts.unwrap_or_default());
        bounds.push(last);
        let mut stage = Stage {
            outer: loops(&outer_index, outer),
            inner: loops(&before_index, before),
            segments: Vec::new(),
            per_row: Vec::new(),
        };
        for bound in bounds.windows(2) {
            let var = self.evaluator.vars.fresh(bound[1] - bound[0]);
            let mut inner_index = before_index.clone();
            inner_index.push(var.clone().plus_constant(bound[0]));
            let inner = if inner.is_empty() { &[1][..] } else { inner };
            let position = linearize(&inner_index, inner);
            let row = linearize(&outer_index, outer);
            let vars = &self.evaluator.vars;
            let mut dims = vec![Index::constant(0); plan.shape.len()];
            if is_flat {
                let whole = row.clone().times(inner.iter().product()).plus(&position);
                let order: Vec<usize> = plan.outer.iter().chain(&plan.inner).copied().collect();
                assign(&mut dims, &order, &whole, plan, vars);
            } else {
                assign(&mut dims, &plan.outer, &row, plan, vars);
                assign(&mut dims, &plan.inner, &position, plan, vars);
            }
            let inner_vars: BTreeSet<Var> = inner_index.iter().filter_map(single_var).collect();
            let first = stage.segments.is_empty();
            let Actions { levels, per_row } = self.actions(plan, &dims, &row, &inner_vars)?;
            if first {
                stage.per_row = per_row;
            }
            let innermost = Loop { var: var.as_var(), extent: bound[1] - bound[0] };
            stage.segments.push(Segment { innermost, levels });
        }
        Some(stage)
    }

    /// The members' values at one element, by level.
    fn actions(&mut self, plan: &Plan, dims: &[Index], row: &Index, inner_vars: &BTreeSet<Var>) -> Option<Actions> {
        let position = linearize(dims, &plan.shape);
        // Level and own indices of the reductions of this stage.
        let mut folds: BTreeMap<TensorId, (usize, Vec<Index>)> = BTreeMap::new();
        let mut levels: Vec<Vec<Action>> = Vec::new();
        let mut per_row: Vec<Vec<Action>> = Vec::new();
        for member in &plan.members {
            let tensor = member.tensor();
            match member {
                Member::Fold(_) => {
                    let Def::Reduce { fold, of, reduced } = &self.tensors[tensor].def else { return None };
                    let shape = &self.tensors[*of].shape;
                    (shape.iter().product::<i64>() == plan.shape.iter().product::<i64>()).then_some(())?;
                    let index = delinearize(&position, shape, &self.evaluator.vars);
                    let kept: Vec<Index> = index
                        .iter()
                        .zip(reduced)
                        .filter(|&(_, &reduced)| !reduced)
                        .map(|(index, _)| index.clone())
                        .collect();
                    kept.iter().all(|index| !uses(index, inner_vars)).then_some(())?;
                    let rows: i64 = plan.outer.iter().map(|&dim| plan.shape[dim]).product();
                    (self.tensors[tensor].numel() == rows).then_some(())?;
                    let value = self.evaluator.at(*of, &index)?;
                    let level = self.level(value, &folds)?;
                    let kind = Kind::of(self.tensors[tensor].dtype)?;
                    folds.insert(tensor, (level, kept));
                    push(&mut levels, level, Action::Fold { tensor, fold: *fold, kind, value });
                }
                Member::Full { buffer, stride, .. } => {
                    let index = delinearize(&position, &self.tensors[tensor].shape, &self.evaluator.vars);
                    let value = self.evaluator.at(tensor, &index)?;
                    let level = self.level(value, &folds)?;
                    let dtype = self.buffers[*buffer].dtype;
                    let at = offset(&index, stride);
                    push(&mut levels, level, Action::Store { buffer: *buffer, dtype, at, value });
                }
                Member::PerRow { buffer, stride, .. } => {
                    let index = delinearize(row, &self.tensors[tensor].shape, &self.evaluator.vars);
                    let value = self.evaluator.at(tensor, &index)?;
                    let level = self.level(value, &folds)?.checked_sub(1)?;
                    let dtype = self.buffers[*buffer].dtype;
                    let at = offset(&index, stride);
                    push(&mut per_row, level, Action::Store { buffer: *buffer, dtype, at, value });
                }
            }
        }
        per_row.resize(levels.len().max(per_row.len()), Vec::new());
        levels.resize(per_row.len(), Vec::new());
        Some(Actions { levels, per_row })
    }

    /// First level on which the value can be computed; `None` where it needs a reduction of other rows.
    fn level(&self, value: ExprId, folds: &BTreeMap<TensorId, (usize, Vec<Index>)>) -> Option<usize> {
        let arena = &self.evaluator.arena;
        let mut level = 0;
        for id in arena.reachable(&[value]) {
            if let Expr::Reduced { tensor, kept, .. } = arena.get(id) {
                let (fold_level, own) = folds.get(tensor)?;
                (own == kept).then_some(())?;
                level = level.max(fold_level + 1);
            }
        }
        Some(level)
    }

    fn for_each_index(&self, stage: &Stage, visit: &mut impl FnMut(&Index)) {
        let arena = &self.evaluator.arena;
        let actions = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
        let mut roots = Vec::new();
        for action in actions.chain(stage.per_row.iter().flatten()) {
            if let Action::Store { at, .. } = action {
                visit(at);
            }
            roots.push(action.value());
        }
        for id in arena.reachable(&roots) {
            arena.for_each_index(id, visit);
        }
    }

    /// Number of divisions and remainders.
    fn divisions(&self, stage: &Stage) -> usize {
        let mut count = 0;
        self.for_each_index(stage, &mut |index| {
            index.for_each_term(&mut |term| count += usize::from(matches!(term, Term::Div(..) | Term::Mod(..))));
        });
        count
    }

    /// A variable that is divided by a divisor of its extent.
    fn divided_var(&self, stage: &Stage) -> Option<(Var, i64)> {
        let vars = &self.evaluator.vars;
        let mut found = None;
        self.for_each_index(stage, &mut |index| {
            index.for_each_term(&mut |term| {
                if let Term::Div(inner, by) | Term::Mod(inner, by) = term
                    && let Some(var) = inner.as_var()
                    && vars.extent(var) % by == 0
                    && vars.extent(var) > *by
                {
                    found = found.or(Some((var, *by)));
                }
            });
        });
        found
    }

    /// Where piecewise definitions change along the innermost loop.
    fn breakpoints(&self, stage: &Stage) -> Vec<i64> {
        let Some(Loop { var: Some(var), extent }) = stage.segments.first().map(|segment| segment.innermost.clone())
        else {
            return Vec::new();
        };
        let arena = &self.evaluator.arena;
        let roots: Vec<ExprId> =
            stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten()).map(Action::value).collect();
        let mut cuts = BTreeSet::new();
        for id in arena.reachable(&roots) {
            if let Expr::InRange { index, low, high } = arena.get(id)
                && let [(Term::Var(of), 1)] = index.terms()
                && *of == var
            {
                let shift = index.constant_part();
                for bound in [low.checked_sub(shift), high.checked_sub(shift)].into_iter().flatten() {
                    if bound > 0 && bound < extent {
                        cuts.insert(bound);
                    }
                }
            }
        }
        // Many pieces make much code.
        if cuts.len() > 8 { Vec::new() } else { cuts.into_iter().collect() }
    }
}

impl Plan {
    fn extents(&self, dims: &[usize]) -> Vec<i64> {
        dims.iter().map(|&dim| self.shape[dim]).filter(|&extent| extent != 1).collect()
    }
}

/// Without rows, the innermost loop is the row.
fn flatten(outer: &[i64], inner: &[i64], is_flat: bool) -> (Vec<i64>, Vec<i64>) {
    if !is_flat {
        return (outer.to_vec(), inner.to_vec());
    }
    let mut outer: Vec<i64> = outer.iter().chain(inner).copied().collect();
    let inner = outer.pop().into_iter().collect();
    (outer, inner)
}

fn assign(dims: &mut [Index], order: &[usize], position: &Index, plan: &Plan, vars: &Vars) {
    let shape: Vec<i64> = order.iter().map(|&dim| plan.shape[dim]).collect();
    for (&dim, index) in order.iter().zip(delinearize(position, &shape, vars)) {
        dims[dim] = index;
    }
}

fn loops(index: &[Index], extents: &[i64]) -> Vec<Loop> {
    index.iter().zip(extents).map(|(index, &extent)| Loop { var: index.as_var(), extent }).collect()
}

fn single_var(index: &Index) -> Option<Var> {
    match index.terms() {
        [(Term::Var(var), _)] => Some(*var),
        _ => None,
    }
}

fn uses(index: &Index, vars: &BTreeSet<Var>) -> bool {
    let mut found = false;
    index.for_each_term(&mut |term| match term {
        Term::Var(var) => found |= vars.contains(var),
        Term::Value { .. } => found = true,
        Term::Div(..) | Term::Mod(..) => {}
    });
    found
}

fn is_of_buffer(member: &Member, wanted: BufferId) -> bool {
    match member {
        Member::Fold(_) => false,
        Member::Full { buffer, .. } | Member::PerRow { buffer, .. } => *buffer == wanted,
    }
}

fn is_row_major(shape: &[i64], stride: &[i64]) -> bool {
    TensorType { shape: shape.to_vec(), stride: stride.to_vec(), dtype: DType::Bool }.is_contiguous()
}

fn push(levels: &mut Vec<Vec<Action>>, level: usize, action: Action) {
    if levels.len() <= level {
        levels.resize(level + 1, Vec::new());
    }
    levels[level].push(action);
}
