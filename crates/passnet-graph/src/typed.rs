//! Graphs with the type of each value. `python -m passnet._services.propagate` derives the types by running a graph on tensors
//! without content.

use std::sync::Arc;

use passnet_record::DType;
use serde::Deserialize;

use crate::{Arg, Graph, NodeId, ValueId};

/// Type of a tensor: shape, strides and element type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct TensorType {
    /// Extent of each dimension.
    pub shape: Vec<i64>,
    /// Distance between neighbours along each dimension, in elements.
    pub stride: Vec<i64>,
    /// Element type.
    pub dtype: DType,
}

impl TensorType {
    /// Returns the type of a tensor whose elements are in row-major order without gaps.
    pub fn contiguous(shape: &[i64], dtype: DType) -> Self {
        Self { shape: shape.to_vec(), stride: contiguous_stride(shape), dtype }
    }

    /// Returns the number of elements.
    pub fn numel(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Returns the number of bytes of the elements.
    pub fn nbytes(&self) -> i64 {
        self.numel() * self.dtype.size() as i64
    }

    /// Returns whether elements are in row-major order without gaps. Strides of dimensions of extent 1 do not matter.
    pub fn is_contiguous(&self) -> bool {
        let expected = contiguous_stride(&self.shape);
        self.numel() == 0
            || self.shape.iter().zip(&self.stride).zip(&expected).all(|((&n, stride), want)| n == 1 || stride == want)
    }

    /// Returns whether each element has a separate place and the elements fill a block of memory, in any order of dimensions.
    pub fn is_dense(&self) -> bool {
        let mut dims: Vec<(i64, i64)> =
            self.stride.iter().copied().zip(self.shape.iter().copied()).filter(|&(_, n)| n != 1).collect();
        // From the smallest stride on, each stride has to be the product of the extents before it.
        dims.sort_unstable();
        let mut expected = 1;
        dims.iter().all(|&(stride, n)| {
            let fits = stride == expected;
            expected *= n;
            fits
        })
    }
}

/// Returns the strides of a row-major tensor with the given shape, in elements.
pub fn contiguous_stride(shape: &[i64]) -> Vec<i64> {
    let mut stride = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        // As in PyTorch, an empty dimension counts as a dimension of extent 1, so that strides are never 0.
        stride[dim - 1] = stride[dim] * shape[dim].max(1);
    }
    stride
}

/// Type of a value, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Option<TypeFields>")]
pub enum Type {
    Tensor(TensorType),
    /// A list or tuple.
    List {
        /// Types of the elements.
        list: Vec<Type>,
    },
    /// A tensor in host memory, where the graph runs on another device.
    Host {
        host: TensorType,
    },
    /// A Python integer.
    Int {
        /// Value of the integer.
        int: i64,
    },
    /// Unknown. The built-in author does not rewrite calls with such values.
    Unknown,
}

/// The JSON object of a type; each kind of type has its own field or fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeFields {
    shape: Option<Vec<i64>>,
    stride: Option<Vec<i64>>,
    dtype: Option<DType>,
    list: Option<Vec<Type>>,
    host: Option<TensorType>,
    int: Option<i64>,
}

impl TryFrom<Option<TypeFields>> for Type {
    type Error = TypeFieldsError;

    fn try_from(fields: Option<TypeFields>) -> Result<Self, Self::Error> {
        // Not `untagged`: serde would try each variant in turn and report none of their errors.
        match fields {
            None => Ok(Self::Unknown),
            Some(TypeFields {
                shape: Some(shape),
                stride: Some(stride),
                dtype: Some(dtype),
                list: None,
                host: None,
                int: None,
            }) => Ok(Self::Tensor(TensorType { shape, stride, dtype })),
            Some(TypeFields { shape: None, stride: None, dtype: None, list: Some(list), host: None, int: None }) => {
                Ok(Self::List { list })
            }
            Some(TypeFields { shape: None, stride: None, dtype: None, list: None, host: Some(host), int: None }) => {
                Ok(Self::Host { host })
            }
            Some(TypeFields { shape: None, stride: None, dtype: None, list: None, host: None, int: Some(int) }) => {
                Ok(Self::Int { int })
            }
            Some(_) => Err(TypeFieldsError),
        }
    }
}

/// A type whose JSON object has the fields of no kind of type, or of several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a type has either `shape`, `stride` and `dtype`, or one of `list`, `host` and `int`")]
pub struct TypeFieldsError;

impl Type {
    /// Returns the type of the tensor; `None` if the value is not a tensor.
    pub const fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Returns the type for code that runs on the host: tensors on the device become unknown.
    fn on_host(&self) -> Self {
        match self {
            Self::Host { host } => Self::Tensor(host.clone()),
            Self::List { list } => Self::List { list: list.iter().map(Self::on_host).collect() },
            Self::Int { int } => Self::Int { int: *int },
            Self::Tensor(_) | Self::Unknown => Self::Unknown,
        }
    }

    fn is_on_host(&self) -> bool {
        match self {
            Self::Host { .. } => true,
            Self::List { list } => list.iter().any(Self::is_on_host),
            Self::Tensor(_) | Self::Int { .. } | Self::Unknown => false,
        }
    }
}

/// Error of joining a graph with another number of types than the graph has values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the graph has {values} values, but {types} types are given; compute the types of this graph again")]
pub struct TypeCountError {
    /// Number of values of the graph.
    pub values: usize,
    /// Number of types.
    pub types: usize,
}

/// Error of joining a graph with a canonical form of another graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the graph has {nodes} calls, but the canonical form has {calls}; make the canonical form of this graph again")]
pub struct CanonicalCountError {
    /// Number of nodes of the graph.
    pub nodes: usize,
    /// Number of calls of the canonical form.
    pub calls: usize,
}

/// The calls of a graph in canonical form, in which the matcher compares patterns with graphs.
#[derive(Clone, Debug)]
struct CanonicalCalls {
    /// Values have the numbers that they have in the original graph.
    graph: Graph,
    places: Vec<Vec<Option<usize>>>,
}

/// A graph with the type of each value.
#[derive(Clone, Debug)]
pub struct TypedGraph {
    graph: Graph,
    types: Vec<Type>,
    canonical: Option<Arc<CanonicalCalls>>,
}

impl TypedGraph {
    /// Joins a graph and the types of its values: inputs first, then nodes. The calls count as canonical.
    ///
    /// # Errors
    /// If there is not exactly one type for each value.
    pub fn new(graph: Graph, types: Vec<Type>) -> Result<Self, TypeCountError> {
        if graph.num_values() != types.len() {
            return Err(TypeCountError { values: graph.num_values(), types: types.len() });
        }
        Ok(Self { graph, types, canonical: None })
    }

    /// Adds the canonical form of the graph, as PyTorch's signatures define it. `places` has the [places](Self::places) of each node.
    ///
    /// # Errors
    /// If the form has other inputs or another number of calls than the graph.
    pub fn with_canonical(
        mut self,
        canonical: Graph,
        places: Vec<Vec<Option<usize>>>,
    ) -> Result<Self, CanonicalCountError> {
        let nodes = self.graph.num_nodes();
        if canonical.num_values() != self.graph.num_values() || canonical.num_nodes() != nodes || places.len() != nodes
        {
            return Err(CanonicalCountError { nodes, calls: canonical.num_nodes() });
        }
        self.canonical = Some(Arc::new(CanonicalCalls { graph: canonical, places }));
        Ok(self)
    }

    /// Returns the graph with its calls in canonical form. Values have the numbers that they have in [`Self::graph`].
    pub fn canonical(&self) -> &Graph {
        self.canonical.as_ref().map_or(&self.graph, |canonical| &canonical.graph)
    }

    /// Returns, for each number among the arguments of a call, its place among the numbers of the canonical call. The place is `None`
    /// if no parameter of a pattern can stand for the number. Numbers are integers and finite floats, counted in the order of
    /// arguments.
    pub fn places(&self, node: NodeId) -> Vec<Option<usize>> {
        match &self.canonical {
            Some(canonical) => canonical.places[node.index()].clone(),
            None => (0..self.num_numbers(node)).map(Some).collect(),
        }
    }

    fn num_numbers(&self, node: NodeId) -> usize {
        fn count(graph: &Graph, arg: Arg) -> usize {
            match arg {
                Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
                    graph.elements(range).iter().map(|&element| count(graph, element)).sum()
                }
                arg => usize::from(arg.is_number()),
            }
        }
        let node = self.graph.node(node);
        let args = node.args.iter().copied().chain(node.kwargs.iter().map(|&(_, arg)| arg));
        args.map(|arg| count(&self.graph, arg)).sum()
    }

    /// Returns the graph.
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the graph with types for code that runs on the host: only tensors in host memory have a type. `None` if the graph has no
    /// tensors in host memory while it runs on another device.
    pub fn on_host(&self) -> Option<Self> {
        let any = self.types.iter().any(Type::is_on_host);
        any.then(|| Self {
            graph: self.graph.clone(),
            types: self.types.iter().map(Type::on_host).collect(),
            canonical: self.canonical.clone(),
        })
    }

    /// Returns the type of a value of the graph.
    pub fn type_of(&self, value: ValueId) -> &Type {
        &self.types[value.index()]
    }

    /// Returns the tensor type of a value; `None` if the value is not a tensor.
    pub fn tensor(&self, value: ValueId) -> Option<&TensorType> {
        self.type_of(value).as_tensor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_the_propagation_writes_them() {
        let read = |text: &str| serde_json::from_str::<Type>(text).unwrap();
        let tensor = TensorType::contiguous(&[2, 3], DType::Float16);
        assert_eq!(read(r#"{"shape": [2, 3], "stride": [3, 1], "dtype": "float16"}"#), Type::Tensor(tensor));
        let host = TensorType::contiguous(&[], DType::Int64);
        assert_eq!(read(r#"{"host": {"shape": [], "stride": [], "dtype": "int64"}}"#), Type::Host { host });
        assert_eq!(read(r#"{"int": 4}"#), Type::Int { int: 4 });
        assert_eq!(read(r#"{"list": [null]}"#), Type::List { list: vec![Type::Unknown] });
    }

    #[test]
    fn types_of_no_kind_are_refused() {
        for text in [r#"{"shape": [2], "dtype": "float32"}"#, r#"{"int": 4, "list": []}"#, "{}", r#"{"size": 4}"#, "4"]
        {
            assert!(serde_json::from_str::<Type>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn layouts() {
        let with =
            |stride: &[i64]| TensorType { stride: stride.to_vec(), ..TensorType::contiguous(&[2, 1, 3], DType::Bool) };
        assert!(with(&[3, 99, 1]).is_contiguous());
        assert!(!with(&[1, 1, 2]).is_contiguous() && with(&[1, 1, 2]).is_dense());
        assert!(!with(&[0, 1, 1]).is_dense());
    }
}
