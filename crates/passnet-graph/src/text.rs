//! Text form of a graph for people: one line per node, with its op index.
//!
//! ```text
//! inputs in_0, w_0
//!    0  conv = torch.conv2d(in_0, w_0, None, (1, 1))
//!    1  relu = torch.nn.functional.relu(conv, inplace=True)  # drops conv
//!    2  view = relu.view(-1)
//! return view
//! ```

use std::fmt;

use crate::{
    Arg, Callee, DeviceConstant, Graph, Node, NodeId, ValueId,
    literal::{FloatRepr, StrRepr},
};

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inputs ")?;
        separated(f, self.input_names(), |f, name| f.write_str(name))?;
        for node in self.nodes() {
            write!(f, "\n{:>4}  {} = ", node.id.0, node.name)?;
            write_call(f, self, &node)?;
            if !node.frees.is_empty() {
                f.write_str("  # drops ")?;
                separated(f, node.frees, |f, &value| write_value(f, self, value))?;
            }
        }
        f.write_str("\nreturn ")?;
        separated(f, self.outputs(), |f, &arg| write_arg(f, self, arg))?;
        writeln!(f)
    }
}

impl Graph {
    /// Returns the call of one node as text, without its name: `relu.view(-1)`.
    ///
    /// # Panics
    /// When displayed, if `node` is not of this graph.
    pub fn call_text(&self, node: NodeId) -> impl fmt::Display {
        fmt::from_fn(move |f| write_call(f, self, &self.node(node)))
    }

    /// Returns an argument of this graph as text: `(1, 1)`, `conv`.
    ///
    /// # Panics
    /// When displayed, if `arg` is not of this graph.
    pub fn arg_text(&self, arg: Arg) -> impl fmt::Display {
        fmt::from_fn(move |f| write_arg(f, self, arg))
    }
}

fn write_call(f: &mut fmt::Formatter<'_>, graph: &Graph, node: &Node<'_>) -> fmt::Result {
    let args = match node.callee {
        Callee::Function(target) => {
            write!(f, "{target}(")?;
            node.args
        }
        Callee::Method(method) => {
            write_arg(f, graph, node.args[0])?;
            write!(f, ".{method}(")?;
            &node.args[1..]
        }
    };
    separated(f, args, |f, &arg| write_arg(f, graph, arg))?;
    for (index, &(key, arg)) in node.kwargs.iter().enumerate() {
        let comma = if index == 0 && args.is_empty() { "" } else { ", " };
        write!(f, "{comma}{}=", graph.str(key))?;
        write_arg(f, graph, arg)?;
    }
    f.write_str(")")
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn write_value(f: &mut fmt::Formatter<'_>, graph: &Graph, value: ValueId) -> fmt::Result {
    f.write_str(graph.name(value))
}

fn write_arg(f: &mut fmt::Formatter<'_>, graph: &Graph, arg: Arg) -> fmt::Result {
    let elements = |f: &mut fmt::Formatter<'_>, range| {
        separated(f, graph.elements(range), |f, &element| write_arg(f, graph, element))
    };
    match arg {
        Arg::Value(value) => write_value(f, graph, value),
        Arg::None => f.write_str("None"),
        Arg::Bool(value) => f.write_str(if value { "True" } else { "False" }),
        Arg::Int(value) => write!(f, "{value}"),
        Arg::Float(value) => write!(f, "{}", FloatRepr(value)),
        Arg::Str(id) => write!(f, "{}", StrRepr(graph.str(id))),
        Arg::List(range) => {
            f.write_str("[")?;
            elements(f, range)?;
            f.write_str("]")
        }
        Arg::Tuple(range) => {
            f.write_str("(")?;
            elements(f, range)?;
            f.write_str(if range.len == 1 { ",)" } else { ")" })
        }
        Arg::Slice(range) => {
            f.write_str("slice(")?;
            elements(f, range)?;
            f.write_str(")")
        }
        Arg::Ellipsis => f.write_str("..."),
        Arg::DType(dtype) => write!(f, "torch.{dtype}"),
        Arg::Device(DeviceConstant { kind, index: None }) => write!(f, "device({})", graph.str(kind)),
        Arg::Device(DeviceConstant { kind, index: Some(index) }) => write!(f, "device({}:{index})", graph.str(kind)),
        Arg::Attr(id) => f.write_str(graph.str(id)),
    }
}
