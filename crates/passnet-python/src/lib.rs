//! Python text to graph and back.
//!
//! The one crate that knows a Python parser. It reads and writes the files of a sample in GraphNet layout: `model.py`
//! ([`model`]), `weight_meta.py` and `input_meta.py` ([`metas`]), `graph_net.json` ([`GraphNetMeta`]), and the folder
//! that holds them ([`sample`]). [`lint`] checks pass files against the integrity rules. Of these, only [`sample`] and
//! [`lint::read_dir`] touch files.
//!
//! Every function takes text from anywhere. Size and nesting are capped before anything recurses over the text, so
//! that no input can panic or overflow a stack of 2 MiB; whatever is wrong is an [`Error`] with file, line, column, the
//! line itself, and how to mend it.

mod error;
mod graph_net;
pub mod lint;
mod literal;
pub mod metas;
pub mod model;
mod nesting;
pub mod rename;
pub mod sample;
mod source;
pub mod unparse;

pub use error::{Error, ErrorKind};
pub use graph_net::GraphNetMeta;
pub use sample::Sample;
pub use source::MAX_SOURCE_BYTES;
