//! The three functions of a pass: the pattern as the graph has it, and what goes to the kernel.

use std::{collections::BTreeMap, fmt::Write};

use passnet_graph::{Arg, Callee, Graph, Node, ValueId, literal::FloatRepr, literal::StrRepr};

use crate::{region::Region, typed::TypedGraph};

/// A printed pattern. Graphs whose patterns have equal pieces share a pass; constants between the pieces that are not the
/// same in all of them become parameters.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// Lines of the body with a gap for each constant.
    pub(crate) pieces: Vec<String>,
    /// `repr` of the constants in the gaps.
    pub(crate) constants: Vec<String>,
}

/// A pattern shared by several graphs.
#[derive(Clone, Debug)]
pub(crate) struct SharedPattern {
    pub(crate) body: String,
    /// Parameters that stand for constants, with their `repr` in each graph.
    pub(crate) parameters: Vec<(String, Vec<String>)>,
}

/// Prints the nodes of a region.
pub(crate) fn pattern(typed: &TypedGraph, region: &Region) -> Pattern {
    let graph = typed.graph();
    let mut names: BTreeMap<ValueId, String> = BTreeMap::new();
    for (number, input) in region.inputs.iter().enumerate() {
        names.insert(input.value, format!("in{number}"));
    }
    let mut printer = Printer { graph, names, pieces: Vec::new(), constants: Vec::new(), text: String::new() };
    for (number, &node) in region.nodes.iter().enumerate() {
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
    let Printer { mut pieces, constants, text, .. } = printer;
    pieces.push(text);
    Pattern { pieces, constants }
}

/// Joins patterns of equal pieces.
pub(crate) fn share(patterns: &[&Pattern]) -> SharedPattern {
    let mut body = String::new();
    let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
    for (place, piece) in patterns[0].pieces.iter().enumerate() {
        body.push_str(piece);
        let column: Vec<String> = patterns.iter().filter_map(|pattern| pattern.constants.get(place).cloned()).collect();
        let Some(first) = column.first() else { continue };
        if column.iter().all(|constant| constant == first) {
            body.push_str(first);
            continue;
        }
        let known = parameters.iter().find(|(_, known)| *known == column).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = format!("c{}", parameters.len());
            parameters.push((name.clone(), column));
            name
        });
        body.push_str(&name);
    }
    SharedPattern { body, parameters }
}

struct Printer<'g> {
    graph: &'g Graph,
    names: BTreeMap<ValueId, String>,
    pieces: Vec<String>,
    constants: Vec<String>,
    /// The piece at work.
    text: String,
}

impl<'g> Printer<'g> {
    fn call(&mut self, node: Node<'g>) {
        // Functions in C++ read the elements of a list themselves and take no parameter of the pattern there.
        let opens = match node.callee {
            Callee::Method(_) => true,
            Callee::Function(target) => target.starts_with("torch.nn.functional.") || target.starts_with("operator."),
        };
        let args = match node.callee {
            // `x.__eq__(y)`: patterns are matched as `x == y`.
            Callee::Method(name) if name.starts_with("__") => {
                self.operator(&format!("operator.{}", name.trim_matches('_')), node.args);
                return;
            }
            Callee::Method(name) => {
                if let Some(&receiver) = node.args.first() {
                    self.arg(receiver, false);
                }
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
            self.arg(arg, opens);
            separator = ", ";
        }
        for &(key, arg) in node.kwargs {
            let _ = write!(self.text, "{separator}{}=", self.graph.str(key));
            self.arg(arg, opens);
            separator = ", ";
        }
        self.text.push(')');
    }

    /// `x[key] = value`, which has no result.
    fn assignment(&mut self, node: Node<'g>) -> bool {
        use passnet_graph::operators::{Syntax, by_target};
        let is_assignment = by_target(node.callee.target()).is_some_and(|operator| operator.syntax == Syntax::SetItem);
        let (true, &[x, key, value]) = (is_assignment, node.args) else { return false };
        self.arg(x, true);
        self.text.push('[');
        self.arg(key, true);
        self.text.push_str("] = ");
        self.arg(value, true);
        true
    }

    /// Python operators in their own syntax, those in place as calls of `operator`.
    fn operator(&mut self, target: &str, args: &[Arg]) -> bool {
        use passnet_graph::operators::{Syntax, by_target};
        let Some(operator) = by_target(target) else { return false };
        match (&operator.syntax, args) {
            (Syntax::Binary(sign) | Syntax::Compare(sign), &[a, b]) => {
                self.arg(a, true);
                let _ = write!(self.text, " {sign} ");
                self.arg(b, true);
            }
            (Syntax::Unary(sign), &[a]) => {
                self.text.push_str(sign);
                self.arg(a, true);
            }
            (Syntax::GetItem, &[a, key]) => {
                self.arg(a, true);
                self.text.push('[');
                self.arg(key, true);
                self.text.push(']');
            }
            _ => return false,
        }
        true
    }

    fn constant(&mut self, repr: String, opens: bool) {
        if opens {
            self.pieces.push(std::mem::take(&mut self.text));
            self.constants.push(repr);
        } else {
            self.text.push_str(&repr);
        }
    }

    fn arg(&mut self, arg: Arg, opens: bool) {
        match arg {
            Arg::Value(value) => {
                let name = self.names.get(&value).cloned().unwrap_or_default();
                self.text.push_str(&name);
            }
            Arg::Int(value) => self.constant(value.to_string(), opens),
            Arg::Float(value) if value.is_finite() => self.constant(FloatRepr(value).to_string(), opens),
            Arg::Float(value) => {
                let _ = write!(self.text, "float('{}')", FloatRepr(value));
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
            Arg::List(range) => self.sequence(self.graph.elements(range), ("[", "]"), opens),
            Arg::Tuple(range) => {
                let elements = self.graph.elements(range);
                self.sequence(elements, ("(", if elements.len() == 1 { ",)" } else { ")" }), opens);
            }
            Arg::Slice(range) => self.sequence(self.graph.elements(range), ("slice(", ")"), opens),
        }
    }

    fn sequence(&mut self, elements: &[Arg], (open, close): (&str, &str), opens: bool) {
        self.text.push_str(open);
        for (place, &element) in elements.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.arg(element, opens);
        }
        self.text.push_str(close);
    }
}
