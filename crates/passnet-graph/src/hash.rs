//! Canonical hashes of graphs; `docs/reference/hashes.md` is their specification.
//!
//! Two graphs have the same [`structural`] hash if they compute the same results by the same calls. Names of values, the order of
//! independent statements and the order of parameters do not matter. The [`typed`] hash adds shape and dtype of each input.

mod encode;
mod order;
mod state;

use passnet_record::{ContentId, TensorMeta};

use self::{
    encode::{Bytes, Encoder},
    order::canonical_order,
};
use crate::Graph;

/// Version of the specification. It is the first byte of the hashed data.
pub const HASH_VERSION: u8 = 1;

/// Returns the hash over ops, constants, data flow and the order of side effects.
pub fn structural(graph: &Graph) -> ContentId {
    ContentId::of(&canonical_bytes(graph, None))
}

/// Returns the hash over everything in [`structural`] and the shape and dtype of each input. `tensors` are in the order of the inputs. An
/// input without an entry counts as a tensor of unknown type.
pub fn typed(graph: &Graph, tensors: &[TensorMeta]) -> ContentId {
    ContentId::of(&canonical_bytes(graph, Some(tensors)))
}

/// Returns the bytes that are hashed. They include the types of inputs if `tensors` is given.
fn canonical_bytes(graph: &Graph, tensors: Option<&[TensorMeta]>) -> Vec<u8> {
    let encoder = Encoder::new(graph, tensors);
    let order = canonical_order(&encoder);
    let mut out = Bytes(vec![HASH_VERSION, u8::from(tensors.is_some())]);
    for &value in &order.sequence {
        match graph.node_of(value) {
            None => encoder.input(&mut out, value),
            Some(node) => encoder.node(&mut out, node, |out, value| out.u32(order.number(value))),
        }
    }
    encoder.outputs(&mut out, |out, value| out.u32(order.number(value)));
    let mut unused: Vec<Vec<u8>> = graph
        .inputs()
        .filter(|&input| !order.has(input))
        .map(|input| {
            let mut bytes = Bytes(Vec::new());
            encoder.input(&mut bytes, input);
            bytes.0
        })
        .collect();
    // Nothing refers to unused inputs, so nothing else orders them, and the order of parameters must not matter.
    unused.sort_unstable();
    out.0.extend(unused.into_iter().flatten());
    out.0
}
