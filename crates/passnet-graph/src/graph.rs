use crate::{Arg, ArgRange, NodeId, OpId, StrId, ValueId};

/// The function or method that a node calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Callee<'g> {
    /// A function by its dotted path: `torch.conv2d`, `operator.add`, `builtins.getattr`.
    Function(&'g str),
    /// A method of the first argument: `view`.
    Method(&'g str),
}

impl<'g> Callee<'g> {
    /// Returns the dotted path or the method name.
    pub const fn target(self) -> &'g str {
        match self {
            Self::Function(target) | Self::Method(target) => target,
        }
    }
}

/// Strings of a graph, end to end in one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strings {
    text: String,
    ends: Vec<u32>,
}

impl Strings {
    /// Adds a string, even if an equal string is already in the buffer. Returns `None` if the buffer is full.
    pub(crate) fn push(&mut self, string: &str) -> Option<StrId> {
        let id = StrId(u32::try_from(self.ends.len()).ok()?);
        let end = u32::try_from(self.text.len() + string.len()).ok()?;
        self.text.push_str(string);
        self.ends.push(end);
        Some(id)
    }

    pub(crate) fn get(&self, id: StrId) -> &str {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[id.index()] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OpData {
    pub(crate) is_method: bool,
    pub(crate) target: StrId,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeData {
    pub(crate) name: StrId,
    pub(crate) op: OpId,
    pub(crate) args: ArgRange,
    /// Range of the keyword arguments in the keyword pool.
    pub(crate) kwargs: ArgRange,
    /// End of the node's frees in the pool of frees. They begin where the frees of the previous node end.
    pub(crate) frees_end: u32,
}

/// A verified graph. [`crate::verify`] lists the laws that hold for every graph.
///
/// Two graphs are equal when they have the same inputs, nodes, names, arguments, outputs and frees; floats are compared
/// by their bits.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(crate) strings: Strings,
    pub(crate) ops: Vec<OpData>,
    pub(crate) inputs: Vec<StrId>,
    pub(crate) nodes: Vec<NodeData>,
    pub(crate) args: Vec<Arg>,
    pub(crate) kwargs: Vec<(StrId, Arg)>,
    pub(crate) frees: Vec<ValueId>,
    pub(crate) outputs: ArgRange,
}

/// One node, with references into the pools resolved.
#[derive(Clone, Copy, Debug)]
pub struct Node<'g> {
    /// Position in program order.
    pub id: NodeId,
    /// The value that the node defines.
    pub value: ValueId,
    /// Name of the value that the node defines.
    pub name: &'g str,
    /// Number of the callee. Two nodes of a graph have the same callee if and only if their `op` is equal.
    pub op: OpId,
    /// The function or method that the node calls.
    pub callee: Callee<'g>,
    /// Positional arguments. The first argument of a method is its receiver.
    pub args: &'g [Arg],
    /// Keyword arguments in source order; [`Graph::str`] gives the names.
    pub kwargs: &'g [(StrId, Arg)],
    /// Values whose last reference is dropped right after this node.
    pub frees: &'g [ValueId],
    graph: &'g Graph,
}

impl<'g> Node<'g> {
    /// Returns the positional arguments, then the values of the keyword arguments.
    pub fn all_args(&self) -> impl Iterator<Item = Arg> + Clone + use<'g> {
        self.args.iter().copied().chain(self.kwargs.iter().map(|&(_, arg)| arg))
    }

    /// Returns the values in all arguments, from left to right, including values in lists and tuples. A value that is used twice is
    /// returned twice.
    pub fn operands(&self) -> impl Iterator<Item = ValueId> + use<'g> {
        self.graph.values_in(self.all_args())
    }
}

impl Graph {
    /// Returns the number of inputs.
    pub fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of values: inputs and nodes.
    pub fn num_values(&self) -> usize {
        self.inputs.len() + self.nodes.len()
    }

    /// Returns the inputs in order: values `0..num_inputs`.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (0..self.inputs.len() as u32).map(ValueId)
    }

    /// Returns the names of the inputs in order.
    pub fn input_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.inputs.iter().map(|&name| self.strings.get(name))
    }

    /// Returns the nodes in program order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> + DoubleEndedIterator {
        (0..self.nodes.len() as u32).map(|index| self.node(NodeId(index)))
    }

    /// Returns one node.
    ///
    /// # Panics
    /// If `id` is not of this graph.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        let data = self.nodes[id.index()];
        let frees_start = id.index().checked_sub(1).map_or(0, |before| self.nodes[before].frees_end);
        Node {
            id,
            value: self.value_of(id),
            name: self.strings.get(data.name),
            op: data.op,
            callee: self.callee(data.op),
            args: &self.args[data.args.indices()],
            kwargs: &self.kwargs[data.kwargs.indices()],
            frees: &self.frees[frees_start as usize..data.frees_end as usize],
            graph: self,
        }
    }

    /// Returns the number of distinct callees. All [`OpId`]s of the graph are below this number.
    pub fn num_ops(&self) -> usize {
        self.ops.len()
    }

    /// Returns the callee of an op.
    ///
    /// # Panics
    /// If `id` is not of this graph.
    pub fn callee(&self, id: OpId) -> Callee<'_> {
        let op = self.ops[id.index()];
        let target = self.strings.get(op.target);
        if op.is_method { Callee::Method(target) } else { Callee::Function(target) }
    }

    /// Returns the value that a node defines.
    pub fn value_of(&self, node: NodeId) -> ValueId {
        ValueId(self.inputs.len() as u32 + node.0)
    }

    /// Returns the node that defines a value; `None` for an input.
    pub fn node_of(&self, value: ValueId) -> Option<NodeId> {
        value.0.checked_sub(self.inputs.len() as u32).map(NodeId)
    }

    /// Returns the name of a value.
    ///
    /// # Panics
    /// If `value` is not of this graph.
    pub fn name(&self, value: ValueId) -> &str {
        let id = match self.node_of(value) {
            Some(node) => self.nodes[node.index()].name,
            None => self.inputs[value.index()],
        };
        self.strings.get(id)
    }

    /// Returns a string of the graph.
    ///
    /// # Panics
    /// If `id` is not of this graph.
    pub fn str(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// Returns the elements of a list, tuple or slice.
    ///
    /// # Panics
    /// If `range` is not of this graph.
    pub fn elements(&self, range: ArgRange) -> &[Arg] {
        &self.args[range.indices()]
    }

    /// Returns the elements of the returned tuple.
    pub fn outputs(&self) -> &[Arg] {
        self.elements(self.outputs)
    }

    /// Returns the values in the returned tuple, from left to right, including values in lists and tuples.
    pub fn output_values(&self) -> impl Iterator<Item = ValueId> {
        self.values_in(self.outputs().iter().copied())
    }

    /// Returns the values in arguments of this graph, from left to right, including values in lists and tuples.
    pub fn values_in<'g, I: Iterator<Item = Arg>>(&'g self, args: I) -> impl Iterator<Item = ValueId> + use<'g, I> {
        Values { graph: self, args, nested: Vec::new() }
    }

    /// Returns whether any node frees a value, i.e. whether the source of the graph says when values end.
    pub fn has_frees(&self) -> bool {
        !self.frees.is_empty()
    }

    /// Calls `visit` with every value in `arg`, from left to right, including values in lists and tuples.
    pub fn for_each_value(&self, arg: Arg, visit: &mut impl FnMut(ValueId)) {
        match arg {
            Arg::Value(value) => visit(value),
            Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
                for &element in self.elements(range) {
                    self.for_each_value(element, visit);
                }
            }
            _ => {}
        }
    }

    /// Returns whether `arg` of this graph and `theirs` of `other` are the same constant or structure, with values compared by
    /// `same_value(ours, theirs)`.
    pub fn args_match(
        &self,
        arg: Arg,
        other: &Self,
        theirs: Arg,
        same_value: &mut impl FnMut(ValueId, ValueId) -> bool,
    ) -> bool {
        match (arg, theirs) {
            (Arg::Value(a), Arg::Value(b)) => same_value(a, b),
            (Arg::None, Arg::None) | (Arg::Ellipsis, Arg::Ellipsis) => true,
            (Arg::Bool(a), Arg::Bool(b)) => a == b,
            (Arg::Int(a), Arg::Int(b)) => a == b,
            // Floats are compared by their bits, so that a graph with a NaN is equal to itself, and 0.0 differs from -0.0.
            (Arg::Float(a), Arg::Float(b)) => a.to_bits() == b.to_bits(),
            (Arg::Str(a), Arg::Str(b)) | (Arg::Attr(a), Arg::Attr(b)) => self.str(a) == other.str(b),
            (Arg::DType(a), Arg::DType(b)) => a == b,
            (Arg::Device(a), Arg::Device(b)) => a.index == b.index && self.str(a.kind) == other.str(b.kind),
            (Arg::List(a), Arg::List(b)) | (Arg::Tuple(a), Arg::Tuple(b)) | (Arg::Slice(a), Arg::Slice(b)) => {
                let (ours, theirs) = (self.elements(a), other.elements(b));
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|(&a, &b)| self.args_match(a, other, b, same_value))
            }
            _ => false,
        }
    }

    fn all_match(&self, args: &[Arg], other: &Self, theirs: &[Arg]) -> bool {
        args.len() == theirs.len()
            && args.iter().zip(theirs).all(|(&a, &b)| self.args_match(a, other, b, &mut |a, b| a == b))
    }
}

/// Iterator over the values in nested arguments, without recursion.
struct Values<'g, I> {
    graph: &'g Graph,
    args: I,
    /// Rest of each list that the walk is inside, outermost first.
    nested: Vec<std::slice::Iter<'g, Arg>>,
}

impl<I: Iterator<Item = Arg>> Iterator for Values<'_, I> {
    type Item = ValueId;

    fn next(&mut self) -> Option<ValueId> {
        loop {
            let arg = match self.nested.last_mut() {
                Some(elements) => elements.next().copied(),
                None => Some(self.args.next()?),
            };
            match arg {
                None => {
                    self.nested.pop();
                }
                Some(Arg::Value(value)) => return Some(value),
                Some(Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range)) => {
                    self.nested.push(self.graph.elements(range).iter());
                }
                Some(_) => {}
            }
        }
    }
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.num_nodes() == other.num_nodes()
            && self.input_names().eq(other.input_names())
            && self.all_match(self.outputs(), other, other.outputs())
            && self.nodes().zip(other.nodes()).all(|(a, b)| {
                a.name == b.name
                    && a.callee == b.callee
                    && a.frees == b.frees
                    && self.all_match(a.args, other, b.args)
                    && a.kwargs.len() == b.kwargs.len()
                    && a.kwargs.iter().zip(b.kwargs).all(|(&(key, arg), &(their_key, theirs))| {
                        self.str(key) == other.str(their_key) && self.all_match(&[arg], other, &[theirs])
                    })
            })
    }
}
