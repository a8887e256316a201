//! The graph: a straight-line computation over tensors.
//!
//! A [`Graph`] is a flat list of nodes in static single assignment form, as `torch.fx` captures it. Inputs come first. Each
//! node calls one function or one method and defines one value. The graph returns a tuple of values. [`verify`] lists the
//! laws that hold for every `Graph`. A [`Builder`] checks them, so later operations on the graph cannot fail.
//!
//! The crate never reads a file or a clock and never iterates over a hash map: equal graphs give equal results, byte for byte.
//! It does not parse Python text; `passnet-graphnet` does.
//!
//! ```
//! use passnet_graph::Graph;
//!
//! let mut builder = Graph::builder();
//! let x = builder.input("x");
//! let relu = builder.call_function("relu", "torch.nn.functional.relu", &[x.into()], &[]);
//! let graph = builder.finish(&[relu.into()])?;
//! assert_eq!((graph.num_inputs(), graph.num_values()), (1, 2));
//! # Ok::<(), passnet_graph::VerifyError>(())
//! ```

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
mod zero_weights;

pub use arg::{Arg, DeviceConstant};
pub use builder::Builder;
pub use effects::{MemoryUse, is_assertion, is_barrier};
pub use graph::{Callee, Graph, Node};
pub use ids::{ArgRange, NodeId, OpId, StrId, ValueId};
pub use seen::Unseen;
pub use slice::{Slice, SliceError, SliceOrder};
pub use target::Target;
pub use typed::{
    CanonicalCountError, TensorType, Type, TypeCountError, TypeFieldsError, TypedGraph, contiguous_stride,
};
pub use uses::{Use, Uses};
pub use verify::VerifyError;
pub use zero_weights::{has_row_products, has_zero_weights};
