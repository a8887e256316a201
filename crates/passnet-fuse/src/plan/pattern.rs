//! The pattern of a pass as text: the operations of the graph, and the parameters that stand for constants.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Arg, Builder, Callee, Graph, NodeId, TypedGraph, ValueId};

use super::{
    pattern_printer::{Repeats, printed},
    region::Region,
};

/// A printed pattern. Graphs whose patterns have the same canonical form share a pass; numbers that are not the same in all of them
/// become parameters.
#[derive(Clone, Debug)]
pub(crate) struct PatternText {
    /// Lines of the body with a gap for each number that a parameter can stand for.
    pieces: Vec<String>,
    /// For each gap of the body, the text of its number, and its place among `constants`.
    gaps: Vec<(String, usize)>,
    /// Lines of the canonical form with a gap for each of `constants`.
    pub(crate) form: Vec<String>,
    /// `repr` of the numbers in the gaps of the canonical form.
    pub(crate) constants: Vec<String>,
}

/// A pattern shared by several graphs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedPattern {
    pub(crate) body: String,
    /// Parameters that stand for constants, with their `repr` in each graph.
    pub(crate) parameters: Vec<(String, Vec<String>)>,
    /// For each gap of the canonical form that a parameter fills, its number.
    pub(crate) filled: BTreeMap<usize, usize>,
}

/// Prints the nodes of a region.
pub(crate) fn write_pattern(typed: &TypedGraph, region: &Region) -> PatternText {
    let mut gaps = Vec::new();
    let mut numbers = 0;
    let body = printed(typed.graph(), region, Repeats::Never, &mut |node| {
        let open = open_numbers(typed, node);
        let canonical: BTreeSet<usize> = open.values().copied().collect();
        // Numbers of the canonical form are counted in its own order.
        gaps.extend(open.values().map(|place| numbers + canonical.range(..place).count()));
        numbers += canonical.len();
        open.into_keys().collect()
    });
    let form = printed(typed.canonical(), region, Repeats::Never, &mut |node| {
        open_numbers(typed, node).into_values().collect()
    });
    PatternText {
        pieces: body.pieces,
        gaps: body.constants.into_iter().zip(gaps).collect(),
        form: form.pieces,
        constants: form.constants,
    }
}

/// Prints the nodes of a region as the body of a function that repeats them. The region consists of views.
pub(crate) fn write_repeated(typed: &TypedGraph, region: &Region) -> String {
    printed(typed.graph(), region, Repeats::Views, &mut |_| BTreeSet::new()).pieces.concat()
}

/// Returns the numbers of a call for which a parameter may stand, with their places among the numbers of the canonical form.
fn open_numbers(typed: &TypedGraph, node: NodeId) -> BTreeMap<usize, usize> {
    if !opens(typed.graph().node(node).callee) {
        return BTreeMap::new();
    }
    let places = typed.places(node).into_iter().enumerate();
    places.filter_map(|(number, place)| Some((number, place?))).collect()
}

/// Joins patterns that have the same canonical form. The text is that of the first.
pub(crate) fn share(patterns: &[&PatternText]) -> SharedPattern {
    let mut body = String::new();
    let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
    let mut filled = BTreeMap::new();
    for (place, piece) in patterns[0].pieces.iter().enumerate() {
        body.push_str(piece);
        let Some((text, constant)) = patterns[0].gaps.get(place) else { continue };
        let column: Vec<String> =
            patterns.iter().filter_map(|pattern| pattern.constants.get(*constant).cloned()).collect();
        // A literal constant makes a pattern more specific, which keeps it from matching where the kernels have no
        // plan.
        if column.iter().all(|known| *known == column[0]) {
            body.push_str(text);
            continue;
        }
        // Constants that are equal in every graph share a parameter: an extent often occurs in several calls.
        let number = parameters.iter().position(|(_, known)| *known == column).unwrap_or_else(|| {
            parameters.push((format!("c{}", parameters.len()), column));
            parameters.len() - 1
        });
        body.push_str(&parameters[number].0);
        filled.insert(*constant, number);
    }
    SharedPattern { body, parameters, filled }
}

/// Returns the canonical form of a pattern as a graph, whose inputs are the region's and then the parameters for constants; `None` if
/// it is not a graph.
pub(crate) fn graph_of(typed: &TypedGraph, region: &Region, shared: &SharedPattern) -> Option<Graph> {
    let graph = typed.canonical();
    let mut builder = Graph::builder();
    let mut values: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for (number, input) in region.inputs.iter().enumerate() {
        values.insert(input.value, builder.input(&format!("in{number}")));
    }
    let parameters = shared.parameters.iter().map(|(name, _)| builder.input(name)).collect();
    let mut holes =
        Holes { graph, builder, values, parameters, filled: &shared.filled, open: BTreeSet::new(), number: 0, gap: 0 };
    for (number, &node) in region.nodes.iter().enumerate() {
        (holes.open, holes.number) = (open_numbers(typed, node).into_values().collect(), 0);
        let node = graph.node(node);
        let args: Vec<Arg> = node.args.iter().map(|&arg| holes.arg(arg)).collect::<Option<_>>()?;
        let keys = node.kwargs.iter().map(|&(key, arg)| Some((graph.str(key), holes.arg(arg)?)));
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
    /// Numbers of the call that are gaps.
    open: BTreeSet<usize>,
    /// Count of the call's numbers so far.
    number: usize,
    gap: usize,
}

impl Holes<'_> {
    fn arg(&mut self, arg: Arg) -> Option<Arg> {
        let (range, wrap): (_, fn(&mut Builder, &[Arg]) -> Arg) = match arg {
            Arg::List(range) => (range, Builder::list),
            Arg::Tuple(range) => (range, Builder::tuple),
            Arg::Slice(range) => (range, |builder, parts| builder.slice(parts[0], parts[1], parts[2])),
            _ if arg.is_number() => {
                self.number += 1;
                if !self.open.contains(&(self.number - 1)) {
                    return Some(arg);
                }
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
        let elements: Vec<Arg> =
            self.graph.elements(range).iter().map(|&element| self.arg(element)).collect::<Option<_>>()?;
        Some(wrap(&mut self.builder, &elements))
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
