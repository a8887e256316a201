//! Tensors at given indices, as scalar expressions.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    arena::Arena,
    expr::{Binary, BufferId, ExprId, ValueKind},
    index::{Index, Term, Vars, offset},
    scalar::{PythonNumber, ScalarFn},
    tensor::{Def, OverwrittenSpan, Signs, TensorId, Tensors},
};

/// Buffers and strides of tensors that an earlier stage has stored.
pub(crate) type Stored = BTreeMap<TensorId, (BufferId, Vec<i64>)>;

/// Turns tensors into scalar expressions at given indices.
pub(crate) struct Scalarizer<'t> {
    pub(crate) tensors: &'t Tensors,
    pub(crate) vars: Vars,
    pub(crate) arena: Arena,
    pub(crate) stored: Stored,
    /// Inputs that are overwritten, so that their old elements can no longer be read.
    overwritten: BTreeSet<BufferId>,
    memo: BTreeMap<(TensorId, Vec<Index>), ExprId>,
    /// Expressions that stand for results of operations, each at some index.
    pub(crate) results: BTreeMap<TensorId, BTreeSet<ExprId>>,
}

impl<'t> Scalarizer<'t> {
    pub(crate) fn new(tensors: &'t Tensors) -> Self {
        Self {
            tensors,
            vars: Vars::default(),
            arena: Arena::default(),
            stored: Stored::new(),
            overwritten: BTreeSet::new(),
            memo: BTreeMap::new(),
            results: BTreeMap::new(),
        }
    }

    /// Makes later expressions read a tensor from a buffer.
    pub(crate) fn store(&mut self, tensor: TensorId, buffer: BufferId, stride: Vec<i64>) {
        self.stored.insert(tensor, (buffer, stride));
        // Values that were computed from the tensor before would be computed again instead of read from the buffer.
        self.memo.clear();
    }

    /// Like [`Self::store`], for an input that the tensor has overwritten.
    pub(crate) fn overwrite(&mut self, tensor: TensorId, buffer: BufferId, stride: Vec<i64>) {
        self.overwritten.insert(buffer);
        self.store(tensor, buffer, stride);
    }

    /// Returns the element of a tensor at `index`. Returns `None` if the element is a complex number or has been overwritten.
    pub(crate) fn at(&mut self, id: TensorId, index: &[Index]) -> Option<ExprId> {
        let key = (id, index.to_vec());
        if let Some(&known) = self.memo.get(&key) {
            return Some(known);
        }
        let expr = self.compute(id, index)?;
        self.memo.insert(key, expr);
        Some(expr)
    }

    fn compute(&mut self, id: TensorId, index: &[Index]) -> Option<ExprId> {
        let tensors = self.tensors;
        let tensor = &tensors[id];
        if let Some((buffer, stride)) = self.stored.get(&id) {
            return self.arena.load(*buffer, tensor.dtype, offset(index, stride));
        }
        match &tensor.def {
            Def::Buffer { buffer, .. } if self.overwritten.contains(buffer) => None,
            Def::Buffer { buffer, stride } => self.arena.load(*buffer, tensor.dtype, offset(index, stride)),
            Def::Fill(scalar) => Some(scalar.expr(&mut self.arena, ValueKind::of(tensor.dtype)?)),
            Def::Range { start, step } => {
                let value = self.arena.position(index.first()?.clone().times(*step).plus_constant(*start));
                Some(self.arena.convert(value, ValueKind::of(tensor.dtype)?))
            }
            Def::Map { function, of } => self.mapped(id, *function, of, index),
            Def::View { of, index: map, .. } => {
                let index: Vec<Index> = map.iter().map(|map| map.substitute(index, &self.vars)).collect();
                self.at(*of, &index)
            }
            Def::Cat { of, dim } => self.cat(of, *dim, index),
            Def::Pad { of, before, fill } => self.padded(*of, before, (*fill, ValueKind::of(tensor.dtype)?), index),
            Def::Gather { table, dim, indices, signs } => {
                let (before, rest) = index.split_at(*dim);
                let (own, after) = rest.split_at(tensors[*indices].shape.len());
                let expr = self.at(*indices, own)?;
                let extent = tensors[*table].shape[*dim];
                // An index below 0 counts from the end. So a known index is used directly only if it cannot be below 0.
                let is_sure = |known: &Index| {
                    *signs == Signs::Positive || known.range(&self.vars).is_some_and(|(least, _)| least >= 0)
                };
                let known = self.arena.as_index(expr).filter(is_sure);
                let place = match known {
                    Some(known) => known,
                    None => {
                        let wrap = if *signs == Signs::Any { extent } else { 0 };
                        Index::term(Term::Value { expr, wrap, extent })
                    }
                };
                self.at(*table, &[before, &[place], after].concat())
            }
            Def::Overwrite { of, with, spans } => self.overwritten(*of, *with, spans, index),
            Def::Reduce { .. } => Some(self.arena.reduced(id, index.to_vec(), ValueKind::of(tensor.dtype)?)),
        }
    }

    fn mapped(&mut self, id: TensorId, function: ScalarFn, of: &[TensorId], index: &[Index]) -> Option<ExprId> {
        let tensors = self.tensors;
        let dtype = tensors[id].dtype;
        let operands: Option<Vec<_>> = of
            .iter()
            .map(|&operand| {
                let index = broadcast(&tensors[operand].shape, index);
                Some((self.at(operand, &index)?, tensors[operand].dtype))
            })
            .collect();
        let value = function.apply(&mut self.arena, &operands?, dtype)?;
        // PyTorch contracts products and sums inside one operation, so a `float32` product inside it is not rounded.
        if !tensors.is_result(id) {
            return Some(self.arena.round(value, dtype));
        }
        let value = self.arena.round_result(value, dtype);
        self.results.entry(id).or_default().insert(value);
        Some(value)
    }

    /// Returns the element of the tensor if the index is inside, else the constant.
    fn padded(
        &mut self,
        of: TensorId,
        before: &[i64],
        fill: (PythonNumber, ValueKind),
        index: &[Index],
    ) -> Option<ExprId> {
        let inner = &self.tensors[of].shape;
        let mut inside = self.arena.bool(true);
        let mut shifted = index.to_vec();
        for (dim, &before) in before.iter().enumerate() {
            shifted[dim] = index[dim].clone().plus_constant(-before);
            let condition = self.arena.in_range(&shifted[dim], 0, inner[dim], &self.vars);
            inside = self.arena.binary(Binary::And, inside, condition);
        }
        let fill = fill.0.expr(&mut self.arena, fill.1);
        match self.arena.as_bool(inside) {
            Some(false) => Some(fill),
            Some(true) => self.at(of, &shifted),
            None => {
                let value = self.at(of, &shifted)?;
                Some(self.arena.guard(inside, value, fill))
            }
        }
    }

    /// Returns the new element if the index is one of the places of the spans, else the old element.
    fn overwritten(
        &mut self,
        of: TensorId,
        with: TensorId,
        spans: &[OverwrittenSpan],
        index: &[Index],
    ) -> Option<ExprId> {
        let shape = &self.tensors[with].shape;
        let mut inside = self.arena.bool(true);
        let mut own = vec![Index::constant(0); shape.len()];
        for (index, span) in index.iter().zip(spans) {
            let condition = match *span {
                OverwrittenSpan::At(place) => self.arena.in_range(index, place, place + 1, &self.vars),
                OverwrittenSpan::Along { dim, start, step } => {
                    let shifted = index.clone().plus_constant(-start);
                    own[dim] = shifted.div(step, &self.vars);
                    let is_within = self.arena.in_range(&shifted, 0, step * shape[dim], &self.vars);
                    let rest = shifted.rem(step, &self.vars);
                    let is_met = self.arena.in_range(&rest, 0, 1, &self.vars);
                    self.arena.binary(Binary::And, is_within, is_met)
                }
            };
            inside = self.arena.binary(Binary::And, inside, condition);
        }
        match self.arena.as_bool(inside) {
            Some(true) => self.at(with, &own),
            Some(false) => self.at(of, index),
            None => {
                let (new, old) = (self.at(with, &own)?, self.at(of, index)?);
                Some(self.arena.guard(inside, new, old))
            }
        }
    }

    fn cat(&mut self, of: &[TensorId], dim: usize, index: &[Index]) -> Option<ExprId> {
        let mut pieces = Vec::with_capacity(of.len());
        let mut start = 0;
        for &piece in of {
            let extent = self.tensors[piece].shape[dim];
            let mut shifted = index.to_vec();
            shifted[dim] = index[dim].clone().plus_constant(-start);
            let condition = self.arena.in_range(&shifted[dim], 0, extent, &self.vars);
            if self.arena.as_bool(condition) != Some(false) {
                pieces.push((index[dim].clone(), start + extent, piece, shifted));
            }
            start += extent;
        }
        // The last piece needs no condition: the index is below the end of the result.
        let (_, _, last, at) = pieces.pop()?;
        let mut value = self.at(last, &at)?;
        for (position, end, piece, at) in pieces.into_iter().rev() {
            let condition = self.arena.in_range(&position, i64::MIN, end, &self.vars);
            let element = self.at(piece, &at)?;
            value = self.arena.guard(condition, element, value);
        }
        Some(value)
    }
}

/// Returns the indices of an operand of the given shape, which is broadcast to the indexed shape.
fn broadcast(shape: &[i64], index: &[Index]) -> Vec<Index> {
    let skipped = index.len() - shape.len();
    shape
        .iter()
        .zip(&index[skipped..])
        .map(|(&extent, index)| if extent == 1 { Index::constant(0) } else { index.clone() })
        .collect()
}
