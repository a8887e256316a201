use std::fmt::{self, Write};

use passnet_graph::{
    Arg, Callee, Graph, Node, ValueId,
    literal::{FloatRepr, StrRepr},
    operators::{self, GETATTR, Syntax},
};

/// Writes a graph as the text of a `model.py`, in the style of Python's `ast.unparse`.
///
/// An in-place operator is written as `x += y` if nothing uses the old `x` afterwards, so that the name can pass to the result.
/// Elsewhere it is written as a call of `operator.iadd`, which has the same meaning.
pub fn print(graph: &Graph) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = Printer::new(graph).module(&mut text);
    text
}

struct Printer<'g> {
    graph: &'g Graph,
    /// For each value, the node of its last use. The outputs count as a node after all others.
    last_use: Vec<u32>,
    /// Name of the function that makes a device: `device`, unless a value has that name.
    device: &'static str,
}

/// Modules that the text has to import.
#[derive(Default)]
struct Imports {
    device: bool,
    inf: bool,
    nan: bool,
    operator: bool,
    builtins: bool,
}

/// The form in which a node is written.
enum Form {
    Unary(&'static str),
    Binary(&'static str),
    InPlace(&'static str),
    GetItem,
    SetItem,
    Attribute,
    Method,
    Function,
}

impl<'g> Printer<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut last_use = vec![0; graph.num_values()];
        for node in graph.nodes() {
            for arg in node.all_args() {
                // Nodes come in program order, so the last write is the last use.
                graph.for_each_value(arg, &mut |value| last_use[value.index()] = node.id.0);
            }
        }
        for &output in graph.outputs() {
            graph.for_each_value(output, &mut |value| last_use[value.index()] = graph.num_nodes() as u32);
        }
        let is_shadowed = (0..graph.num_values() as u32).any(|value| graph.name(ValueId(value)) == "device");
        Self { graph, last_use, device: if is_shadowed { "torch.device" } else { "device" } }
    }

    fn module(&self, out: &mut String) -> fmt::Result {
        let imports = self.imports();
        out.write_str("import torch\n")?;
        let lines = [
            (imports.operator, "import operator\n"),
            (imports.builtins, "import builtins\n"),
            (imports.device, "from torch import device\n"),
            (imports.inf, "from torch import inf\n"),
            (imports.nan, "from torch import nan\n"),
        ];
        lines.iter().filter(|(is_used, _)| *is_used).try_for_each(|(_, line)| out.write_str(line))?;
        out.write_str("\nclass GraphModule(torch.nn.Module):\n\n    def forward(self")?;
        self.graph.input_names().try_for_each(|name| write!(out, ", {name}"))?;
        out.write_str("):\n")?;
        for node in self.graph.nodes() {
            out.write_str("        ")?;
            self.statement(out, &node)?;
            out.write_str("\n")?;
            if !node.frees.is_empty() {
                out.write_str("        ")?;
                node.frees.iter().try_for_each(|&value| write!(out, "{} = ", self.graph.name(value)))?;
                out.write_str("None\n")?;
            }
        }
        out.write_str("        return ")?;
        self.tuple(out, self.graph.outputs())
    }

    fn imports(&self) -> Imports {
        let mut imports = Imports::default();
        for node in self.graph.nodes() {
            node.all_args().for_each(|arg| self.note_imports(arg, &mut imports));
            if let (Form::Function, Callee::Function(target)) = (self.form(&node), node.callee) {
                imports.operator |= target.starts_with("operator.");
                imports.builtins |= target == GETATTR;
            }
        }
        self.graph.outputs().iter().for_each(|&arg| self.note_imports(arg, &mut imports));
        imports
    }

    fn note_imports(&self, arg: Arg, imports: &mut Imports) {
        match arg {
            // `torch.device` needs no import of its own.
            Arg::Device(_) => imports.device = self.device == "device",
            Arg::Float(value) if value.is_nan() => imports.nan = true,
            Arg::Float(value) if value.is_infinite() => imports.inf = true,
            _ => {
                if let Some(range) = arg.elements() {
                    self.graph.elements(range).iter().for_each(|&element| self.note_imports(element, imports));
                }
            }
        }
    }

    fn form(&self, node: &Node<'_>) -> Form {
        let Callee::Function(target) = node.callee else { return Form::Method };
        if target == GETATTR {
            return Form::Attribute;
        }
        let Some(operator) = operators::by_target(target) else { return Form::Function };
        let first = node.args[0].as_value();
        match (operator.syntax, first) {
            (Syntax::Binary(symbol) | Syntax::Compare(symbol), _) => Form::Binary(symbol),
            (Syntax::Unary(symbol), Some(_)) => Form::Unary(symbol),
            (Syntax::GetItem, Some(_)) => Form::GetItem,
            (Syntax::SetItem, Some(_)) => Form::SetItem,
            // `x += y` gives the name `x` to the result, so nothing may use the old value later.
            (Syntax::InPlace(symbol), Some(value)) if self.last_use[value.index()] <= node.id.0 => {
                Form::InPlace(symbol)
            }
            _ => Form::Function,
        }
    }

    fn statement(&self, out: &mut String, node: &Node<'_>) -> fmt::Result {
        let (name, args) = (node.name, node.args);
        match self.form(node) {
            Form::InPlace(symbol) => {
                self.arg(out, args[0])?;
                write!(out, " {symbol} ")?;
                self.arg(out, args[1])?;
                write!(out, "\n        {name} = ")?;
                self.arg(out, args[0])
            }
            Form::SetItem => {
                self.item(out, args)?;
                out.write_str(" = ")?;
                self.arg(out, args[2])?;
                write!(out, "\n        {name} = ")?;
                self.arg(out, args[0])
            }
            form => {
                write!(out, "{name} = ")?;
                self.expression(out, node, &form)
            }
        }
    }

    fn expression(&self, out: &mut String, node: &Node<'_>, form: &Form) -> fmt::Result {
        let args = node.args;
        match form {
            Form::Unary(symbol) => {
                out.write_str(symbol)?;
                self.arg(out, args[0])
            }
            Form::Binary(symbol) => {
                // Brackets are needed, because `-1 ** x` would be `-(1 ** x)`. On the right they are not needed, but
                // `ast.unparse` prints them.
                self.operand(out, args[0], *symbol == "**")?;
                write!(out, " {symbol} ")?;
                self.operand(out, args[1], *symbol == "**")
            }
            Form::GetItem => self.item(out, args),
            Form::Attribute => {
                self.arg(out, args[0])?;
                match args[1] {
                    Arg::Str(name) => write!(out, ".{}", self.graph.str(name)),
                    _ => Ok(()),
                }
            }
            Form::Method => {
                self.arg(out, args[0])?;
                self.arguments(out, &format!(".{}", node.callee.target()), &args[1..], node)
            }
            Form::Function | Form::InPlace(_) | Form::SetItem => self.arguments(out, node.callee.target(), args, node),
        }
    }

    fn operand(&self, out: &mut String, arg: Arg, is_power: bool) -> fmt::Result {
        let is_negative = match arg {
            Arg::Int(value) => value < 0,
            // `-0.0` is printed with its sign, a NaN without one.
            Arg::Float(value) => value.is_sign_negative() && !value.is_nan(),
            _ => false,
        };
        if is_power && is_negative {
            out.write_str("(")?;
            self.arg(out, arg)?;
            out.write_str(")")
        } else {
            self.arg(out, arg)
        }
    }

    /// Prints `x[i]`. A tuple as index is printed without brackets.
    fn item(&self, out: &mut String, args: &[Arg]) -> fmt::Result {
        self.arg(out, args[0])?;
        out.write_str("[")?;
        match args[1] {
            Arg::Tuple(range) if range.len > 0 => {
                self.elements(out, self.graph.elements(range))?;
                if range.len == 1 {
                    out.write_str(",")?;
                }
            }
            index => self.arg(out, index)?,
        }
        out.write_str("]")
    }

    fn arguments(&self, out: &mut String, callee: &str, args: &[Arg], node: &Node<'_>) -> fmt::Result {
        write!(out, "{callee}(")?;
        self.elements(out, args)?;
        for (index, &(key, arg)) in node.kwargs.iter().enumerate() {
            let comma = if index == 0 && args.is_empty() { "" } else { ", " };
            write!(out, "{comma}{}=", self.graph.str(key))?;
            self.arg(out, arg)?;
        }
        out.write_str(")")
    }

    fn elements(&self, out: &mut String, args: &[Arg]) -> fmt::Result {
        for (index, &arg) in args.iter().enumerate() {
            if index > 0 {
                out.write_str(", ")?;
            }
            self.arg(out, arg)?;
        }
        Ok(())
    }

    fn tuple(&self, out: &mut String, args: &[Arg]) -> fmt::Result {
        out.write_str("(")?;
        self.elements(out, args)?;
        out.write_str(if args.len() == 1 { ",)" } else { ")" })
    }

    fn value(&self, out: &mut String, value: ValueId) -> fmt::Result {
        out.write_str(self.graph.name(value))
    }

    fn arg(&self, out: &mut String, arg: Arg) -> fmt::Result {
        let graph = self.graph;
        match arg {
            Arg::Value(value) => self.value(out, value),
            Arg::None => out.write_str("None"),
            Arg::Bool(value) => out.write_str(if value { "True" } else { "False" }),
            Arg::Int(value) => write!(out, "{value}"),
            Arg::Float(value) => write!(out, "{}", FloatRepr(value)),
            Arg::Str(id) => write!(out, "{}", StrRepr(graph.str(id))),
            Arg::List(range) => {
                out.write_str("[")?;
                self.elements(out, graph.elements(range))?;
                out.write_str("]")
            }
            Arg::Tuple(range) => self.tuple(out, graph.elements(range)),
            Arg::Slice(range) => {
                out.write_str("slice(")?;
                self.elements(out, graph.elements(range))?;
                out.write_str(")")
            }
            Arg::Ellipsis => out.write_str("..."),
            Arg::DType(dtype) => write!(out, "torch.{dtype}"),
            Arg::Device(device) => {
                write!(out, "{}(type={}", self.device, StrRepr(graph.str(device.kind)))?;
                device.index.map_or(Ok(()), |index| write!(out, ", index={index}"))?;
                out.write_str(")")
            }
            Arg::Attr(id) => out.write_str(graph.str(id)),
        }
    }
}
