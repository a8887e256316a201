//! The built-in author: writes passes from the typed graphs of a task, without a language model.
//!
//! The [front end](front) expresses each node as a tensor whose elements are functions of their indices. The [plan] finds regions
//! that one call can replace, and the loops of these regions. The [back end](back) prints the loops as kernels. It also prints the
//! pattern that the call replaces. Equal tasks give equal directories.
//!
//! The crate never runs PyTorch, reads a file or reads a clock. It does not guess: PyTorch computes each operation that the crate
//! does not know. A pass refuses shapes and types for which it was not written.
//!
//! ```
//! use passnet_fuse::{Choices, write_passes};
//! use passnet_graph::{Graph, Target, TensorType, Type, TypedGraph};
//! use passnet_record::DType;
//!
//! let mut builder = Graph::builder();
//! let (x, y) = (builder.input("x"), builder.input("y"));
//! let sum = builder.call_function("sum", "operator.add", &[x.into(), y.into()], &[]);
//! let relu = builder.call_function("relu", "torch.nn.functional.relu", &[sum.into()], &[]);
//! let graph = builder.finish(&[relu.into()])?;
//! let types = vec![Type::Tensor(TensorType::contiguous(&[64, 128], DType::Float32)); graph.num_values()];
//! let task = [TypedGraph::new(graph, types)?];
//!
//! let passes = write_passes(&task, Target::Cpu, &Choices::new());
//! let file = passes.file("fuse_0.py").map(String::from_utf8_lossy);
//! assert!(file.is_some_and(|text| text.contains("t1 = torch.nn.functional.relu(t0)")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod author;
mod back;
mod explain;
mod front;
mod plan;

pub use author::{
    Excluded, ReplacedPart, Written, WrittenPass, tunable_kernels, write_checked_passes, write_judged_parts,
    write_judged_passes, write_passes, write_passes_without,
};
pub use back::tuning::{Choices, TunableKernel};
pub use explain::{device_rates, explain, planned_parts};
pub use plan::config::default_config;
