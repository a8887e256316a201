//! The file of a pass: pattern, table of plans, kernels and the function that launches them.

mod cpp;
mod lines;
mod parts;
mod pass_file;
mod signature;
mod triton;
mod views;

pub(crate) use pass_file::pass_file;
