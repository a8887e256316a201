//! Samples in GraphNet layout: parses Python text to a graph, and prints a graph as Python text.
//!
//! A sample is a folder ([`sample`]) with `model.py` ([`graph_module`]), `weight_meta.py` and `input_meta.py` ([`metas`]) and
//! `graph_net.json` ([`GraphNetMeta`]). Only [`sample`] reads and writes files.
//!
//! ```
//! use passnet_graphnet::graph_module;
//!
//! let text = "import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x):\n        y = torch.relu(x)\n        return (y,)\n";
//! let graph = graph_module::parse("model.py", text)?;
//! let printed = graph_module::print(&graph);
//! assert_eq!(graph_module::parse("printed", &printed)?, graph);
//! # Ok::<(), passnet_graphnet::Error>(())
//! ```
//!
//! The crate never runs Python and never panics. The text is not trusted. The crate limits its size and nesting before any function
//! recurses over it, so no input overflows a stack of 2 MiB. An [`Error`] has the file, the line, the column, the text of the line,
//! and how to fix it.

mod error;
mod forward;
pub mod graph_module;
mod graph_net;
mod literal;
pub mod metas;
mod nesting;
mod operators;
pub mod paddle;
pub mod rename;
pub mod sample;
mod source;
pub mod unparse;

pub use error::{Error, ErrorKind};
pub use graph_net::GraphNetMeta;
pub use sample::Sample;
pub use source::MAX_SOURCE_BYTES;
