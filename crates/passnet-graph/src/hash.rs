//! Canonical hashes of graphs; `docs/hashes.md` is their specification.
//!
//! Two graphs have the same [`structural`] hash when they compute the same thing by the same calls, whatever their
//! values are called, in whatever order independent statements stand, and in whatever order parameters are declared.
//! The [`typed`] hash adds shape and dtype of each input.

mod encode;
mod order;
mod state;

use passnet_record::{ContentId, TensorMeta};

use crate::Graph;

/// Version of the specification; the first byte of what is hashed.
pub const HASH_VERSION: u8 = 1;

/// Hash over ops, constants, data flow and the order of side effects.
pub fn structural(graph: &Graph) -> ContentId {
    ContentId::of(&encode::canonical_bytes(graph, None))
}

/// [`structural`], and the shape and dtype of each input. `tensors` are in the order of the inputs; an input beyond
/// their end counts as a tensor of unknown type.
pub fn typed(graph: &Graph, tensors: &[TensorMeta]) -> ContentId {
    ContentId::of(&encode::canonical_bytes(graph, Some(tensors)))
}
