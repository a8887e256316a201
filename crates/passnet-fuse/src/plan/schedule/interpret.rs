//! A property test of scheduling: the loops compute the elements that the tensors define. Random regions are computed twice:
//! element by element from their definitions, and by running their stages.

use std::collections::BTreeMap;

use passnet_graph::{TensorType, ValueId};
use passnet_record::DType::Float64;
use proptest::prelude::*;

use super::{UpdateTime, schedule, schedule_keeping};
use crate::{
    front::{
        expr::{Binary, Expr, ExprId, ReduceOp},
        index::{Index, Term, Var},
        lower::dimensions,
        scalar::{PythonNumber, ScalarFn},
        tensor::{Def, Keeps, OverwrittenSpan, TensorId, Tensors},
    },
    plan::{
        region::{Region, RegionInput, RegionOutput},
        stage::{Loop, LoopForm, Program, Stage, Statement},
    },
};

fn at(index: &Index, vars: &dyn Fn(Var) -> i64) -> i64 {
    index.terms().iter().fold(index.constant_part(), |sum, (term, factor)| {
        let value = match term {
            Term::Var(var) => vars(*var),
            Term::Div(inner, by) => at(inner, vars).div_euclid(*by),
            Term::Mod(inner, by) => at(inner, vars).rem_euclid(*by),
            Term::Value { .. } => unreachable!("no gathers here"),
        };
        sum + value * factor
    })
}

fn content(buffer: usize, place: i64) -> f64 {
    ((place * 37 + buffer as i64 * 11) % 23) as f64 - 9.0
}

fn fold(fold: ReduceOp, a: f64, b: f64) -> f64 {
    match fold {
        ReduceOp::Sum => a + b,
        ReduceOp::Max => a.max(b),
        ReduceOp::Min => a.min(b),
    }
}

const fn start(fold: ReduceOp) -> f64 {
    match fold {
        ReduceOp::Sum => 0.0,
        ReduceOp::Max => f64::NEG_INFINITY,
        ReduceOp::Min => f64::INFINITY,
    }
}

fn every(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![Vec::new()], |all, &extent| {
        let longer =
            |start: &Vec<i64>| (0..extent).map(|next| [start.as_slice(), &[next]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(longer).collect()
    })
}

/// Returns the element of a tensor by its definition.
fn element(tensors: &Tensors, id: TensorId, index: &[i64]) -> f64 {
    match &tensors[id].def {
        Def::Buffer { buffer, stride } => content(*buffer, index.iter().zip(stride).map(|(i, s)| i * s).sum()),
        Def::Map { of, .. } => of
            .iter()
            .map(|&operand| {
                let shape = &tensors[operand].shape;
                let own = &index[index.len() - shape.len()..];
                let own: Vec<i64> = own.iter().zip(shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                element(tensors, operand, &own)
            })
            .sum(),
        Def::View { of, index: map, .. } => {
            let own: Vec<i64> = map.iter().map(|map| at(map, &|var| index[var as usize])).collect();
            element(tensors, *of, &own)
        }
        Def::Cat { of, dim } => {
            let mut own = index.to_vec();
            for &piece in of {
                let extent = tensors[piece].shape[*dim];
                if own[*dim] < extent {
                    return element(tensors, piece, &own);
                }
                own[*dim] -= extent;
            }
            unreachable!("the pieces fill the dimension")
        }
        Def::Pad { of, before, fill } => {
            let own: Vec<i64> = index.iter().zip(before).map(|(i, before)| i - before).collect();
            let is_inside = own.iter().zip(&tensors[*of].shape).all(|(&i, &n)| (0..n).contains(&i));
            if is_inside { element(tensors, *of, &own) } else { fill.as_f64() }
        }
        Def::Reduce { fold: op, of, reduced } => every(&tensors[*of].shape)
            .into_iter()
            .filter(|own| own.iter().zip(reduced).filter(|&(_, r)| !r).map(|(i, _)| *i).eq(index.iter().copied()))
            .fold(start(*op), |so_far, own| fold(*op, so_far, element(tensors, *of, &own))),
        Def::Overwrite { of, with, spans } => {
            let mut own = vec![0; tensors[*with].shape.len()];
            let is_met = index.iter().zip(spans).all(|(&i, span)| match *span {
                OverwrittenSpan::At(place) => i == place,
                OverwrittenSpan::Along { dim, start, step } => {
                    own[dim] = (i - start).div_euclid(step);
                    (i - start).rem_euclid(step) == 0 && (0..tensors[*with].shape[dim]).contains(&own[dim])
                }
            });
            if is_met { element(tensors, *with, &own) } else { element(tensors, *of, index) }
        }
        Def::Fill(_) | Def::Range { .. } | Def::Gather { .. } => unreachable!("not made here"),
    }
}

/// Runs stages on buffers.
struct ProgramRun<'p> {
    program: &'p Program,
    buffers: Vec<BTreeMap<i64, f64>>,
    inputs: usize,
    vars: BTreeMap<Var, i64>,
    folds: BTreeMap<TensorId, f64>,
}

impl ProgramRun<'_> {
    fn index(&self, index: &Index) -> i64 {
        at(index, &|var| self.vars[&var])
    }

    fn value(&self, id: ExprId) -> f64 {
        match self.program.arena.get(id) {
            Expr::Load { buffer, at, .. } if *buffer < self.inputs => content(*buffer, self.index(at)),
            Expr::Load { buffer, at, .. } => self.buffers[*buffer][&self.index(at)],
            Expr::Float { bits, .. } => f64::from_bits(*bits),
            Expr::Binary(Binary::Add, a, b) => self.value(*a) + self.value(*b),
            Expr::Guard(condition, a, b) => self.value(if self.holds(*condition) { *a } else { *b }),
            Expr::Reduced { tensor, .. } => self.folds[tensor],
            other => unreachable!("{other:?} is not made here"),
        }
    }

    fn holds(&self, id: ExprId) -> bool {
        match self.program.arena.get(id) {
            Expr::InRange { index, low, high } => (*low..*high).contains(&self.index(index)),
            Expr::Binary(Binary::And, a, b) => self.holds(*a) && self.holds(*b),
            Expr::Bool(value) => *value,
            other => unreachable!("{other:?} is no condition"),
        }
    }

    fn act(&mut self, statement: &Statement) {
        let value = self.value(statement.value());
        match statement {
            Statement::Store { buffer, at, .. } => {
                let place = self.index(at);
                let before = self.buffers[*buffer].insert(place, value);
                assert!(before.is_none(), "a place is written twice");
            }
            Statement::Reduce { tensor, fold: op, .. } => {
                let so_far = self.folds.get(tensor).copied().unwrap_or(start(*op));
                self.folds.insert(*tensor, fold(*op, so_far, value));
            }
        }
    }

    fn nest(&mut self, loops: &[&Loop], body: &mut dyn FnMut(&mut Self)) {
        let Some((first, rest)) = loops.split_first() else { return body(self) };
        for position in 0..first.extent {
            if let Some(var) = first.var {
                self.vars.insert(var, position);
            }
            self.nest(rest, body);
        }
    }

    fn stage(&mut self, stage: &Stage) {
        let outer: Vec<&Loop> = stage.outer.iter().collect();
        self.nest(&outer, &mut |machine| {
            machine.folds.clear();
            for level in 0..stage.per_row.len() {
                for segment in &stage.segments {
                    let inner: Vec<&Loop> = stage.inner.iter().chain([&segment.innermost]).collect();
                    machine.nest(&inner, &mut |machine| {
                        segment.levels[level].iter().for_each(|statement| machine.act(statement));
                    });
                }
                stage.per_row[level].iter().for_each(|statement| machine.act(statement));
            }
        });
    }
}

/// Adds a tensor made from earlier ones, as the numbers choose.
fn grow(tensors: &mut Tensors, (kind, pick, dim): (u8, usize, usize)) {
    let of = pick % tensors.len();
    let shape = tensors[of].shape.clone();
    let rank = shape.len();
    let add = |tensors: &mut Tensors, shape, def| tensors.add(shape, Float64, def);
    match kind {
        0 => {
            let function = ScalarFn::Binary(Binary::Add);
            add(tensors, shape, Def::Map { function, of: vec![of, of] });
        }
        1 if rank > 1 => {
            let mut order: Vec<usize> = (0..rank).collect();
            order.rotate_left(1 + dim % (rank - 1));
            let turned: Vec<i64> = order.iter().map(|&dim| shape[dim]).collect();
            let (_, dims) = dimensions(&turned);
            let index = (0..rank).map(|dim| dims[order.iter().position(|&at| at == dim).unwrap()].clone()).collect();
            add(tensors, turned, Def::View { of, index, keeps: Keeps::Dimensions });
        }
        2 if rank > 1 => {
            let flat = vec![shape.iter().product()];
            let (vars, dims) = dimensions(&flat);
            let index = crate::front::index::delinearize(&dims[0], &shape, &vars);
            add(tensors, flat, Def::View { of, index, keeps: Keeps::Order });
        }
        3 if rank > 0 && shape[dim % rank] > 1 => {
            let mut sliced = shape.clone();
            sliced[dim % rank] -= 1;
            let (_, mut index) = dimensions(&sliced);
            index[dim % rank] = index[dim % rank].clone().plus_constant(1);
            add(tensors, sliced, Def::View { of, index, keeps: Keeps::Some });
        }
        4 if rank > 0 => {
            let mut joined = shape.clone();
            joined[dim % rank] *= 2;
            add(tensors, joined, Def::Cat { of: vec![of, of], dim: dim % rank });
        }
        5 if rank > 0 => {
            let mut padded = shape.clone();
            padded[dim % rank] += 3;
            let mut before = vec![0; rank];
            before[dim % rank] = 2;
            add(tensors, padded, Def::Pad { of, before, fill: PythonNumber::Int(7) });
        }
        6 if rank > 0 => {
            // A reduction and the values broadcast against it: the form of a normalisation.
            let reduced: Vec<bool> = (0..rank).map(|at| at == dim % rank).collect();
            let kept: Vec<i64> = (0..rank).filter(|&at| at != dim % rank).map(|at| shape[at]).collect();
            let fold = if dim % 2 == 0 { ReduceOp::Sum } else { ReduceOp::Max };
            let result = add(tensors, kept, Def::Reduce { fold, of, reduced });
            let (_, dims) = dimensions(&shape);
            let index = (0..rank).filter(|&at| at != dim % rank).map(|at| dims[at].clone()).collect();
            let spread = add(tensors, shape.clone(), Def::View { of: result, index, keeps: Keeps::Some });
            let function = ScalarFn::Binary(Binary::Add);
            add(tensors, shape, Def::Map { function, of: vec![of, spread] });
        }
        7 if rank > 0 && shape[dim % rank] > 1 => {
            // Every other element from the second on, with elements of another tensor.
            let mut sliced = shape.clone();
            sliced[dim % rank] = shape[dim % rank] / 2;
            let (_, mut index) = dimensions(&sliced);
            index[dim % rank] = index[dim % rank].clone().times(2).plus_constant(1);
            let view = add(tensors, sliced.clone(), Def::View { of, index, keeps: Keeps::Some });
            let function = ScalarFn::Binary(Binary::Add);
            let with = add(tensors, sliced, Def::Map { function, of: vec![view, view] });
            let along = |at: usize| match at == dim % rank {
                true => OverwrittenSpan::Along { dim: at, start: 1, step: 2 },
                false => OverwrittenSpan::Along { dim: at, start: 0, step: 1 },
            };
            add(tensors, shape, Def::Overwrite { of, with, spans: (0..rank).map(along).collect() });
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn loops_compute_what_the_tensors_mean(
        shape in prop::collection::vec(1_i64..4, 1..4),
        steps in prop::collection::vec((0_u8..8, 0_usize..9, 0_usize..4), 1..6),
    ) {
        let mut tensors = Tensors::default();
        let ty = TensorType::contiguous(&shape, Float64);
        tensors.add(shape.clone(), Float64, Def::Buffer { buffer: 0, stride: ty.stride });
        for step in steps {
            grow(&mut tensors, step);
        }
        let tensor = tensors.len() - 1;
        prop_assume!(tensors[tensor].numel() < 300);
        let ty = TensorType::contiguous(&tensors[tensor].shape, Float64);
        let output = RegionOutput { value: ValueId(1), tensor, ty: ty.clone(), input: None };
        let input = RegionInput { value: ValueId(0), ty: TensorType::contiguous(&shape, Float64), is_given: true };
        let region = Region {
            nodes: Vec::new(),
            inputs: vec![input],
            outputs: vec![output],
            updates: Vec::new(),
            leaves_out_a_change: false,
            tensors,
        };
        let mut programs = vec![schedule(&region, LoopForm::Nests).unwrap(), schedule(&region, LoopForm::Tiles).unwrap()];
        // Each value is also tried as stored first. If a value cannot be stored, the author keeps the program without it.
        programs.extend((1..tensor).filter_map(|kept| {
            Some(schedule_keeping(&region, LoopForm::Nests, UpdateTime::WithResults, &[kept])?.0)
        }));
        for program in programs {
        let buffers = vec![BTreeMap::new(); program.buffers.len()];
        let mut machine =
            ProgramRun { program: &program, buffers, inputs: 1, vars: BTreeMap::new(), folds: BTreeMap::new() };
        for stage in &program.stages {
            machine.stage(stage);
        }
        for index in every(&ty.shape) {
            let place: i64 = index.iter().zip(&ty.stride).map(|(i, s)| i * s).sum();
            let expected = element(&region.tensors, tensor, &index);
            prop_assert_eq!(machine.buffers[1].get(&place).copied(), Some(expected), "{:?} of {:?}", index, region);
        }
        }
    }
}
