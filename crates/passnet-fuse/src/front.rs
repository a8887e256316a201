//! Front end: the nodes of a graph as [tensors](tensor) that are functions of their indices.

pub(crate) mod arena;
pub(crate) mod constants;
pub(crate) mod evaluator;
pub(crate) mod expr;
pub(crate) mod index;
pub(crate) mod lower;
mod reads;
pub(crate) mod scalar;
pub(crate) mod tensor;
