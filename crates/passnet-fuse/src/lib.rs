//! The built-in author: from the typed graphs of a task to a pass directory, without a language model.
//!
//! A graph's nodes are expressed as [tensors](tensor) that are functions of their indices; [regions](region) of
//! them that one call can replace are [scheduled](stage) into loops, and [printed](print) as kernels with the
//! pattern that they stand for. Everything follows from the graphs and their types: equal tasks give equal directories.

mod author;
mod config;
mod emit;
mod explain;
mod expr;
mod fragile;
mod index;
#[cfg(test)]
mod interpret;
mod lower;
mod pattern;
mod print;
mod region;
mod rehearsal;
mod scalar;
mod stage;
mod tensor;
mod typed;
mod views;

pub use author::{PassDir, Target, author, author_with, places};
pub use config::{Choices, Config, KernelKey, Nests, Place, Tiles};
pub use explain::explain;
pub use typed::{TensorType, Type, TypeCountError, TypedGraph};
