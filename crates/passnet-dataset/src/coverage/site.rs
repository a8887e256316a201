//! A match as a separate graph, whose inputs have the types that they have at the place of the match.

use passnet_graph::{Arg, Graph, NodeId, TensorType, Type, ValueId, VerifyError, matching::Match};
use passnet_record::TensorMeta;

/// Separate graph of one match.
#[derive(Debug)]
pub(super) struct StandaloneGraph {
    pub(super) graph: Graph,
    pub(super) metas: Vec<TensorMeta>,
    /// Class of the match: dtypes and layouts, without extents, of the values for the pattern's inputs.
    pub(super) class: String,
    /// Size of the inputs in bytes.
    pub(super) bytes: u64,
}

/// Graph with the known facts about its values.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    pub(super) graph: &'a Graph,
    /// Metas of the inputs.
    pub(super) tensors: &'a [TensorMeta],
    /// Types of the values.
    pub(super) types: &'a [Type],
}

/// Reason why a match cannot stand alone.
#[derive(Debug, thiserror::Error)]
pub(super) enum StandaloneError {
    #[error("the type of `{0}` is not known")]
    Type(String),
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl Typed<'_> {
    /// Returns a match as a separate graph. A value from outside becomes an input of the same shape, strides and dtype.
    pub(super) fn cut(self, pattern: &Graph, found: &Match) -> Result<StandaloneGraph, StandaloneError> {
        let mut nodes: Vec<NodeId> = found.nodes.iter().flatten().copied().collect();
        nodes.sort_unstable();
        let outside = self.outside(&nodes);
        let mut builder = Graph::builder();
        let mut stands: Vec<Option<Arg>> = vec![None; self.graph.num_values()];
        let (mut metas, mut strided) = (Vec::new(), Vec::new());
        for &value in &outside {
            let name = self.graph.name(value);
            match &self.types[value.index()] {
                Type::Tensor(tensor) => {
                    let input = builder.input(name);
                    stands[value.index()] = Some(Arg::Value(input));
                    metas.push(self.meta(value, tensor));
                    // Samples have contiguous inputs only. So a view makes the layout, after all inputs, because inputs come
                    // first by the laws of graphs.
                    if !tensor.is_contiguous() {
                        strided.push((value, input, tensor));
                    }
                }
                Type::Int { int } => stands[value.index()] = Some(Arg::Int(*int)),
                _ => return Err(StandaloneError::Type(name.to_owned())),
            }
        }
        for (value, input, tensor) in strided {
            let extents = |numbers: &[i64]| numbers.iter().map(|&number| Arg::Int(number)).collect::<Vec<_>>();
            let (shape, stride) = (builder.tuple(&extents(&tensor.shape)), builder.tuple(&extents(&tensor.stride)));
            let name = format!("{}_strided", self.graph.name(value));
            let view = builder.call_function(&name, "torch.as_strided", &[input.into(), shape, stride], &[]);
            stands[value.index()] = Some(Arg::Value(view));
        }
        for node in nodes.into_iter().map(|node| self.graph.node(node)) {
            let mut copy = |arg| copied(&mut builder, self.graph, arg, &stands);
            let args: Vec<Arg> = node.args.iter().map(|&arg| copy(arg)).collect();
            let kwargs: Vec<(&str, Arg)> =
                node.kwargs.iter().map(|&(key, arg)| (self.graph.str(key), copy(arg))).collect();
            stands[node.value.index()] = Some(Arg::Value(builder.call(node.name, node.callee, &args, &kwargs)));
        }
        let returned = pattern.output_values().filter_map(|value| {
            let node = found.nodes[pattern.node_of(value)?.index()]?;
            stands[self.graph.value_of(node).index()]
        });
        let returned: Vec<Arg> = returned.collect();
        let bytes = metas.iter().filter_map(TensorMeta::nbytes).sum();
        Ok(StandaloneGraph { graph: builder.finish(&returned)?, metas, class: self.class(pattern, found), bytes })
    }

    /// Returns the values that the nodes use and do not compute, in the order of the graph.
    fn outside(self, nodes: &[NodeId]) -> Vec<ValueId> {
        let mut outside: Vec<ValueId> = nodes.iter().flat_map(|&node| self.graph.node(node).operands()).collect();
        outside.sort_unstable();
        outside.dedup();
        outside.retain(|&value| self.graph.node_of(value).is_none_or(|node| nodes.binary_search(&node).is_err()));
        outside
    }

    /// Returns the meta of an input for a value: that of the graph's input, or else standard normal floats, and integers 0 and 1.
    fn meta(self, value: ValueId, tensor: &TensorType) -> TensorMeta {
        if let Some(meta) = self.tensors.get(value.index()).filter(|_| self.graph.node_of(value).is_none()) {
            return meta.clone();
        }
        let extent = |number: &i64| u64::try_from(*number).unwrap_or(0);
        // The offset of the last element along each dimension. The sum is the offset of the last element of the storage that a
        // view needs.
        let last = |(&n, &stride): (&i64, &i64)| (n - 1).max(0).saturating_mul(stride.max(0));
        let storage = tensor.shape.iter().zip(&tensor.stride).map(last).fold(1_i64, i64::saturating_add);
        let is_int = tensor.dtype.is_int();
        TensorMeta {
            name: self.graph.name(value).to_owned(),
            original_name: None,
            shape: if tensor.is_contiguous() {
                tensor.shape.iter().map(extent).collect()
            } else {
                vec![extent(&storage)]
            },
            dtype: tensor.dtype,
            device: "cpu".to_owned(),
            mean: (!is_int).then_some(0.0),
            std: (!is_int).then_some(1.0),
            data: None,
            // 0 and 1 are valid indices for any dimension with at least two elements.
            min_val: is_int.then_some(0.0),
            max_val: is_int.then_some(1.0),
        }
    }

    fn class(self, pattern: &Graph, found: &Match) -> String {
        let named = pattern.input_names().zip(&found.inputs);
        let types = named.filter_map(|(name, bound)| match bound {
            Some(Arg::Value(value)) => Some(format!("{name}: {}", describe(&self.types[value.index()]))),
            _ => None,
        });
        types.collect::<Vec<_>>().join(", ")
    }
}

/// Copies an argument. If a value has no counterpart, the verifier reports an error.
fn copied(builder: &mut passnet_graph::Builder, from: &Graph, arg: Arg, stands: &[Option<Arg>]) -> Arg {
    match arg {
        Arg::Value(value) => stands[value.index()].unwrap_or(Arg::Value(ValueId(u32::MAX))),
        Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
            let elements = from.elements(range).iter().map(|&element| copied(builder, from, element, stands));
            let elements: Vec<Arg> = elements.collect();
            match (arg, elements.as_slice()) {
                (Arg::List(_), elements) => builder.list(elements),
                (Arg::Slice(_), &[start, stop, step]) => builder.slice(start, stop, step),
                (_, elements) => builder.tuple(elements),
            }
        }
        other => builder.copy_arg(from, other, &mut |value| value),
    }
}

fn describe(kind: &Type) -> String {
    match kind {
        Type::Tensor(tensor) => {
            let layout = match (tensor.is_contiguous(), tensor.is_dense()) {
                (true, _) => "contiguous",
                (false, true) => "permuted",
                (false, false) => "strided",
            };
            format!("{} {layout}", tensor.dtype.name())
        }
        Type::Host { host } => format!("{} in host memory", host.dtype.name()),
        Type::List { list } => format!("list of {}", list.len()),
        Type::Int { .. } => "int".to_owned(),
        Type::Unknown => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use passnet_graph::matching::{Pattern, PreparedGraph, SearchLimits};
    use passnet_record::DType;

    use super::*;

    /// Cuts the match of `a + b` out of `(x.T + y) * 2`.
    #[test]
    fn strides_of_the_place_are_kept() {
        let mut b = Graph::builder();
        let (x, y) = (b.input("x"), b.input("y"));
        let t = b.call_method("t", "t", &[x.into()], &[]);
        let sum = b.call_function("sum", "operator.add", &[t.into(), y.into()], &[]);
        let out = b.call_function("out", "operator.mul", &[sum.into(), Arg::Int(2)], &[]);
        let graph = b.finish(&[out.into()]).unwrap();
        let mut b = Graph::builder();
        let (left, right) = (b.input("left"), b.input("right"));
        let sum = b.call_function("p", "operator.add", &[left.into(), right.into()], &[]);
        let pattern = b.finish(&[sum.into()]).unwrap();
        let tensor = |shape: [i64; 2]| TensorType::contiguous(&shape, DType::Float32);
        let flipped = TensorType { shape: vec![3, 2], stride: vec![1, 3], dtype: DType::Float32 };
        let types = [tensor([2, 3]), tensor([3, 2]), flipped, tensor([3, 2]), tensor([3, 2])].map(Type::Tensor);
        let found = PreparedGraph::new(&graph).find(&Pattern::new(&pattern).unwrap(), SearchLimits::default()).unwrap();
        let typed = Typed { graph: &graph, tensors: &[], types: &types };
        let site = typed.cut(&pattern, &found.matches[0]).unwrap();
        assert_eq!(site.class, "left: float32 permuted, right: float32 contiguous");
        assert_eq!((site.bytes, site.metas[1].shape.as_slice()), (48, [6].as_slice()));
        let text = site.graph.to_string();
        assert!(text.contains("as_strided") && !text.contains("mul"), "{text}");
    }
}
