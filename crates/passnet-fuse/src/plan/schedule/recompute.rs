//! Values that a stage would compute several times: the sine of a table that each head uses, or the exponential of an element that
//! lies in several windows. If computing them again takes longer than storing them, an earlier stage stores them.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::contiguous_stride;

use super::grouping::{Pending, StageBuilder};
use crate::{
    front::{
        arena::Arena,
        expr::{Binary, Expr, ExprId, Unary, ValueKind},
        index::{Term, Var},
        tensor::TensorId,
    },
    plan::{
        lanes::{LANES, SHORTEST, acts_in_lanes, is_in_lanes},
        running::RunningSums,
        stage::{LoopForm, Stage, Statement, roots},
    },
};

/// Time to store an element and read it back, in nanoseconds.
const MEMORY_NS: f64 = 0.3;
/// Time to allocate a tensor and to start a stage, in nanoseconds.
const STAGE_NS: f64 = 2000.0;
/// Time of a function for a single value, as a multiple of its time for one lane of a register.
const ALONE: f64 = 8.0;

impl StageBuilder<'_> {
    /// Adds a stage that stores a tensor, so that later stages read it from memory.
    pub(super) fn keep(&mut self, tensor: TensorId) -> Option<()> {
        let stride = contiguous_stride(&self.tensors[tensor].shape);
        let buffer = self.temporary(tensor);
        self.run(vec![Pending::whole(tensor, buffer, stride.clone())])?;
        self.evaluator.store(tensor, buffer, stride);
        Some(())
    }

    /// Returns the result of an operation that saves most if it is stored. Returns `None` on a device, where a launch costs more
    /// than computing the functions again.
    pub(super) fn computed_again(&self) -> Option<TensorId> {
        (self.form == LoopForm::Nests).then_some(())?;
        let arena = &self.evaluator.arena;
        let mut spent: BTreeMap<ExprId, f64> = BTreeMap::new();
        for stage in &self.stages {
            let runs = ComputationCounts::of(arena, stage);
            let factor = if is_in_vectors(arena, stage) { 1.0 } else { ALONE };
            for id in arena.reachable(&roots(stage)) {
                if let Some(ns) = cost(arena, id) {
                    *spent.entry(id).or_default() += runs.count(arena, id) as f64 * ns * factor;
                }
            }
        }
        let saved = |(&tensor, exprs): (&TensorId, &BTreeSet<ExprId>)| {
            let of_one = |expr: &ExprId| -> f64 {
                let parts = arena.reachable(&[*expr]);
                let has_lanes = parts.iter().all(|&id| matches!(arena.kind(id), ValueKind::F32 | ValueKind::Bool));
                let factor = if has_lanes { 1.0 } else { ALONE };
                factor * parts.into_iter().filter_map(|id| cost(arena, id)).sum::<f64>()
            };
            let once = exprs.iter().map(of_one).fold(0.0, f64::max);
            let all: Vec<ExprId> = exprs.iter().copied().collect();
            let now: f64 = arena.reachable(&all).iter().filter_map(|id| spent.get(id)).sum();
            let numel = self.tensors[tensor].numel() as f64;
            (tensor, now - numel * (once + MEMORY_NS) - STAGE_NS)
        };
        let is_open = |tensor: &TensorId| !self.evaluator.stored.contains_key(tensor);
        let all = self.evaluator.results.iter().filter(|(tensor, _)| is_open(tensor)).map(saved);
        all.filter(|(_, ns)| *ns > 0.0).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(tensor, _)| tensor)
    }
}

/// Number of times that each value of a stage is computed: once for each iteration of the loops that the value depends on and of
/// the loops around these.
struct ComputationCounts {
    /// Iterations of the loop of each variable, times those of the loops around it.
    turns: BTreeMap<Var, i64>,
    rows: i64,
}

impl ComputationCounts {
    fn of(arena: &Arena, stage: &Stage) -> Self {
        let mut turns = BTreeMap::new();
        let mut outside = 1;
        for nest in stage.outer.iter().chain(&stage.inner) {
            outside *= nest.extent;
            turns.extend(nest.var.map(|var| (var, outside)));
        }
        // A running sum has no loop along its rows: the loop over the rows replaces it.
        let is_running = RunningSums::of(stage, arena).is_some();
        for segment in &stage.segments {
            let along = if is_running { 1 } else { segment.innermost.extent };
            turns.extend(segment.innermost.var.map(|var| (var, outside * along)));
        }
        Self { turns, rows: stage.outer.iter().map(|nest| nest.extent).product() }
    }

    fn count(&self, arena: &Arena, value: ExprId) -> i64 {
        let mut most = 1;
        for id in arena.reachable(&[value]) {
            if matches!(arena.get(id), Expr::Reduced { .. }) {
                most = most.max(self.rows);
            }
            arena.for_each_index(id, &mut |index| {
                index.for_each_term(&mut |term| {
                    if let Term::Var(var) = term {
                        most = most.max(self.turns.get(var).copied().unwrap_or(1));
                    }
                });
            });
        }
        most
    }
}

/// Returns the time of a function in one lane of a register, in nanoseconds, as measured on a server CPU with AVX-512; `None` for
/// arithmetic.
fn cost(arena: &Arena, id: ExprId) -> Option<f64> {
    match arena.get(id) {
        Expr::Unary(Unary::Exp | Unary::Expm1, _) => Some(0.2),
        Expr::Unary(Unary::Log | Unary::Log1p | Unary::Tanh | Unary::TanhPlus1 | Unary::ErfPlus1, _) => Some(0.4),
        Expr::Unary(Unary::Sin | Unary::Cos | Unary::Erf, _) => Some(0.7),
        Expr::Binary(Binary::Pow | Binary::Rest, ..) => Some(1.0),
        _ => None,
    }
}

/// Returns whether a loop of the stage takes a register of elements a step.
fn is_in_vectors(arena: &Arena, stage: &Stage) -> bool {
    if RunningSums::of(stage, arena).is_some() {
        return false;
    }
    // Only reductions are computed across rows.
    let statements = || stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    let has_folds = statements().any(|statement| matches!(statement, Statement::Reduce { .. }));
    let shortest = if has_folds { LANES } else { SHORTEST };
    let along = stage.segments.iter().filter(|segment| segment.innermost.extent >= shortest);
    let across = stage.outer.iter().filter(|nest| has_folds && nest.extent >= LANES);
    let mut vars = along.filter_map(|segment| segment.innermost.var).chain(across.filter_map(|nest| nest.var));
    vars.any(|var| {
        let varying = varying(arena, stage, var);
        let mut own = statements().filter(|statement| varying.contains(&statement.value())).peekable();
        own.peek().is_some()
            && own.all(|statement: &Statement| acts_in_lanes(arena, statement, var))
            && varying.iter().all(|&id| is_in_lanes(arena, id, var, &|id| varying.contains(id)))
    })
}

fn varying(arena: &Arena, stage: &Stage, var: Var) -> BTreeSet<ExprId> {
    let mut varying = BTreeSet::new();
    for id in arena.reachable(&roots(stage)) {
        let mut varies = false;
        arena.for_each_operand(id, &mut |operand| varies |= varying.contains(&operand));
        arena.for_each_index(id, &mut |index| varies |= index.uses(var));
        if varies {
            varying.insert(id);
        }
    }
    varying
}
