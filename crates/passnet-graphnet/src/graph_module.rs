//! `model.py`: one class with one method `forward`, straight-line code.
//!
//! [`parse`] reads it, [`print()`] writes it in canonical style, and `parse(print(graph)) == graph` for every graph.
//!
//! The statements of the text become:
//!
//! - `y = x` binds another name to the value of `x`; it is not a node.
//! - `x = None` drops a reference. If it was the last reference to the value, the graph records that the node before frees the
//!   value. (References held by the parameters of `forward` do not count, because the caller holds these values anyway.)
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
        // The quick reader reports no errors: the full parser reads again any text that it does not know, and reports the error.
        Some(graph) => Ok(graph),
        None if paddle::is_paddle(text) => Ok(paddle::read(path, text)?.graph),
        None => lower::lower(&source, &source.parse()?),
    }
}

/// Does the same as [`parse`], but always through a syntax tree of the whole language. Only tests need this function: it defines
/// the result that [`parse_quickly`] must have.
///
/// # Errors
/// As [`parse`].
pub fn parse_by_tree(path: &str, text: &str) -> Result<Graph, Error> {
    let source = Source::new(path, text)?;
    lower::lower(&source, &source.parse()?)
}

/// Does the same as [`parse`], several times faster, for text in the subset of Python in which graphs are printed. Returns `None`
/// for other text, and for text that is not a graph.
pub fn parse_quickly(text: &str) -> Option<Graph> {
    quick::read(text)
}
