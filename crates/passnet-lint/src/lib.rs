//! Integrity rules for pass files: a language of allowed constructs, checked before anything runs.
//!
//! A pass directory holds only Python files and the order file. The files may contain a pattern ([`pattern`](self)), the choice
//! of its inputs, and wrappers that allocate tensors, inspect them and launch kernels. The rules reject each construct that is
//! not on a list, and each construct that they cannot follow. A file cannot switch a rule off.
//!
//! ```
//! use passnet_lint::{ORDER_FILE, lint_dir};
//!
//! let files = [("fuse.py", &b"import ctypes\n"[..]), (ORDER_FILE, &b"[]"[..])];
//! let findings = lint_dir(&files);
//! assert_eq!((findings[0].rule, findings[0].start.line), ("PN201", 1));
//! ```
//!
//! The crate never runs anything and never panics. Only [`read_dir`] reads files.
//!
//! The analysis has these steps:
//!
//! 1. [`source`]: text to tree, limited in size and depth. Text that can be read in two ways is rejected.
//! 2. [`flow`]: names, imports and aliases across all files, then a data flow through wrappers and helpers that distinguishes
//!    tensors, plain values, kernels and functions.
//! 3. [`kernel`] and [`pattern`]: code that is compiled or traced instead of run. Both use [`dialect`].
//! 4. [`native`]: C++ and CUDA sources.
//!
//! [`rules`] has one file per rule. The documentation of a rule is its manual.
//!
//! These rules are the first layer of defence: they make evasion expensive and visible. The sandbox, the interception layer
//! and the referee limit the effect of code that passes the rules.

mod annotation;
mod bound;
mod class;
mod dialect;
mod directory;
mod evidence;
mod finding;
mod flow;
mod guarded_import;
mod ids;
mod importable;
mod kernel;
mod lambda_entry;
mod manual;
mod native;
mod order;
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
    directory::{MAX_FILES, lint_dir},
    finding::{Finding, Position},
    manual::{find_rule, rules, rules_page},
    order::ORDER_FILE,
    read::{PassFile, read_dir},
    rule::Rule,
    source::MAX_FILE_BYTES,
};
