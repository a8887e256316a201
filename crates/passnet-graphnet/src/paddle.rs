//! Graphs of Paddle: a `model.py` whose class is a `paddle.nn.Layer`, as in GraphNet's `paddle_samples`.
//!
//! [`read`] makes a graph of the form that [`crate::graph_module`] has for PyTorch, so that all code for graphs works on it.
//! [`crate::graph_module::parse`] calls [`read`] for a text of Paddle. The statements of the text become:
//!
//! - `paddle._C_ops.matmul(...)` and `paddle.arange(...)` are functions `torch.ops.paddle.matmul` and `torch.ops.paddle.arange`,
//!   in a namespace without operators of PyTorch. Their op names are `paddle.matmul` and `paddle.arange`.
//! - `a, b = (lambda x, f: f(x))(CALL, lambda out: ...)` is `CALL` with two results; each result is `operator.getitem`.
//! - `full_int_array_0 = [0]` and `combine_0 = [x, y]` are not nodes: each use of the name stands for the list.
//! - `paddle.float32` is the dtype, `paddle.core.CPUPlace()` the device. Other constants keep their names, as `torch.ops.paddle.NAME`.
//! - `del x` is dropped.
//! - The comment above a statement, `# pd_op.matmul: (-1x96xf32) <- (-1x32xf32, 32x96xf32)`, describes the types of the results.
//!
//! A size that Paddle did not know when it printed the graph is -1 in the comment.

mod lower;
mod types;

pub use types::{PaddleGraph, ValueType};

use crate::{Error, source::Source};

/// Returns whether a text is a graph of Paddle.
pub fn is_paddle(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim_end(), "import paddle"))
}

/// Reads a graph from the text of a `model.py` of Paddle. `path` is used in messages only.
///
/// # Errors
/// If the text is not Python, or no straight-line graph; see [`crate::ErrorKind`].
pub fn read(path: &str, text: &str) -> Result<PaddleGraph, Error> {
    let source = Source::new(path, text)?;
    lower::lower(&source, &source.parse()?)
}
