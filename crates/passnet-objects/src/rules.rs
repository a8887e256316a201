//! The rules, one file each.

pub(crate) mod data;
mod escape;
pub(crate) mod instructions;
pub(crate) mod relocations;
pub(crate) mod sections;
pub(crate) mod stack;
pub(crate) mod symbols;
