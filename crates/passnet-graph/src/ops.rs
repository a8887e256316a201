//! Properties of PyTorch's operations, by name: the one table that matching, hashes, the built-in author and data sets use.
//!
//! Graphs carry names only. An operation that is not in the table has the safest properties: its result may share memory
//! with any argument. Names are those of [`OpName`].

mod name;
mod properties;
mod table;

pub use self::{
    name::OpName,
    properties::{HashedMemory, Memory, Op},
    table::OPS,
};
