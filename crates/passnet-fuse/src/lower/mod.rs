//! From calls of PyTorch to tensors: each operation that PassNet can generate code for, as definitions over its operands.
//!
//! `None` anywhere means: not expressed here, the call stays as it is.

mod call;
mod normalize;
mod pointwise;
mod shape;
pub(crate) mod storage;

use std::collections::BTreeMap;

use passnet_graph::{Arg, Graph, Node, ValueId};
use passnet_record::DType;

pub(crate) use self::call::Call;
use crate::{
    author::Target,
    expr::{BufferId, Fold},
    index::{Index, Vars, delinearize, linearize},
    scalar::{Scalar, ScalarFn},
    tensor::{Def, Keeps, TensorId, Tensors},
    typed::{TensorType, Type, TypedGraph},
};

/// What a value is in terms of tensors.
#[derive(Clone, Debug)]
pub(crate) enum Lowered {
    Tensor(TensorId),
    List(Vec<Lowered>),
}

/// Tensors of a set of nodes, built in program order.
pub(crate) struct Lowering<'g> {
    pub(crate) typed: &'g TypedGraph,
    /// Whose kernels' formulas are followed.
    target: Target,
    pub(crate) tensors: Tensors,
    /// Values from outside, in the order of their first use; the position is the number of the buffer.
    pub(crate) inputs: Vec<ValueId>,
    values: BTreeMap<ValueId, Lowered>,
}

impl<'g> Lowering<'g> {
    pub(crate) const fn new(typed: &'g TypedGraph, target: Target) -> Self {
        Self { typed, target, tensors: Tensors::new(), inputs: Vec::new(), values: BTreeMap::new() }
    }

    fn graph(&self) -> &'g Graph {
        self.typed.graph()
    }

    /// Expresses one node.
    pub(crate) fn lower(&mut self, node: Node<'g>) -> Option<()> {
        let call = Call::of(self.graph(), node)?;
        // What goes to another device, or is made there, stays.
        let is_foreign = |arg: Arg| matches!(arg, Arg::Device(device) if self.graph().str(device.kind) != "cuda");
        (self.target == Target::Cpu || !call.all_args().any(is_foreign)).then_some(())?;
        let lowered = self.call(&call)?;
        self.check(&lowered, self.typed.type_of(node.value))?;
        self.values.insert(node.value, lowered);
        Some(())
    }

    fn call(&mut self, call: &Call<'g>) -> Option<Lowered> {
        if let Some(tensor) = self.pointwise(call) {
            return Some(Lowered::Tensor(tensor));
        }
        if let Some(tensor) = self.normalize(call) {
            return Some(Lowered::Tensor(tensor));
        }
        self.reshape_call(call)
    }

    /// What was derived must be what PyTorch says.
    fn check(&self, lowered: &Lowered, ty: &Type) -> Option<()> {
        match (lowered, ty) {
            (Lowered::Tensor(id), Type::Tensor(ty)) => {
                let tensor = &self.tensors[*id];
                (tensor.shape == ty.shape && tensor.dtype == ty.dtype && ty.numel() > 0).then_some(())
            }
            (Lowered::List(list), Type::List { list: types }) => {
                (list.len() == types.len()).then_some(())?;
                list.iter().zip(types).try_for_each(|(lowered, ty)| self.check(lowered, ty))
            }
            _ => None,
        }
    }

    /// A value as it was lowered; one from outside becomes a buffer.
    pub(crate) fn value(&mut self, value: ValueId) -> Option<Lowered> {
        if let Some(known) = self.values.get(&value) {
            return Some(known.clone());
        }
        let ty = self.typed.tensor(value)?;
        if ty.numel() == 0 {
            return None;
        }
        let buffer: BufferId = self.inputs.len();
        self.inputs.push(value);
        let def = Def::Buffer { buffer, stride: ty.stride.clone() };
        let lowered = Lowered::Tensor(self.tensors.add(ty.shape.clone(), ty.dtype, def));
        self.values.insert(value, lowered.clone());
        Some(lowered)
    }

    fn tensor(&mut self, arg: Arg) -> Option<TensorId> {
        match self.value(arg.as_value()?)? {
            Lowered::Tensor(id) => Some(id),
            Lowered::List(_) => None,
        }
    }

    fn tensor_list(&mut self, arg: Arg) -> Option<Vec<TensorId>> {
        match arg {
            Arg::List(range) | Arg::Tuple(range) => {
                self.graph().elements(range).iter().map(|&element| self.tensor(element)).collect()
            }
            Arg::Value(value) => match self.value(value)? {
                Lowered::List(list) => list
                    .into_iter()
                    .map(|element| match element {
                        Lowered::Tensor(id) => Some(id),
                        Lowered::List(_) => None,
                    })
                    .collect(),
                Lowered::Tensor(_) => None,
            },
            _ => None,
        }
    }

    /// A tensor, or a number as a tensor of no dimensions.
    fn operand(&mut self, arg: Arg, dtype: DType) -> Option<TensorId> {
        if let Some(scalar) = as_scalar(arg) {
            return Some(self.tensors.add(Vec::new(), dtype, Def::Fill(scalar)));
        }
        self.tensor(arg)
    }

    fn result_type(&self, call: &Call<'_>) -> Option<&'g TensorType> {
        self.typed.tensor(call.value)
    }

    fn map(&mut self, function: ScalarFn, of: &[TensorId], dtype: DType) -> Option<TensorId> {
        let mut shape: Vec<i64> = Vec::new();
        for &operand in of {
            shape = broadcast_shape(&shape, &self.tensors[operand].shape)?;
        }
        Some(self.tensors.add(shape, dtype, Def::Map { function, of: of.to_vec() }))
    }

    fn cast(&mut self, of: TensorId, dtype: DType) -> TensorId {
        if self.tensors[of].dtype == dtype {
            return of;
        }
        let shape = self.tensors[of].shape.clone();
        self.tensors.add(shape, dtype, Def::Map { function: ScalarFn::Cast, of: vec![of] })
    }

    fn fill(&mut self, value: f64, dtype: DType) -> TensorId {
        self.tensors.add(Vec::new(), dtype, Def::Fill(Scalar::Float(value)))
    }

    /// The same elements in row-major order under another shape.
    fn reshape(&mut self, of: TensorId, shape: &[i64]) -> TensorId {
        let from = &self.tensors[of];
        if from.shape == shape {
            return of;
        }
        let (vars, dims) = dimensions(shape);
        let index = delinearize(&linearize(&dims, shape), &from.shape, &vars);
        let dtype = from.dtype;
        self.tensors.add(shape.to_vec(), dtype, Def::View { of, index, keeps: Keeps::Order })
    }

    /// A reduction over the dimensions marked, which stay with extent 1 where `keep` says so.
    fn reduce(&mut self, fold: Fold, of: TensorId, reduced: &[bool], keep: bool) -> TensorId {
        let from = &self.tensors[of];
        let dtype = from.dtype;
        let keep_dims = |keep: bool| -> Vec<i64> {
            let dims = from.shape.iter().zip(reduced);
            dims.filter_map(|(&extent, &reduced)| if reduced { keep.then_some(1) } else { Some(extent) }).collect()
        };
        let (shape, kept_shape) = (keep_dims(false), keep_dims(true));
        let result = self.tensors.add(shape, dtype, Def::Reduce { fold, of, reduced: reduced.to_vec() });
        if keep { self.reshape(result, &kept_shape) } else { result }
    }

    /// The mean, in the type of the operand.
    fn mean(&mut self, of: TensorId, reduced: &[bool], keep: bool) -> Option<TensorId> {
        let dims = self.tensors[of].shape.iter().zip(reduced);
        let count = dims.filter(|&(_, &reduced)| reduced).map(|(&extent, _)| extent).product();
        let dtype = self.tensors[of].dtype;
        let sum = self.reduce(Fold::Sum, of, reduced, keep);
        self.map(ScalarFn::DivideBy(count), &[sum], dtype)
    }

    /// The operand in the type in which PyTorch accumulates it: half types in `float32`.
    fn widen(&mut self, of: TensorId) -> Option<TensorId> {
        let dtype = self.tensors[of].dtype;
        let wide = match dtype {
            DType::Float16 | DType::BFloat16 => DType::Float32,
            DType::Float32 | DType::Float64 => dtype,
            _ => return None,
        };
        Some(self.cast(of, wide))
    }
}

/// Number arguments.
pub(crate) fn as_scalar(arg: Arg) -> Option<Scalar> {
    match arg {
        Arg::Bool(value) => Some(Scalar::Bool(value)),
        Arg::Int(value) => Some(Scalar::Int(value)),
        Arg::Float(value) => Some(Scalar::Float(value)),
        _ => None,
    }
}

/// Dimension `i` as variable `i`, for writing the indices of a view.
pub(crate) fn dimensions(shape: &[i64]) -> (Vars, Vec<Index>) {
    let mut vars = Vars::default();
    let dims = shape.iter().map(|&extent| vars.always_fresh(extent)).collect();
    (vars, dims)
}

fn broadcast_shape(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[i64], dim: usize| (dim + shape.len()).checked_sub(rank).map_or(1, |dim| shape[dim]);
    (0..rank)
        .map(|dim| match (extent(a, dim), extent(b, dim)) {
            (a, b) if a == b || b == 1 => Some(a),
            (1, b) => Some(b),
            _ => None,
        })
        .collect()
}

/// A dimension counted from the end where negative.
pub(crate) fn dimension(dim: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let dim = if dim < 0 { dim + rank } else { dim };
    (0..rank).contains(&dim).then_some(dim as usize)
}
