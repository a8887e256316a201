//! Python text to graph and back.
//!
//! Reads and writes the files of a sample in GraphNet layout: `model.py`
//! ([`graph_module`]), `weight_meta.py` and `input_meta.py` ([`metas`]), `graph_net.json` ([`GraphNetMeta`]), and the folder
//! that holds them ([`sample`]). Only [`sample`] touches files.
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
//! The crate never runs Python.
//!
//! Every function takes text from anywhere. Size and nesting are capped before anything recurses over the text, so
//! that no input can panic or overflow a stack of 2 MiB; each problem is an [`Error`] with file, line, column, the
//! line itself, and how to fix it.

mod error;
pub mod graph_module;
mod graph_net;
mod literal;
pub mod metas;
mod nesting;
pub mod rename;
pub mod sample;
mod source;
pub mod unparse;

pub use error::{Error, ErrorKind};
pub use graph_net::GraphNetMeta;
pub use sample::Sample;
pub use source::MAX_SOURCE_BYTES;
