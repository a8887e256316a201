use rustc_hash::FxHashMap;

use crate::{
    Arg, ArgRange, Callee, DeviceConstant, Graph, NodeId, OpId, StrId, ValueId, VerifyError,
    graph::{NodeData, OpData},
    verify::verify,
};

/// Builder of a [`Graph`]: adds one input or one node at a time.
///
/// ```
/// use passnet_graph::{Arg, Graph};
///
/// let mut builder = Graph::builder();
/// let x = builder.input("x");
/// let shape = builder.tuple(&[Arg::Int(-1), Arg::Int(8)]);
/// let y = builder.call_method("y", "view", &[x.into(), shape], &[]);
/// let z = builder.call_function("z", "torch.nn.functional.relu", &[y.into()], &[("inplace", Arg::Bool(true))]);
/// let graph = builder.finish(&[z.into()])?;
/// assert_eq!(graph.num_nodes(), 2);
/// # Ok::<(), passnet_graph::VerifyError>(())
/// ```
#[derive(Default)]
pub struct Builder {
    graph: Graph,
    strings: FxHashMap<Box<str>, StrId>,
    ops: FxHashMap<(bool, StrId), OpId>,
    frees: Vec<(NodeId, ValueId)>,
    too_large: bool,
    late_input: Option<Box<str>>,
}

impl Graph {
    /// Starts an empty graph.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Adds an input. Inputs come before nodes.
    pub fn input(&mut self, name: &str) -> ValueId {
        // The fault is kept until `finish`, like all faults. Callers then handle an error in one place, and not at each call.
        if !self.graph.nodes.is_empty() && self.late_input.is_none() {
            self.late_input = Some(name.into());
        }
        let name = self.add_string(name);
        let value = ValueId(self.graph.inputs.len() as u32);
        self.graph.inputs.push(name);
        value
    }

    /// Adds a call of a function by its dotted path and returns the value it defines.
    pub fn call_function(&mut self, name: &str, target: &str, args: &[Arg], kwargs: &[(&str, Arg)]) -> ValueId {
        self.call(name, Callee::Function(target), args, kwargs)
    }

    /// Adds a call of a method of `args[0]` and returns the value it defines.
    pub fn call_method(&mut self, name: &str, method: &str, args: &[Arg], kwargs: &[(&str, Arg)]) -> ValueId {
        self.call(name, Callee::Method(method), args, kwargs)
    }

    /// Adds a call and returns the value it defines.
    pub fn call(&mut self, name: &str, callee: Callee<'_>, args: &[Arg], kwargs: &[(&str, Arg)]) -> ValueId {
        let name = self.add_string(name);
        let op = self.op(callee);
        let args = self.push_args(args);
        let start = self.position(self.graph.kwargs.len());
        for &(key, arg) in kwargs {
            let key = self.intern(key);
            self.graph.kwargs.push((key, arg));
        }
        let kwargs = ArgRange { start, len: self.position(kwargs.len()) };
        let value = ValueId(self.position(self.graph.num_values()));
        self.graph.nodes.push(NodeData { name, op, args, kwargs, frees_end: 0 });
        value
    }

    /// Records that the last reference to `value` is dropped right after `node`.
    pub fn free_after(&mut self, node: NodeId, value: ValueId) {
        self.frees.push((node, value));
    }

    /// Returns a string argument.
    pub fn str(&mut self, text: &str) -> Arg {
        Arg::Str(self.intern(text))
    }

    /// Returns a dotted constant below `torch.`, e.g. `torch.strided`.
    pub fn attr(&mut self, path: &str) -> Arg {
        Arg::Attr(self.intern(path))
    }

    /// Returns a device argument.
    pub fn device(&mut self, kind: &str, index: Option<u32>) -> Arg {
        Arg::Device(DeviceConstant { kind: self.intern(kind), index })
    }

    /// Returns a list argument.
    pub fn list(&mut self, elements: &[Arg]) -> Arg {
        Arg::List(self.push_args(elements))
    }

    /// Returns a tuple argument.
    pub fn tuple(&mut self, elements: &[Arg]) -> Arg {
        Arg::Tuple(self.push_args(elements))
    }

    /// Returns a slice argument.
    pub fn slice(&mut self, start: Arg, stop: Arg, step: Arg) -> Arg {
        Arg::Slice(self.push_args(&[start, stop, step]))
    }

    /// Returns the number of nodes that were added so far.
    pub fn num_nodes(&self) -> usize {
        self.graph.nodes.len()
    }

    /// Ends the graph with the tuple it returns, and checks every law of [`crate::verify`].
    ///
    /// # Errors
    /// The first law that does not hold.
    pub fn finish(mut self, outputs: &[Arg]) -> Result<Graph, VerifyError> {
        self.graph.outputs = self.push_args(outputs);
        self.place_frees()?;
        if self.too_large {
            return Err(VerifyError::TooLarge);
        }
        if let Some(name) = self.late_input {
            return Err(VerifyError::InputAfterNode { name: name.into() });
        }
        verify(&self.graph)?;
        Ok(self.graph)
    }

    /// Copies an argument of another graph, with its values replaced by `value`.
    pub fn copy_arg(&mut self, from: &Graph, arg: Arg, value: &mut impl FnMut(ValueId) -> ValueId) -> Arg {
        match arg {
            Arg::Value(id) => Arg::Value(value(id)),
            Arg::Str(id) => self.str(from.str(id)),
            Arg::Attr(id) => self.attr(from.str(id)),
            Arg::Device(device) => self.device(from.str(device.kind), device.index),
            Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
                let elements: Vec<Arg> =
                    from.elements(range).iter().map(|&element| self.copy_arg(from, element, value)).collect();
                let copy = self.push_args(&elements);
                match arg {
                    Arg::List(_) => Arg::List(copy),
                    Arg::Tuple(_) => Arg::Tuple(copy),
                    _ => Arg::Slice(copy),
                }
            }
            Arg::None | Arg::Bool(_) | Arg::Int(_) | Arg::Float(_) | Arg::Ellipsis | Arg::DType(_) => arg,
        }
    }

    fn place_frees(&mut self) -> Result<(), VerifyError> {
        // A stable sort: frees after one node stay in the order in which the source has them.
        self.frees.sort_by_key(|&(node, _)| node);
        let mut frees = self.frees.iter().peekable();
        for (index, node) in self.graph.nodes.iter_mut().enumerate() {
            while let Some(&(_, value)) = frees.next_if(|(at, _)| at.index() == index) {
                self.graph.frees.push(value);
            }
            node.frees_end = self.graph.frees.len() as u32;
        }
        match frees.next() {
            Some(&(node, _)) => Err(VerifyError::FreeAfterNothing { node: node.0 }),
            None => Ok(()),
        }
    }

    fn push_args(&mut self, args: &[Arg]) -> ArgRange {
        let start = self.position(self.graph.args.len());
        self.graph.args.extend_from_slice(args);
        ArgRange { start, len: self.position(args.len()) }
    }

    fn op(&mut self, callee: Callee<'_>) -> OpId {
        let is_method = matches!(callee, Callee::Method(_));
        let target = self.intern(callee.target());
        if let Some(&op) = self.ops.get(&(is_method, target)) {
            return op;
        }
        let op = OpId(self.position(self.graph.ops.len()));
        self.graph.ops.push(OpData { is_method, target });
        self.ops.insert((is_method, target), op);
        op
    }

    fn intern(&mut self, text: &str) -> StrId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.add_string(text);
        self.strings.insert(text.into(), id);
        id
    }

    fn add_string(&mut self, text: &str) -> StrId {
        self.graph.strings.push(text).unwrap_or_else(|| {
            self.too_large = true;
            StrId(0)
        })
    }

    fn position(&mut self, length: usize) -> u32 {
        u32::try_from(length).unwrap_or_else(|_| {
            self.too_large = true;
            0
        })
    }
}
