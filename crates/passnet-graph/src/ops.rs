//! Properties of PyTorch's operations, by name. Matching, hashes, the built-in author and data sets all use this table.
//!
//! Graphs have only the names of operations. An operation that is not in the table gets the safest properties: its result may share
//! memory with any argument. Names are those of [`OpName`].

mod name;
mod properties;
mod table;

pub use self::{
    name::OpName,
    properties::{HashedMemory, Memory, Op},
    table::OPS,
};
