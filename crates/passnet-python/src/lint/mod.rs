//! Integrity rules for pass files: an allow-list language, checked before anything runs.
//!
//! A pass directory may hold only Python files and the order file, and those may say only what a pass has to say:
//! which operations to look for ([`pattern`](self)), which values to pass on, and wrappers that allocate, inspect and
//! launch kernels. What is not on a list is rejected, and what cannot be followed counts as not on a list. There is no
//! way to switch a rule off from within a file.
//!
//! How a directory is read:
//!
//! 1. [`source`]: text to tree, bounded in size and depth, free of text that reads in two ways;
//! 2. [`flow`]: names, imports and aliases across all files, then a data flow through wrappers and helpers that knows
//!    tensors, plain values, kernels and functions apart;
//! 3. [`kernel`] and [`pattern`]: code that is compiled or traced, not run; both walks share [`dialect`];
//! 4. [`native`]: C++ and CUDA sources.
//!
//! Rules are in [`rules`], one per file; a rule's documentation is its manual.
//!
//! This is a quality gate and a first layer. It makes evasion expensive and its attempts visible; what a directory can
//! do if it gets past is for the sandbox, the interception and the referee to bound.

mod annotation;
mod dialect;
mod directory;
mod finding;
mod flow;
mod kernel;
mod native;
mod pattern;
mod read;
pub mod render;
mod rule;
mod rules;
mod source;
#[cfg(test)]
mod tests;
mod value;

pub use self::{
    directory::{MAX_FILES, ORDER_FILE, lint_dir},
    finding::{Finding, Position},
    read::{PassFile, read_dir},
    rule::{Rule, find_rule, rules, rules_page},
    source::MAX_FILE_BYTES,
};
