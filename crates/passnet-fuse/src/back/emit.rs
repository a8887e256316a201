//! The file of a pass: pattern, table of plans, kernels and the function that launches them.

mod cpp;
mod formula;
mod lines;
mod pass_file;
mod signature;
mod target_code;
mod triton;
mod views;

pub(crate) use pass_file::pass_file;
