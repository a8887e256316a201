//! `model.py`: one class with one method `forward`, straight-line code.
//!
//! [`parse`] reads it, [`print()`] writes it in canonical style, and `parse(print(graph)) == graph` for every graph.
//!
//! The surface of the text becomes:
//!
//! - `y = x` binds another name to the value of `x`; it is not a node.
//! - `x = None` drops a reference. Where it is the last one, it is recorded as a free of the node before. (References
//!   held by the parameters of `forward` do not count: the caller holds those values anyway.)
//! - `x += y` is a node `operator.iadd` with a separate value, which `x` names from then on. If the next statement is
//!   `z = x`, the node is called `z`, which is how `torch.fx` prints it.
//! - `x[i] = y` is a node `operator.setitem`; `x` keeps its value, and nodes that follow in program order see the change.
//!   If the next statement is `setitem = x`, the node is called `setitem`.
//! - `x.T` is `builtins.getattr`, operators are functions of `operator`, a nested call is a separate node.
//! - `return x` is read as `return (x,)`.

mod body;
mod expr;
mod lower;
mod print;
mod quick;
mod scope;

use passnet_graph::Graph;

pub use print::print;

use crate::{Error, paddle, source::Source};

/// Reads a graph from the text of a `model.py`, of PyTorch or of Paddle ([`paddle`]). `path` is used in messages only.
///
/// # Errors
/// If the text is not Python, or no straight-line graph; see [`crate::ErrorKind`].
pub fn parse(path: &str, text: &str) -> Result<Graph, Error> {
    let source = Source::new(path, text)?;
    match quick::read(text) {
        // The quick reader has no errors of its own: what it does not know, the full parser reads again and
        // reports.
        Some(graph) => Ok(graph),
        None if paddle::is_paddle(text) => Ok(paddle::read(path, text)?.graph),
        None => lower::lower(&source, &source.parse()?),
    }
}

/// Does the same as [`parse`], but always through a syntax tree of the whole language. Only tests need this: it says what
/// [`parse_quickly`] has to give.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_by_tree(path: &str, text: &str) -> Result<Graph, Error> {
    let source = Source::new(path, text)?;
    lower::lower(&source, &source.parse()?)
}

/// Does the same as [`parse`], but only if the text keeps to the part of Python in which graphs are printed, which is read several
/// times faster; `None` if it does not, or is not a graph.
pub fn parse_quickly(text: &str) -> Option<Graph> {
    quick::read(text)
}
