//! Effects of the statements and expressions of `forward` on the graph. Both readers, that of syntax trees ([`super::lower`]) and
//! the quick one ([`super::quick`]), recognise the forms and call these functions.

use passnet_graph::{
    Arg, Builder, Callee, Graph, NodeId, ValueId, VerifyError,
    names::is_identifier,
    operators::{GETATTR, by_target},
};

use super::scope::{Local, LocalNames};

/// Roots of dotted names that stand for functions and constants, and never for values.
pub(super) fn is_module(name: &str) -> bool {
    matches!(name, "torch" | "operator" | "builtins")
}

/// Returns whether a graph may call a dotted name that begins with a module.
pub(super) fn is_function(path: &str) -> bool {
    path.starts_with("torch.") || path == GETATTR || by_target(path).is_some()
}

/// A graph that has been read in part.
pub(super) struct ModuleBody<'a> {
    pub(super) builder: Builder,
    pub(super) scope: LocalNames<'a>,
    /// Stack of the arguments of the calls that are being read.
    pub(super) args: Vec<Arg>,
    /// Stack of the keyword arguments of these calls.
    pub(super) kwargs: Vec<(&'a str, Arg)>,
    /// The node of `x[i] = v` that was just read. The next statement may name it.
    setitem: Option<ValueId>,
}

impl<'a> ModuleBody<'a> {
    /// Returns an empty graph, with room for a text of so many bytes.
    pub(super) fn of_text(bytes: usize) -> Self {
        Self {
            builder: Graph::builder(),
            scope: LocalNames::of_text(bytes),
            args: Vec::new(),
            kwargs: Vec::new(),
            setitem: None,
        }
    }

    /// Adds a parameter. Returns false if a parameter of that name exists already.
    pub(super) fn parameter(&mut self, parameter: Local<'a>) -> bool {
        let value = self.builder.input(parameter.name);
        self.scope.add_parameter(parameter, value)
    }

    /// Returns the value of a name; `None` if the name is not bound.
    pub(super) fn name(&mut self, name: &str) -> Option<Arg> {
        // Printed graphs spell these three as bare names. A local name of the same spelling takes precedence, as in Python.
        self.scope.get(name).or(match name {
            "inf" => Some(Arg::Float(f64::INFINITY)),
            "nan" => Some(Arg::Float(f64::NAN)),
            "Ellipsis" => Some(Arg::Ellipsis),
            _ => None,
        })
    }

    /// Returns the constant for a dotted name below `torch.` that is not called.
    pub(super) fn constant(&mut self, path: &str) -> Arg {
        match path.parse() {
            Ok(dtype) => Arg::DType(dtype),
            Err(_) => self.builder.attr(path),
        }
    }

    /// Returns a list of the arguments from `base` up, and removes them from the stack.
    pub(super) fn list(&mut self, base: usize) -> Arg {
        let arg = self.builder.list(&self.args[base..]);
        self.args.truncate(base);
        arg
    }

    /// Returns a tuple of the arguments from `base` up, and removes them from the stack.
    pub(super) fn tuple(&mut self, base: usize) -> Arg {
        let arg = self.builder.tuple(&self.args[base..]);
        self.args.truncate(base);
        arg
    }

    /// Returns the slice of `slice(stop)`, `slice(start, stop)` or `slice(start, stop, step)` with the arguments from `base` up,
    /// and removes them from the stack. Returns `None` for any other number of arguments.
    pub(super) fn slice_call(&mut self, base: usize) -> Option<Arg> {
        let (start, stop, step) = match self.args[base..] {
            [stop] => (Arg::None, stop, Arg::None),
            [start, stop] => (start, stop, Arg::None),
            [start, stop, step] => (start, stop, step),
            _ => return None,
        };
        self.args.truncate(base);
        Some(self.builder.slice(start, stop, step))
    }

    /// Returns the device `cuda`, `cuda:0`, or `cuda` with a separate index; `None` if it is malformed.
    pub(super) fn device(&mut self, text: &str, index: Option<u32>) -> Option<Arg> {
        let (kind, index) = match (text.split_once(':'), index) {
            (Some((kind, index)), None) => (kind, Some(index.parse().ok()?)),
            _ => (text, index),
        };
        is_identifier(kind).then(|| self.builder.device(kind, index))
    }

    /// Pushes the arguments of `receiver.name`, which becomes a call of `getattr`.
    pub(super) fn push_attribute(&mut self, receiver: ValueId, name: &str) {
        let name = self.builder.str(name);
        self.args.extend([receiver.into(), name]);
    }

    /// Adds a node with the arguments from `args_base` and `kwargs_base` up, and removes them from the stacks. The node gets the
    /// name `wanted` if that is possible.
    pub(super) fn call(
        &mut self,
        callee: Callee<'_>,
        wanted: Option<Local<'a>>,
        args_base: usize,
        kwargs_base: usize,
    ) -> ValueId {
        let name = self.scope.take_name(wanted, callee);
        let value = self.builder.call(&name, callee, &self.args[args_base..], &self.kwargs[kwargs_base..]);
        self.args.truncate(args_base);
        self.kwargs.truncate(kwargs_base);
        self.scope.add_value(value);
        value
    }

    /// Adds a call of a function without keyword arguments.
    pub(super) fn call_function(&mut self, target: &str, wanted: Option<Local<'a>>, base: usize) -> ValueId {
        self.call(Callee::Function(target), wanted, base, self.kwargs.len())
    }

    /// Adds `old += operand`, with both on the stack from `base` up, where `target` was bound to `old`. `alias` is `z` if the
    /// next statement is `z = target`.
    pub(super) fn assign_in_place(
        &mut self,
        function: &'static str,
        target: Local<'a>,
        alias: Option<Local<'a>>,
        base: usize,
    ) {
        let old = self.args[base].as_value();
        let value = self.call_function(function, alias, base);
        self.scope.bind_weakly(target, value.into(), old);
    }

    /// Adds `receiver[index] = value`. All three are on the stack from `base` up. `alias` is `z` if the next statement is
    /// `z = receiver`.
    pub(super) fn assign_item(&mut self, alias: Option<Local<'a>>, base: usize) {
        let node = self.call_function("operator.setitem", alias, base);
        self.setitem = alias.map(|_| node);
    }

    /// Returns the node of the preceding `x[i] = v`, if there is one, for the assignment that begins now.
    pub(super) fn take_setitem(&mut self) -> Option<ValueId> {
        self.setitem.take()
    }

    /// Binds `target = arg`. Returns false if the graph cannot express this. `setitem` comes from [`Self::take_setitem`].
    pub(super) fn bind(&mut self, target: Local<'a>, arg: Arg, setitem: Option<ValueId>) -> bool {
        match setitem {
            Some(node) => self.scope.bind_weakly(target, arg, Some(node)),
            // A list has no identity in a graph: two uses of its name would become two lists.
            None if arg.elements().is_some() => return false,
            None => self.scope.bind(target, arg),
        }
        true
    }

    /// Handles `target = None` and `del target`.
    pub(super) fn free(&mut self, target: Local<'a>) {
        // Before the first node there is no node that the free could follow, so it is not recorded.
        let after = self.builder.num_nodes().checked_sub(1).map(|last| NodeId(last as u32));
        self.scope.free(target, after);
    }

    /// Returns the finished graph.
    pub(super) fn finish(mut self, outputs: &[Arg]) -> Result<Graph, VerifyError> {
        self.scope.record_frees(&mut self.builder);
        self.builder.finish(outputs)
    }
}
