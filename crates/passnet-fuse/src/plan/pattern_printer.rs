//! Prints the calls of a region as Python code, with gaps for numbers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use passnet_graph::{Arg, Callee, Graph, Node, NodeId, ValueId, literal::FloatRepr, literal::StrRepr};

use super::region::Region;

/// Prints the nodes of a region of a graph. `open` returns the numbers of a node that are left out as gaps.
pub(crate) fn printed(
    graph: &Graph,
    region: &Region,
    repeats: Repeats,
    open: &mut dyn FnMut(NodeId) -> BTreeSet<usize>,
) -> PrintedLines {
    let mut names: BTreeMap<ValueId, String> = BTreeMap::new();
    for (number, input) in region.inputs.iter().enumerate() {
        names.insert(input.value, format!("in{number}"));
    }
    let lines = PrintedLines { pieces: Vec::new(), constants: Vec::new() };
    let mut printer =
        PatternPrinter { graph, names, repeats, lines, open: BTreeSet::new(), number: 0, text: String::new() };
    for (number, &node) in region.nodes.iter().enumerate() {
        (printer.open, printer.number) = (open(node), 0);
        let node = graph.node(node);
        let name = format!("t{number}");
        printer.text.push_str("    ");
        if !printer.assignment(node) {
            let _ = write!(printer.text, "{name} = ");
            printer.call(node);
        }
        printer.text.push('\n');
        printer.names.insert(node.value, name);
    }
    let outputs: Vec<&str> =
        region.outputs.iter().filter_map(|output| printer.names.get(&output.value)).map(String::as_str).collect();
    let line = format!("    return {}\n", outputs.join(", "));
    printer.text.push_str(&line);
    let PatternPrinter { mut lines, text, .. } = printer;
    lines.pieces.push(text);
    lines
}

/// Returns the `repr` of a constant that may differ between the sites of a pattern.
pub(crate) fn constant(arg: Arg) -> Option<String> {
    match arg {
        Arg::Int(value) => Some(value.to_string()),
        Arg::Float(value) if value.is_finite() => Some(FloatRepr(value).to_string()),
        _ => None,
    }
}

/// Printed lines with gaps.
pub(crate) struct PrintedLines {
    pub(crate) pieces: Vec<String>,
    /// `repr` of the numbers in the gaps.
    pub(crate) constants: Vec<String>,
}

/// Use of printed calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    Never,
    /// Calls are views that a replacement makes. It must not call `reshape`, which may copy. The tensors are contiguous where a view is
    /// repeated, so `view` has the same result.
    Views,
}

struct PatternPrinter<'g> {
    graph: &'g Graph,
    names: BTreeMap<ValueId, String>,
    repeats: Repeats,
    lines: PrintedLines,
    /// Numbers of the call that are left out as gaps.
    open: BTreeSet<usize>,
    /// Count of the call's numbers so far.
    number: usize,
    /// The piece that is being printed.
    text: String,
}

impl<'g> PatternPrinter<'g> {
    fn call(&mut self, node: Node<'g>) {
        let args = match node.callee {
            // `x.__eq__(y)`: patterns are matched as `x == y`.
            Callee::Method(name) if name.starts_with("__") => {
                self.operator(&format!("operator.{}", name.trim_matches('_')), node.args);
                return;
            }
            Callee::Method(name) => {
                if let Some(&receiver) = node.args.first() {
                    self.arg(receiver);
                }
                let name = if self.repeats == Repeats::Views && name == "reshape" { "view" } else { name };
                let _ = write!(self.text, ".{name}(");
                node.args.get(1..).unwrap_or_default()
            }
            Callee::Function(target) => {
                if self.operator(target, node.args) {
                    return;
                }
                let _ = write!(self.text, "{target}(");
                node.args
            }
        };
        let mut separator = "";
        for &arg in args {
            self.text.push_str(separator);
            self.arg(arg);
            separator = ", ";
        }
        for &(key, arg) in node.kwargs {
            let _ = write!(self.text, "{separator}{}=", self.graph.str(key));
            self.arg(arg);
            separator = ", ";
        }
        self.text.push(')');
    }

    /// Prints `x[key] = value`, which has no result. Returns false for other nodes.
    fn assignment(&mut self, node: Node<'g>) -> bool {
        use passnet_graph::operators::{Syntax, by_target};
        let is_assignment = by_target(node.callee.target()).is_some_and(|operator| operator.syntax == Syntax::SetItem);
        let (true, &[x, key, value]) = (is_assignment, node.args) else { return false };
        self.arg(x);
        self.text.push('[');
        self.key(key);
        self.text.push_str("] = ");
        self.arg(value);
        true
    }

    /// Prints Python operators in their own syntax, and in-place operators as calls of `operator`.
    fn operator(&mut self, target: &str, args: &[Arg]) -> bool {
        use passnet_graph::operators::{Syntax, by_target};
        let Some(operator) = by_target(target) else { return false };
        match (&operator.syntax, args) {
            (Syntax::Binary(sign) | Syntax::Compare(sign), &[a, b]) => {
                self.arg(a);
                let _ = write!(self.text, " {sign} ");
                self.arg(b);
            }
            (Syntax::Unary(sign), &[a]) => {
                self.text.push_str(sign);
                self.arg(a);
            }
            (Syntax::GetItem, &[a, key]) => {
                self.arg(a);
                self.text.push('[');
                self.key(key);
                self.text.push(']');
            }
            _ => return false,
        }
        true
    }

    /// Prints a key between brackets, with slices in the syntax of Python: the text may be that of a replacement, in which `slice` is
    /// not allowed.
    fn key(&mut self, key: Arg) {
        let elements = match key {
            Arg::Tuple(range) if !self.graph.elements(range).is_empty() => self.graph.elements(range),
            other => return self.key_part(other),
        };
        for (place, &element) in elements.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.key_part(element);
        }
        if elements.len() == 1 {
            self.text.push(',');
        }
    }

    fn key_part(&mut self, part: Arg) {
        let Arg::Slice(range) = part else { return self.arg(part) };
        let elements = self.graph.elements(range);
        // The second colon is only needed before a step.
        let count = if matches!(elements.last(), Some(Arg::None)) { 2 } else { 3 };
        for (place, &element) in elements.iter().take(count).enumerate() {
            if place > 0 {
                self.text.push(':');
            }
            if !matches!(element, Arg::None) {
                self.arg(element);
            }
        }
    }

    fn arg(&mut self, arg: Arg) {
        match arg {
            Arg::Value(value) => {
                let name = self.names.get(&value).cloned().unwrap_or_default();
                self.text.push_str(&name);
            }
            Arg::Float(value) if !value.is_finite() => {
                let _ = write!(self.text, "float('{}')", FloatRepr(value));
            }
            Arg::Int(_) | Arg::Float(_) => {
                let repr = constant(arg).unwrap_or_default();
                self.number += 1;
                if self.open.contains(&(self.number - 1)) {
                    self.lines.pieces.push(std::mem::take(&mut self.text));
                    self.lines.constants.push(repr);
                } else {
                    self.text.push_str(&repr);
                }
            }
            Arg::None => self.text.push_str("None"),
            Arg::Bool(value) => self.text.push_str(if value { "True" } else { "False" }),
            Arg::Str(id) => {
                let _ = write!(self.text, "{}", StrRepr(self.graph.str(id)));
            }
            Arg::Ellipsis => self.text.push_str("..."),
            Arg::DType(dtype) => {
                let _ = write!(self.text, "torch.{dtype}");
            }
            Arg::Device(device) => {
                let _ = write!(self.text, "torch.device({}", StrRepr(self.graph.str(device.kind)));
                if let Some(index) = device.index {
                    let _ = write!(self.text, ", {index}");
                }
                self.text.push(')');
            }
            Arg::Attr(id) => self.text.push_str(self.graph.str(id)),
            Arg::List(range) => self.sequence(self.graph.elements(range), ("[", "]")),
            Arg::Tuple(range) => {
                let elements = self.graph.elements(range);
                self.sequence(elements, ("(", if elements.len() == 1 { ",)" } else { ")" }));
            }
            Arg::Slice(range) => self.sequence(self.graph.elements(range), ("slice(", ")")),
        }
    }

    fn sequence(&mut self, elements: &[Arg], (open, close): (&str, &str)) {
        self.text.push_str(open);
        for (place, &element) in elements.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.arg(element);
        }
        self.text.push_str(close);
    }
}
