//! Changes in place, expressed as new tensors. A change to a value also changes every value that shares its memory.
//!
//! The *root* is the value whose memory others share. Each view of it is a chain of [`Def::View`] down to the root's tensor. A
//! change of one view is carried down its chain; the result is a new tensor for the root. The chains of the other views are then
//! built again on this tensor.

use passnet_graph::{Arg, ValueId};

use super::{Lowered, Lowering, call::Call};
use crate::front::{
    index::{Index, Term},
    tensor::{Def, Keeps, OverwrittenSpan, TensorId},
};

impl<'g> Lowering<'g> {
    /// Returns the value whose memory a value shares.
    pub(crate) fn root(&self, value: ValueId) -> ValueId {
        self.roots.get(&value).copied().unwrap_or(value)
    }

    /// Replaces the elements of `view`, a tensor that is a chain of views of the value's root.
    pub(super) fn change(&mut self, value: ValueId, view: TensorId, new: TensorId) -> Option<()> {
        let root = self.root(value);
        let Lowered::Tensor(whole) = self.value(root)? else { return None };
        let chain = self.chain(view, whole)?;
        let changed = self.put_back(&chain, whole, new)?;
        // Every name of the memory sees the change. A call that reads an older name later would otherwise read old
        // elements.
        let sharing: Vec<ValueId> = self.values.keys().copied().filter(|&other| self.root(other) == root).collect();
        for other in sharing {
            let before = self.values.get(&other)?.clone();
            let after = self.rebuilt_views(&before, whole, changed)?;
            self.values.insert(other, after);
        }
        self.changed.insert(root);
        Some(())
    }

    /// Lowers `x[key] = value`.
    pub(super) fn set_item(&mut self, call: &Call<'g>) -> Option<()> {
        let subject = call.subject()?.as_value()?;
        let Lowered::Tensor(x) = self.value(subject)? else { return None };
        let place = self.indexed(x, call.arg(1, "key")?, call.graph)?;
        let dtype = self.tensors[x].dtype;
        let new = self.operand(call.arg(2, "value")?, dtype)?;
        let new = self.stored(new, dtype);
        let shape = self.tensors[place].shape.clone();
        // `x[key] = x[key]`, which Python writes after a change in place of `x[key]`.
        if self.is_same_view(new, place) {
            return Some(());
        }
        let new = self.expand(new, &shape)?;
        self.change(subject, place, new)
    }

    /// Returns whether two tensors are equal views of the same tensor.
    fn is_same_view(&self, a: TensorId, b: TensorId) -> bool {
        match (&self.tensors[a].def, &self.tensors[b].def) {
            _ if a == b => true,
            (Def::View { of: a, index, .. }, Def::View { of: b, index: other, .. }) => {
                index == other && self.is_same_view(*a, *b)
            }
            _ => false,
        }
    }

    /// Returns the views between a tensor and the whole that it shows, starting next to the whole.
    fn chain(&self, view: TensorId, whole: TensorId) -> Option<Vec<TensorId>> {
        let mut chain = Vec::new();
        let mut at = view;
        while at != whole {
            let Def::View { of, .. } = &self.tensors[at].def else { return None };
            chain.push(at);
            at = *of;
        }
        chain.reverse();
        Some(chain)
    }

    /// Returns the whole with `new` in place of the last view of the chain.
    fn put_back(&mut self, chain: &[TensorId], whole: TensorId, new: TensorId) -> Option<TensorId> {
        let Some((&first, rest)) = chain.split_first() else { return Some(new) };
        let with = self.put_back(rest, first, new)?;
        let Def::View { index, keeps, .. } = self.tensors[first].def.clone() else { return None };
        let shape = self.tensors[whole].shape.clone();
        match keeps {
            Keeps::Order => Some(self.reshape(with, &shape)),
            Keeps::Dimensions => {
                let order: Option<Vec<usize>> =
                    index.iter().map(|index| index.as_var().map(|dim| dim as usize)).collect();
                self.permute(with, &order?)
            }
            Keeps::Some => {
                let spans = spans(&index, &self.tensors[first].shape)?;
                let dtype = self.tensors[whole].dtype;
                Some(self.tensors.add(shape, dtype, Def::Overwrite { of: whole, with, spans }))
            }
        }
    }

    /// Returns the same views of `changed` as `lowered` has of `whole`.
    fn rebuilt_views(&mut self, lowered: &Lowered, whole: TensorId, changed: TensorId) -> Option<Lowered> {
        match lowered {
            Lowered::Tensor(view) => {
                let mut at = changed;
                for view in self.chain(*view, whole)? {
                    let mut tensor = self.tensors[view].clone();
                    if let Def::View { of, .. } = &mut tensor.def {
                        *of = at;
                    }
                    at = self.tensors.add(tensor.shape, tensor.dtype, tensor.def);
                }
                Some(Lowered::Tensor(at))
            }
            Lowered::List(list) => {
                let list: Option<Vec<Lowered>> =
                    list.iter().map(|lowered| self.rebuilt_views(lowered, whole, changed)).collect();
                Some(Lowered::List(list?))
            }
            Lowered::Absent => Some(Lowered::Absent),
        }
    }

    /// Returns the new elements of a whole tensor after `fill_`, `zero_` or `copy_`.
    pub(super) fn assigned(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let (shape, dtype) = (self.tensors[x].shape.clone(), self.tensors[x].dtype);
        let new = match call.name {
            "zero" => self.operand(Arg::Int(0), dtype)?,
            _ => self.operand(call.arg(1, "value").or_else(|| call.arg(1, "other"))?, dtype)?,
        };
        let new = self.stored(new, dtype);
        self.expand(new, &shape)
    }
}

/// Returns the places of a view's elements in its tensor, dimension by dimension. `None` where two elements of the view
/// share one.
fn spans(index: &[Index], shape: &[i64]) -> Option<Vec<OverwrittenSpan>> {
    let mut met = vec![false; shape.len()];
    let spans = index
        .iter()
        .map(|index| match index.terms() {
            [] => Some(OverwrittenSpan::At(index.constant_part())),
            [(Term::Var(dim), step)] if *step > 0 => {
                let dim = *dim as usize;
                let is_second = std::mem::replace(&mut met[dim], true);
                (!is_second).then_some(OverwrittenSpan::Along { dim, start: index.constant_part(), step: *step })
            }
            _ => None,
        })
        .collect();
    // Where two elements of a view share memory, as after `expand`, the result of a change depends on the order of
    // the writes.
    let is_injective = met.iter().zip(shape).all(|(&met, &extent)| met || extent == 1);
    if is_injective { spans } else { None }
}
