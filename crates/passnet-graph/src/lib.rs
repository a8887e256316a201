//! The graph: a straight-line computation over tensors.
//!
//! A [`Graph`] is a flat list of nodes in static single assignment form, as `torch.fx` captures it: inputs come first,
//! every node calls one function or one method and defines one value, and a tuple of values is returned. The laws that
//! hold for every `Graph` are listed in [`verify`]; a graph is made by a [`Builder`], which checks them, so that later
//! operations cannot fail.
//!
//! Nothing here reads files, looks at a clock, or iterates over a hash map: equal graphs give equal results, byte for
//! byte. Python text is the business of `passnet-graphnet`.

mod arg;
mod builder;
mod device;
mod effects;
mod graph;
pub mod hash;
mod ids;
pub mod literal;
pub mod matching;
pub mod names;
mod op_names;
pub mod operators;
pub mod ops;
mod seen;
mod slice;
mod subset;
mod target;
mod text;
mod typed;
mod uses;
pub mod verify;
pub mod wire;

pub use arg::{Arg, Device};
pub use builder::Builder;
pub use effects::{MemoryUse, is_assertion, is_barrier};
pub use graph::{Callee, Graph, Node};
pub use ids::{ArgRange, NodeId, OpId, StrId, ValueId};
pub use seen::Unseen;
pub use slice::{Slice, SliceError, SliceOrder};
pub use target::Target;
pub use typed::{TensorType, Type, TypeCountError, TypeFieldsError, TypedGraph, contiguous_stride};
pub use uses::{Use, Uses};
pub use verify::VerifyError;
