//! The pattern of a pass as text: the operations of the graph, and the parameters that stand for constants.

use std::{collections::BTreeMap, fmt::Write};

use passnet_graph::{Arg, Builder, Callee, Graph, Node, TypedGraph, ValueId, literal::FloatRepr, literal::StrRepr};

use super::region::Region;

/// A printed pattern. Graphs whose patterns have equal pieces share a pass; constants between the pieces that are not the
/// same in all of them become parameters.
#[derive(Clone, Debug)]
pub(crate) struct PatternText {
    /// Lines of the body with a gap for each constant.
    pub(crate) pieces: Vec<String>,
    /// `repr` of the constants in the gaps.
    pub(crate) constants: Vec<String>,
}

/// A pattern shared by several graphs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedPattern {
    pub(crate) body: String,
    /// Parameters that stand for constants, with their `repr` in each graph.
    pub(crate) parameters: Vec<(String, Vec<String>)>,
    /// For each gap that a parameter fills, its number.
    pub(crate) filled: BTreeMap<usize, usize>,
}

/// Prints the nodes of a region.
pub(crate) fn write_pattern(typed: &TypedGraph, region: &Region) -> PatternText {
    let graph = typed.graph();
    let mut names: BTreeMap<ValueId, String> = BTreeMap::new();
    for (number, input) in region.inputs.iter().enumerate() {
        names.insert(input.value, format!("in{number}"));
    }
    let mut printer = PatternPrinter { graph, names, pieces: Vec::new(), constants: Vec::new(), text: String::new() };
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
    let PatternPrinter { mut pieces, constants, text, .. } = printer;
    pieces.push(text);
    PatternText { pieces, constants }
}

/// Joins patterns that have equal pieces.
pub(crate) fn share(patterns: &[&PatternText]) -> SharedPattern {
    let mut body = String::new();
    let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
    let mut filled = BTreeMap::new();
    for (place, piece) in patterns[0].pieces.iter().enumerate() {
        body.push_str(piece);
        let column: Vec<String> = patterns.iter().filter_map(|pattern| pattern.constants.get(place).cloned()).collect();
        let Some(first) = column.first() else { continue };
        // A literal constant makes a pattern more specific, which keeps it from matching where the kernels have no
        // plan.
        if column.iter().all(|constant| constant == first) {
            body.push_str(first);
            continue;
        }
        // Constants that are equal in every graph share a parameter: an extent often occurs in several calls.
        let number = parameters.iter().position(|(_, known)| *known == column).unwrap_or_else(|| {
            parameters.push((format!("c{}", parameters.len()), column));
            parameters.len() - 1
        });
        body.push_str(&parameters[number].0);
        filled.insert(place, number);
    }
    SharedPattern { body, parameters, filled }
}

/// Returns the pattern as a graph, whose inputs are the region's and then the parameters for constants; `None` if it is not a graph.
pub(crate) fn graph_of(typed: &TypedGraph, region: &Region, shared: &SharedPattern) -> Option<Graph> {
    let graph = typed.graph();
    let mut builder = Graph::builder();
    let mut values: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for (number, input) in region.inputs.iter().enumerate() {
        values.insert(input.value, builder.input(&format!("in{number}")));
    }
    let parameters = shared.parameters.iter().map(|(name, _)| builder.input(name)).collect();
    let mut holes = Holes { graph, builder, values, parameters, filled: &shared.filled, gap: 0 };
    for (number, &node) in region.nodes.iter().enumerate() {
        let node = graph.node(node);
        let opens = opens(node.callee);
        let args: Vec<Arg> = node.args.iter().map(|&arg| holes.arg(arg, opens)).collect::<Option<_>>()?;
        let keys = node.kwargs.iter().map(|&(key, arg)| Some((graph.str(key), holes.arg(arg, opens)?)));
        let kwargs: Vec<(&str, Arg)> = keys.collect::<Option<_>>()?;
        let value = holes.builder.call(&format!("t{number}"), node.callee, &args, &kwargs);
        holes.values.insert(node.value, value);
    }
    let outputs = region.outputs.iter().map(|output| holes.values.get(&output.value).map(|&value| value.into()));
    let outputs: Vec<Arg> = outputs.collect::<Option<_>>()?;
    holes.builder.finish(&outputs).ok()
}

/// Copies arguments and replaces the constants in gaps. Gaps are counted in the order in which [`PatternPrinter`] meets them.
struct Holes<'g> {
    graph: &'g Graph,
    builder: Builder,
    values: BTreeMap<ValueId, ValueId>,
    parameters: Vec<ValueId>,
    filled: &'g BTreeMap<usize, usize>,
    gap: usize,
}

impl Holes<'_> {
    fn arg(&mut self, arg: Arg, opens: bool) -> Option<Arg> {
        let (range, wrap): (_, fn(&mut Builder, &[Arg]) -> Arg) = match arg {
            Arg::List(range) => (range, Builder::list),
            Arg::Tuple(range) => (range, Builder::tuple),
            Arg::Slice(range) => (range, |builder, parts| builder.slice(parts[0], parts[1], parts[2])),
            _ if opens && constant(arg).is_some() => {
                self.gap += 1;
                let parameter = self.filled.get(&(self.gap - 1)).map(|&number| self.parameters[number]);
                return Some(parameter.map_or(arg, Arg::Value));
            }
            _ => {
                let mut is_known = true;
                let mut known = |value: ValueId| {
                    is_known &= self.values.contains_key(&value);
                    self.values.get(&value).copied().unwrap_or(value)
                };
                let copy = self.builder.copy_arg(self.graph, arg, &mut known);
                return is_known.then_some(copy);
            }
        };
        let elements = self.graph.elements(range).iter().map(|&element| self.arg(element, opens));
        let elements: Vec<Arg> = elements.collect::<Option<_>>()?;
        Some(wrap(&mut self.builder, &elements))
    }
}

/// Returns the `repr` of a constant that may differ between the sites of a pattern.
pub(crate) fn constant(arg: Arg) -> Option<String> {
    match arg {
        Arg::Int(value) => Some(value.to_string()),
        Arg::Float(value) if value.is_finite() => Some(FloatRepr(value).to_string()),
        _ => None,
    }
}

/// Returns whether a parameter of a pattern may stand for a constant among a call's arguments: functions in C++ read
/// the elements of a list themselves.
fn opens(callee: Callee<'_>) -> bool {
    match callee {
        Callee::Method(_) => true,
        Callee::Function(target) => target.starts_with("torch.nn.functional.") || target.starts_with("operator."),
    }
}

struct PatternPrinter<'g> {
    graph: &'g Graph,
    names: BTreeMap<ValueId, String>,
    pieces: Vec<String>,
    constants: Vec<String>,
    /// The piece that is being printed.
    text: String,
}

impl<'g> PatternPrinter<'g> {
    fn call(&mut self, node: Node<'g>) {
        let opens = opens(node.callee);
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

    /// Prints `x[key] = value`, which has no result. Returns false for other nodes.
    fn assignment(&mut self, node: Node<'g>) -> bool {
        use passnet_graph::operators::{Syntax, by_target};
        let is_assignment = by_target(node.callee.target()).is_some_and(|operator| operator.syntax == Syntax::SetItem);
        let (true, &[x, key, value]) = (is_assignment, node.args) else { return false };
        self.arg(x, true);
        self.text.push('[');
        self.key(key);
        self.text.push_str("] = ");
        self.arg(value, true);
        true
    }

    /// Prints Python operators in their own syntax, and in-place operators as calls of `operator`.
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
        let Arg::Slice(range) = part else { return self.arg(part, true) };
        let elements = self.graph.elements(range);
        // The second colon is only needed before a step.
        let count = if matches!(elements.last(), Some(Arg::None)) { 2 } else { 3 };
        for (place, &element) in elements.iter().take(count).enumerate() {
            if place > 0 {
                self.text.push(':');
            }
            if !matches!(element, Arg::None) {
                self.arg(element, true);
            }
        }
    }

    fn arg(&mut self, arg: Arg, opens: bool) {
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
                if opens {
                    self.pieces.push(std::mem::take(&mut self.text));
                    self.constants.push(repr);
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
