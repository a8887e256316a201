//! The laws of a graph.
//!
//! 1. Inputs come first. Values are numbered in order of definition: inputs, then nodes.
//! 2. An argument refers only to values defined before it. Outputs may refer to every value.
//! 3. Strings are in the string pool. The elements of a list, tuple or slice are in the argument pool before the argument that refers
//!    to them, so that arguments are finite. Lists, tuples and slices nest at most [`MAX_ARG_DEPTH`] deep, so that functions over
//!    arguments may recurse.
//! 4. A slice has three elements.
//! 5. Names of values are distinct ASCII identifiers. They are not Python keywords, and not words with a special meaning in the text
//!    of a graph (`torch`, `slice`, `inf` ...).
//! 6. A function is a dotted path below `torch.` (but not `torch.device`, which makes a constant), `operator.NAME` with a NAME of
//!    [`crate::operators`], or `builtins.getattr`. A method is an identifier.
//! 7. A method has a receiver, which is a value. A function of `operator` has as many arguments as the operator. `getattr` has two
//!    arguments: a value and the name of an attribute. Neither has keyword arguments.
//! 8. Keyword names are identifiers and distinct within a call.
//! 9. A dotted constant is below `torch.` and is not a dtype, which has a separate form. A device kind is an identifier.
//! 10. No argument and no output uses the value of `operator.setitem`, which is always `None`.
//! 11. A free names a value that is defined at or before its node and whose last use is at or before its node. No value is freed
//!     twice, or returned after it was freed.
//!
//! The time of a check is linear in the size of the graph's text.

use rustc_hash::FxHashSet;

use crate::{
    Arg, Callee, DeviceConstant, Graph, Node, NodeId, OpId, ValueId,
    names::{is_identifier, is_torch_path, is_value_name},
    operators,
};

/// Greatest depth of nested lists, tuples and slices. Functions over arguments recurse, and a graph from an untrusted source must not
/// overflow their stack.
pub const MAX_ARG_DEPTH: u32 = 32;

/// A law of the graph that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum VerifyError {
    #[error("the graph has more values, arguments or text than 32 bits can number")]
    TooLarge,
    #[error("input `{name}` comes after a node; add all inputs first")]
    InputAfterNode { name: String },
    #[error("`{name}` cannot name a value; use an identifier that is not a keyword of Python or of graph text")]
    BadName { name: String },
    #[error("two values are called `{name}`; rename one")]
    DuplicateName { name: String },
    #[error("{place}: value {value} is used before it is defined")]
    UndefinedValue { place: Location, value: u32 },
    #[error("{place}: an argument was made by another builder: its elements or its text are not in the pools")]
    ForeignArg { place: Location },
    #[error("{place}: lists and tuples nest deeper than {MAX_ARG_DEPTH}")]
    TooDeep { place: Location },
    #[error("{place}: a slice needs 3 elements, not {found}")]
    BadSlice { place: Location, found: u32 },
    #[error(
        "node `{node}`: `{target}` is no function of a graph; expected a path below `torch.`, a known `operator.NAME` \
         or `builtins.getattr`"
    )]
    BadFunction { node: String, target: String },
    #[error("node `{node}`: `{target}` is not a method name")]
    BadMethod { node: String, target: String },
    #[error("node `{node}`: method `{method}` needs a value as its receiver")]
    NoReceiver { node: String, method: String },
    #[error("node `{node}`: `{target}` takes {expected} positional arguments and no keywords")]
    BadArity { node: String, target: String, expected: usize },
    #[error("a value is freed after node {node}, which does not exist")]
    FreeAfterNothing { node: u32 },
    #[error("node `{node}`: getattr needs a value and the name of an attribute")]
    BadAttribute { node: String },
    #[error("node `{node}`: `{keyword}` cannot be a keyword argument, or is there twice")]
    BadKeyword { node: String, keyword: String },
    #[error("{place}: `{path}` is not a dotted constant below `torch.`; a dtype must be given as a dtype")]
    BadConstant { place: Location, path: String },
    #[error("{place}: `{kind}` is not a kind of device")]
    BadDevice { place: Location, kind: String },
    #[error("{place}: the value of setitem `{name}` is used; use the tensor that it changed")]
    SetItemUsed { place: Location, name: String },
    #[error("node `{node}`: `{value}` is freed here, but is used later, freed before, or not defined yet")]
    BadFree { node: String, value: String },
}

/// A place in a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Location {
    /// An argument of the node with that name.
    #[error("node `{0}`")]
    Node(String),
    /// The returned tuple.
    #[error("the outputs")]
    Outputs,
}

/// Checks every law.
pub(crate) fn verify(graph: &Graph) -> Result<(), VerifyError> {
    // Names come first: messages about other laws use them.
    check_names(graph)?;
    let mut verifier = Verifier { graph, last_use: vec![None; graph.num_values()], is_setitem: setitems(graph) };
    for node in graph.nodes() {
        check_call(graph, &node)?;
        for arg in node.all_args() {
            verifier.check_arg(arg, Some(&node), graph.nodes[node.id.index()].args.start, 0)?;
        }
    }
    for &output in graph.outputs() {
        verifier.check_arg(output, None, graph.outputs.start, 0)?;
    }
    verifier.check_frees()
}

fn setitems(graph: &Graph) -> Vec<bool> {
    (0..graph.num_ops() as u32).map(|op| graph.callee(OpId(op)) == Callee::Function("operator.setitem")).collect()
}

fn check_names(graph: &Graph) -> Result<(), VerifyError> {
    let mut seen = FxHashSet::with_capacity_and_hasher(graph.num_values(), Default::default());
    for value in 0..graph.num_values() as u32 {
        let name = graph.name(ValueId(value));
        if !is_value_name(name) {
            return Err(VerifyError::BadName { name: name.to_owned() });
        }
        if !seen.insert(name) {
            return Err(VerifyError::DuplicateName { name: name.to_owned() });
        }
    }
    Ok(())
}

fn check_call(graph: &Graph, node: &Node<'_>) -> Result<(), VerifyError> {
    let name = || node.name.to_owned();
    match node.callee {
        Callee::Method(method) => {
            if !is_identifier(method) {
                return Err(VerifyError::BadMethod { node: name(), target: method.to_owned() });
            }
            if node.args.first().and_then(|arg| arg.as_value()).is_none() {
                return Err(VerifyError::NoReceiver { node: name(), method: method.to_owned() });
            }
        }
        Callee::Function(target) => {
            let arity = match operators::by_target(target) {
                Some(operator) => Some(operator.arity()),
                None if target == operators::GETATTR => Some(2),
                None if is_torch_path(target) && target != "torch.device" => None,
                None => return Err(VerifyError::BadFunction { node: name(), target: target.to_owned() }),
            };
            if let Some(expected) = arity
                && (node.args.len() != expected || !node.kwargs.is_empty())
            {
                return Err(VerifyError::BadArity { node: name(), target: target.to_owned(), expected });
            }
            if target == operators::GETATTR && !is_attribute_read(graph, node) {
                return Err(VerifyError::BadAttribute { node: name() });
            }
        }
    }
    for (index, &(key, _)) in node.kwargs.iter().enumerate() {
        let keyword = graph.str(key);
        if !is_identifier(keyword) || node.kwargs[..index].iter().any(|&(other, _)| graph.str(other) == keyword) {
            return Err(VerifyError::BadKeyword { node: name(), keyword: keyword.to_owned() });
        }
    }
    Ok(())
}

fn is_attribute_read(graph: &Graph, node: &Node<'_>) -> bool {
    let [Arg::Value(_), Arg::Str(attribute)] = node.args else { return false };
    attribute.index() < graph.strings.len() && is_identifier(graph.str(*attribute))
}

struct Verifier<'g> {
    graph: &'g Graph,
    /// Node of the last use of each value so far. The outputs count as a node after all others.
    last_use: Vec<Option<u32>>,
    /// One flag for each op: true for `operator.setitem`.
    is_setitem: Vec<bool>,
}

impl Verifier<'_> {
    /// Checks an argument. Its elements must be before the position `limit` in the argument pool.
    fn check_arg(&mut self, arg: Arg, node: Option<&Node<'_>>, limit: u32, depth: u32) -> Result<(), VerifyError> {
        let graph = self.graph;
        let place = || node.map_or(Location::Outputs, |node| Location::Node(node.name.to_owned()));
        if let Arg::Str(id) | Arg::Attr(id) | Arg::Device(DeviceConstant { kind: id, .. }) = arg
            && id.index() >= graph.strings.len()
        {
            return Err(VerifyError::ForeignArg { place: place() });
        }
        match arg {
            Arg::Value(value) => {
                let defined = node.map_or(graph.num_values() as u32, |node| node.value.0);
                if value.0 >= defined {
                    return Err(VerifyError::UndefinedValue { place: place(), value: value.0 });
                }
                if let Some(definition) = graph.node_of(value)
                    && self.is_setitem[graph.nodes[definition.index()].op.index()]
                {
                    return Err(VerifyError::SetItemUsed { place: place(), name: graph.name(value).to_owned() });
                }
                self.last_use[value.index()] = Some(node.map_or(graph.num_nodes() as u32, |node| node.id.0));
            }
            Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
                if range.start.checked_add(range.len).is_none_or(|end| end > limit) {
                    return Err(VerifyError::ForeignArg { place: place() });
                }
                if depth == MAX_ARG_DEPTH {
                    return Err(VerifyError::TooDeep { place: place() });
                }
                if matches!(arg, Arg::Slice(_)) && range.len != 3 {
                    return Err(VerifyError::BadSlice { place: place(), found: range.len });
                }
                for &element in graph.elements(range) {
                    // Elements have to be before the argument that refers to them. So no argument can contain itself, and this recursion
                    // ends.
                    self.check_arg(element, node, range.start, depth + 1)?;
                }
            }
            Arg::Attr(id) => {
                let path = graph.str(id);
                if !is_torch_path(path) || path.parse::<passnet_record::DType>().is_ok() {
                    return Err(VerifyError::BadConstant { place: place(), path: path.to_owned() });
                }
            }
            Arg::Device(device) => {
                let kind = graph.str(device.kind);
                if !is_identifier(kind) {
                    return Err(VerifyError::BadDevice { place: place(), kind: kind.to_owned() });
                }
            }
            Arg::None | Arg::Bool(_) | Arg::Int(_) | Arg::Float(_) | Arg::Str(_) | Arg::Ellipsis | Arg::DType(_) => {}
        }
        Ok(())
    }

    fn check_frees(&self) -> Result<(), VerifyError> {
        let graph = self.graph;
        let mut freed = vec![false; if graph.has_frees() { graph.num_values() } else { 0 }];
        for node in graph.nodes() {
            for &value in node.frees {
                let is_bad = value > node.value
                    || self.last_use[value.index()].is_some_and(|last| NodeId(last) > node.id)
                    || std::mem::replace(&mut freed[value.index()], true);
                if is_bad {
                    let value = if value.index() < graph.num_values() { graph.name(value) } else { "?" };
                    return Err(VerifyError::BadFree { node: node.name.to_owned(), value: value.to_owned() });
                }
            }
        }
        Ok(())
    }
}
