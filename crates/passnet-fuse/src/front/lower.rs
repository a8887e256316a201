//! Lowering of PyTorch's calls to tensors: each operation that PassNet can generate code for, as definitions over its operands.
//!
//! Each function here returns `None` for a call that it cannot express. The call then stays with PyTorch.

mod alias;
mod backward;
pub(crate) mod call;
pub(crate) mod convolution;
mod create;
mod derived;
mod division;
mod einsum;
mod gather;
pub(crate) mod interpolate;
mod join;
mod memory;
mod norm;
mod normalize;
mod pointwise;
pub(crate) mod product;
mod rearrange;
mod reduce;
mod resample;
mod shape;
mod statistics;
pub(crate) mod storage;

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Arg, Graph, Node, Target, TensorType, Type, TypedGraph, ValueId};
use passnet_record::DType;

use self::call::Call;
use super::{
    constants::is_half,
    expr::{Binary, BufferId, ValueKind},
    index::{Index, Vars, delinearize, linearize},
    scalar::{PythonNumber, ScalarFn, as_scalar},
    tensor::{Def, Keeps, TensorId, Tensors},
};

/// A value in terms of tensors.
#[derive(Clone, Debug)]
pub(crate) enum Lowered {
    Tensor(TensorId),
    List(Vec<Lowered>),
    /// An element of a list that is not expressed. Nothing can be computed from it.
    Absent,
}

/// Tensors of a set of nodes, built in program order.
pub(crate) struct Lowering<'g> {
    pub(crate) typed: &'g TypedGraph,
    /// Device whose PyTorch kernels define the formulas.
    target: Target,
    pub(crate) tensors: Tensors,
    /// Values from outside, in the order of their first use; the position is the number of the buffer.
    pub(crate) inputs: Vec<ValueId>,
    values: BTreeMap<ValueId, Lowered>,
    /// For each value that shares the memory of another one, that other value.
    roots: BTreeMap<ValueId, ValueId>,
    /// Results whose elements each depend on many elements of the operands. An earlier region computes these operands.
    pub(crate) begins: BTreeSet<ValueId>,
    /// Roots whose memory a node has changed.
    pub(crate) changed: BTreeSet<ValueId>,
}

impl<'g> Lowering<'g> {
    pub(crate) const fn new(typed: &'g TypedGraph, target: Target) -> Self {
        Self {
            typed,
            target,
            tensors: Tensors::new(),
            inputs: Vec::new(),
            values: BTreeMap::new(),
            roots: BTreeMap::new(),
            begins: BTreeSet::new(),
            changed: BTreeSet::new(),
        }
    }

    fn graph(&self) -> &'g Graph {
        self.typed.graph()
    }

    /// Lowers one node; `None` if it cannot be expressed.
    pub(crate) fn lower(&mut self, node: Node<'g>) -> Option<()> {
        let call = Call::of(self.graph(), node)?;
        // A call that moves or creates a tensor on another device stays with PyTorch.
        let is_foreign = |arg: Arg| matches!(arg, Arg::Device(device) if self.graph().str(device.kind) != "cuda");
        (self.target == Target::Cpu || !call.all_args().any(is_foreign)).then_some(())?;
        (storage::is_view_call(self.typed, &call) || self.has_kinds(node)).then_some(())?;
        self.tensors.begin_operation(call.name);
        if call.is_set_item() {
            return self.set_item(&call);
        }
        let known = self.tensors.len();
        let mut lowered = self.call(&call)?;
        self.reads_what_it_reduces(known)?;
        // A keyword that a lowering does not know could change the result. A new version of PyTorch may add one.
        call.reads_all_keywords().then_some(())?;
        // The types come from PyTorch itself. Where they differ, a rule of this file is wrong for the call, and the
        // call stays.
        self.check(&lowered, self.typed.type_of(node.value))?;
        if let Lowered::Tensor(result) = &lowered {
            self.tensors.mark_result(*result);
        }
        let subject = call.subject().and_then(Arg::as_value);
        if call.in_place {
            let (Lowered::Tensor(new), Lowered::Tensor(before)) = (lowered, self.value(subject?)?) else { return None };
            self.change(subject?, before, new)?;
            lowered = self.value(subject?)?;
        }
        if let Some(subject) = subject.filter(|_| call.in_place || storage::is_view_call(self.typed, &call)) {
            self.roots.insert(node.value, self.root(subject));
        }
        self.values.insert(node.value, lowered);
        Some(())
    }

    /// Returns whether kernels can compute with the values of a node. They cannot with complex numbers.
    fn has_kinds(&self, node: Node<'g>) -> bool {
        let has_kind = |value| self.typed.tensor(value).is_none_or(|ty| ValueKind::of(ty.dtype).is_some());
        node.operands().chain([node.value]).all(has_kind)
    }

    fn call(&mut self, call: &Call<'g>) -> Option<Lowered> {
        // Each returns `None` before it adds anything that matters: tensors without users are never computed.
        let tensor = self
            .constant(call)
            .or_else(|| self.pointwise(call))
            .or_else(|| self.derived(call))
            .or_else(|| self.backward(call))
            .or_else(|| self.normalize(call))
            .or_else(|| self.norms(call))
            .or_else(|| self.statistics(call))
            .or_else(|| self.product(call))
            .or_else(|| self.convolution(call))
            .or_else(|| self.resample(call));
        match tensor {
            Some(tensor) => Some(Lowered::Tensor(tensor)),
            None => self.reshape_call(call),
        }
    }

    /// Returns `None` if a kernel for a GPU would reduce elements that it does not read, in the tensors from `known` on.
    ///
    /// Triton distributes a row over threads as its loads need it. Without a load, each thread adds up the whole row in one chain, which
    /// takes long and rounds too often: the mean of 2,600 equal numbers was off by 2e-5.
    fn reads_what_it_reduces(&self, known: TensorId) -> Option<()> {
        let is_good = |tensor| match self.tensors[tensor].def {
            Def::Reduce { of, .. } => self.tensors.reads_memory(of),
            _ => true,
        };
        (self.target == Target::Cpu || (known..self.tensors.len()).all(is_good)).then_some(())
    }

    /// Compares the derived types with those that PyTorch reports.
    fn check(&self, lowered: &Lowered, ty: &Type) -> Option<()> {
        match (lowered, ty) {
            (Lowered::Absent, _) => Some(()),
            (Lowered::Tensor(id), Type::Tensor(ty) | Type::Host { host: ty }) => {
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

    /// Returns a value as it was lowered. A value from outside becomes a buffer.
    pub(crate) fn value(&mut self, value: ValueId) -> Option<Lowered> {
        if let Some(known) = self.values.get(&value) {
            return Some(known.clone());
        }
        let ty = self.typed.tensor(value)?;
        if ty.numel() == 0 {
            return None;
        }
        let lowered = Lowered::Tensor(self.add_input(value, ty));
        self.values.insert(value, lowered.clone());
        Some(lowered)
    }

    fn add_input(&mut self, value: ValueId, ty: &TensorType) -> TensorId {
        let buffer: BufferId = self.inputs.len();
        self.inputs.push(value);
        self.tensors.add(ty.shape.clone(), ty.dtype, Def::Buffer { buffer, stride: ty.stride.clone() })
    }

    /// Adds a value from outside that calls take and that has no elements to read.
    fn add_empty(&mut self, value: ValueId, ty: &TensorType) {
        if !self.values.contains_key(&value) {
            self.add_input(value, ty);
            self.values.insert(value, Lowered::Absent);
        }
    }

    fn tensor(&mut self, arg: Arg) -> Option<TensorId> {
        match self.value(arg.as_value()?)? {
            Lowered::Tensor(id) => Some(id),
            Lowered::List(_) | Lowered::Absent => None,
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
                        Lowered::List(_) | Lowered::Absent => None,
                    })
                    .collect(),
                Lowered::Tensor(_) | Lowered::Absent => None,
            },
            _ => None,
        }
    }

    /// Returns a tensor, or a number as a tensor of no dimensions.
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
        if let Some((index, inner)) = self.turned(of) {
            // The result is permuted after it is computed, so that the loops over its operands can compute it.
            let whole = self.map(function, &inner, dtype)?;
            return Some(self.tensors.add(shape, dtype, Def::View { of: whole, index, keeps: Keeps::Dimensions }));
        }
        Some(self.tensors.add(shape, dtype, Def::Map { function, of: of.to_vec() }))
    }

    /// If all operands except numbers are views that permute dimensions in the same way, returns this order and the viewed
    /// tensors.
    fn turned(&self, of: &[TensorId]) -> Option<(Vec<Index>, Vec<TensorId>)> {
        let mut order: Option<&Vec<Index>> = None;
        let mut inner = Vec::new();
        for &operand in of {
            let tensor = &self.tensors[operand];
            match &tensor.def {
                Def::View { of, index, keeps: Keeps::Dimensions } if order.is_none_or(|order| order == index) => {
                    order = Some(index);
                    inner.push(*of);
                }
                _ if tensor.shape.is_empty() => inner.push(operand),
                _ => return None,
            }
        }
        Some((order?.clone(), inner))
    }

    fn cast(&mut self, of: TensorId, dtype: DType) -> TensorId {
        if self.tensors[of].dtype == dtype {
            return of;
        }
        let shape = self.tensors[of].shape.clone();
        match self.turned(&[of]) {
            Some((index, inner)) => {
                let whole = self.cast(inner[0], dtype);
                self.tensors.add(shape, dtype, Def::View { of: whole, index, keeps: Keeps::Dimensions })
            }
            None => self.tensors.add(shape, dtype, Def::Map { function: ScalarFn::Cast, of: vec![of] }),
        }
    }

    /// Returns a tensor as PyTorch stores it in another one: its elements are converted, and a number is rounded.
    fn stored(&mut self, of: TensorId, dtype: DType) -> TensorId {
        match self.tensors[of].def {
            Def::Fill(number) if is_half(dtype) => {
                let shape = self.tensors[of].shape.clone();
                self.tensors.add(shape, dtype, Def::Fill(number.stored(dtype)))
            }
            _ => self.cast(of, dtype),
        }
    }

    fn fill(&mut self, value: f64, dtype: DType) -> TensorId {
        self.tensors.add(Vec::new(), dtype, Def::Fill(PythonNumber::Float(value)))
    }

    /// Returns a number in the type of a tensor.
    fn number(&mut self, value: f64, like: TensorId) -> TensorId {
        self.fill(value, self.tensors[like].dtype)
    }

    /// Returns arithmetic of two tensors of one type.
    fn combined(&mut self, op: Binary, a: TensorId, b: TensorId) -> Option<TensorId> {
        self.map(ScalarFn::Binary(op), &[a, b], self.tensors[a].dtype)
    }

    /// Returns a comparison of two tensors of one type.
    fn compared(&mut self, op: Binary, a: TensorId, b: TensorId) -> Option<TensorId> {
        self.map(ScalarFn::Compare(op, self.tensors[a].dtype), &[a, b], DType::Bool)
    }

    /// Returns the same elements in row-major order under another shape.
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

    /// Returns the operand in the type in which PyTorch accumulates it: half types in `float32`.
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

/// Returns dimension `i` as variable `i`, for writing the indices of a view.
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
