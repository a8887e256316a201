//! Integrity rules for pass files: an allow-list language, checked before anything runs.
//!
//! A pass directory may hold only Python files and the order file, and those may say only what a pass has to say:
//! which operations to look for ([`pattern`](self)), which values to pass on, and wrappers that allocate, inspect and
//! launch kernels. A construct that is not on a list is rejected, and so is one that cannot be followed. There is no
//! way to switch a rule off from within a file.
//!
//! ```
//! use passnet_lint::{ORDER_FILE, lint_dir};
//!
//! let files = [("fuse.py", &b"import ctypes\n"[..]), (ORDER_FILE, &b"[]"[..])];
//! let findings = lint_dir(&files);
//! assert_eq!((findings[0].rule, findings[0].start.line), ("PN201", 1));
//! ```
//!
//! The crate runs nothing, and only [`read_dir`] touches files. It never panics.
//!
//! A directory is read in these steps:
//!
//! 1. [`source`]: text to tree, bounded in size and depth, free of text that reads in two ways;
//! 2. [`flow`]: names, imports and aliases across all files, then a data flow through wrappers and helpers that knows
//!    tensors from plain values, kernels and functions;
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
mod evidence;
mod finding;
mod flow;
mod ids;
mod importable;
mod kernel;
mod manual;
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
    manual::{find_rule, rules, rules_page},
    read::{PassFile, read_dir},
    rule::Rule,
    source::MAX_FILE_BYTES,
};
