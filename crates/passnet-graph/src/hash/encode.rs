use passnet_record::TensorMeta;

use super::state::{Operand, Reads, arguments};
use crate::{Arg, Callee, Graph, Node, NodeId, ValueId};

/// Tags of records.
mod tag {
    pub(super) const INPUT: u8 = 1;
    pub(super) const FUNCTION: u8 = 2;
    pub(super) const METHOD: u8 = 3;
    pub(super) const OUTPUTS: u8 = 4;
}

/// A buffer of little-endian numbers and length-prefixed strings.
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn length(&mut self, value: usize) {
        // Pools are numbered with 32 bits.
        self.u32(value as u32);
    }

    fn str(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend(text.as_bytes());
    }
}

/// Writes the records of one graph. References are written by the caller.
pub(super) struct Encoder<'g> {
    pub(super) graph: &'g Graph,
    pub(super) reads: Reads,
    tensors: Option<&'g [TensorMeta]>,
    /// For each node, the positions of its keyword arguments, sorted by name.
    keyword_order: Vec<Vec<u32>>,
}

impl<'g> Encoder<'g> {
    pub(super) fn new(graph: &'g Graph, tensors: Option<&'g [TensorMeta]>) -> Self {
        let keyword_order: Vec<Vec<u32>> = graph.nodes().map(|node| sorted_keywords(graph, &node)).collect();
        Self { graph, reads: Reads::new(graph, &keyword_order), tensors, keyword_order }
    }

    pub(super) fn input(&self, out: &mut Bytes, input: ValueId) {
        out.u8(tag::INPUT);
        if let Some(tensors) = self.tensors {
            match tensors.get(input.index()) {
                None => out.str(""),
                Some(tensor) => {
                    out.str(tensor.dtype.name());
                    out.length(tensor.shape.len());
                    tensor.shape.iter().for_each(|&extent| out.u64(extent));
                }
            }
        }
    }

    pub(super) fn node(&self, out: &mut Bytes, id: NodeId, mut reference: impl FnMut(&mut Bytes, ValueId)) {
        let node = self.graph.node(id);
        let keyword_order = &self.keyword_order[id.index()];
        out.u8(if matches!(node.callee, Callee::Function(_)) { tag::FUNCTION } else { tag::METHOD });
        out.str(node.callee.target());
        // The length comes before the elements, so that different graphs have different bytes.
        out.length(node.args.len());
        out.length(keyword_order.len());
        keyword_order.iter().for_each(|&index| out.str(self.graph.str(node.kwargs[index as usize].0)));
        self.args(out, id.index(), arguments(self.graph, id, keyword_order), &mut reference);
    }

    pub(super) fn outputs(&self, out: &mut Bytes, mut reference: impl FnMut(&mut Bytes, ValueId)) {
        out.u8(tag::OUTPUTS);
        out.length(self.graph.outputs().len());
        let outputs = self.graph.outputs().iter().copied();
        self.args(out, self.graph.num_nodes(), outputs, &mut reference);
    }

    /// Writes the arguments of a node and the global state in which they are read. The number of nodes stands for the outputs.
    fn args(
        &self,
        out: &mut Bytes,
        node: usize,
        args: impl Iterator<Item = Arg>,
        reference: &mut impl FnMut(&mut Bytes, ValueId),
    ) {
        let mut operands = self.reads.operands(node).iter();
        args.for_each(|arg| self.arg(out, arg, &mut operands, reference));
        self.optional(out, self.reads.global(node), reference);
    }

    fn optional(&self, out: &mut Bytes, node: Option<NodeId>, reference: &mut impl FnMut(&mut Bytes, ValueId)) {
        out.u8(u8::from(node.is_some()));
        if let Some(node) = node {
            reference(out, self.graph.value_of(node));
        }
    }

    fn arg<'o>(
        &self,
        out: &mut Bytes,
        arg: Arg,
        operands: &mut impl Iterator<Item = &'o Operand>,
        reference: &mut impl FnMut(&mut Bytes, ValueId),
    ) {
        match arg {
            Arg::Value(_) => {
                out.u8(0);
                if let Some(operand) = operands.next() {
                    reference(out, operand.value);
                    self.optional(out, operand.changed_by, reference);
                }
            }
            Arg::None => out.u8(1),
            Arg::Bool(value) => out.0.extend([2, u8::from(value)]),
            Arg::Int(value) => {
                out.u8(3);
                out.0.extend(value.to_le_bytes());
            }
            Arg::Float(value) => {
                out.u8(4);
                // NaN has many bit patterns and one meaning in a graph.
                out.u64(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() });
            }
            Arg::Str(id) => {
                out.u8(5);
                out.str(self.graph.str(id));
            }
            Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
                out.u8(match arg {
                    Arg::List(_) => 6,
                    Arg::Tuple(_) => 7,
                    _ => 8,
                });
                let elements = self.graph.elements(range);
                out.length(elements.len());
                elements.iter().for_each(|&element| self.arg(out, element, operands, reference));
            }
            Arg::Ellipsis => out.u8(9),
            Arg::DType(dtype) => {
                out.u8(10);
                out.str(dtype.name());
            }
            Arg::Device(device) => {
                out.u8(11);
                out.str(self.graph.str(device.kind));
                out.u8(u8::from(device.index.is_some()));
                device.index.into_iter().for_each(|index| out.u32(index));
            }
            Arg::Attr(id) => {
                out.u8(12);
                out.str(self.graph.str(id));
            }
        }
    }
}

fn sorted_keywords(graph: &Graph, node: &Node<'_>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..node.kwargs.len() as u32).collect();
    order.sort_unstable_by_key(|&index| graph.str(node.kwargs[index as usize].0));
    order
}
