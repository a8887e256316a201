//! One call with its arguments by name.

use passnet_graph::{
    Arg, Graph, Node, ValueId,
    ops::{Op, OpName},
};

use crate::front::scalar::as_scalar;

/// A call of a known family of functions: functions of torch, `Tensor` methods and Python operators of one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) value: ValueId,
    /// Name without namespace, `_` of in-place methods and `i` of in-place operators: `add`, `layer_norm`.
    pub(crate) name: &'g str,
    /// True if the first argument is changed.
    pub(crate) in_place: bool,
    pub(crate) is_method: bool,
    args: &'g [Arg],
    node: Node<'g>,
}

impl<'g> Call<'g> {
    /// `None` for functions of other namespaces.
    pub(crate) fn of(graph: &'g Graph, node: Node<'g>) -> Option<Self> {
        let OpName { name, in_place, is_method } = OpName::of(node.callee)?;
        let mut call = Self { graph, value: node.value, name, in_place, is_method, args: node.args, node };
        call.in_place |= call.has_in_place_flag();
        Some(call)
    }

    /// Properties of the operation, where they are known.
    pub(crate) fn op(&self) -> Option<&'static Op> {
        Op::find(self.name)
    }

    fn has_in_place_flag(&self) -> bool {
        let position = self.op().and_then(|op| op.inplace_parameter).unwrap_or(usize::MAX);
        matches!(self.arg(position, "inplace"), Some(Arg::Bool(true)))
    }

    /// Returns whether the call is `x[key] = value`, which changes its first argument and has no result.
    pub(crate) fn is_set_item(&self) -> bool {
        self.name == "setitem"
    }

    /// Returns whether the call changes its first argument.
    pub(crate) fn is_change(&self) -> bool {
        self.in_place || self.is_set_item()
    }

    pub(crate) const fn len(&self) -> usize {
        self.args.len()
    }

    /// Arguments without names.
    pub(crate) const fn positional(&self) -> &'g [Arg] {
        self.args
    }

    pub(crate) fn has_keywords(&self) -> bool {
        !self.node.kwargs.is_empty()
    }

    /// The argument at a place or of that name.
    pub(crate) fn arg(&self, place: usize, name: &str) -> Option<Arg> {
        let keyword = || self.node.kwargs.iter().find(|(key, _)| self.graph.str(*key) == name).map(|&(_, arg)| arg);
        self.args.get(place).copied().or_else(keyword)
    }

    /// Like [`Self::arg`]; `None` as an argument is no argument.
    pub(crate) fn given(&self, place: usize, name: &str) -> Option<Arg> {
        self.arg(place, name).filter(|arg| !matches!(arg, Arg::None))
    }

    /// The tensor that a function is of.
    pub(crate) fn subject(&self) -> Option<Arg> {
        self.arg(0, "input").or_else(|| self.arg(0, "self"))
    }

    /// All arguments.
    pub(crate) fn all_args(&self) -> impl Iterator<Item = Arg> {
        self.node.all_args()
    }

    pub(crate) fn bool(&self, place: usize, name: &str, default: bool) -> Option<bool> {
        match self.given(place, name) {
            None => Some(default),
            Some(Arg::Bool(value)) => Some(value),
            Some(_) => None,
        }
    }

    pub(crate) fn float(&self, place: usize, name: &str, default: f64) -> Option<f64> {
        match self.given(place, name) {
            None => Some(default),
            Some(arg) => Some(as_scalar(arg)?.as_f64()),
        }
    }

    pub(crate) fn int(&self, place: usize, name: &str) -> Option<i64> {
        match self.arg(place, name)? {
            Arg::Int(value) => Some(value),
            _ => None,
        }
    }

    /// A list of integers, or one integer.
    pub(crate) fn ints(&self, arg: Arg) -> Option<Vec<i64>> {
        let int = |arg: &Arg| match arg {
            Arg::Int(value) => Some(*value),
            _ => None,
        };
        match arg {
            Arg::List(range) | Arg::Tuple(range) => self.graph.elements(range).iter().map(int).collect(),
            _ => Some(vec![int(&arg)?]),
        }
    }

    /// Dimensions given as one list or, for methods, as arguments of their own.
    pub(crate) fn variadic_ints(&self, place: usize, name: &str) -> Option<Vec<i64>> {
        match self.arg(place, name)? {
            Arg::Int(_) => self.args[place..].iter().map(|&arg| Some(self.ints(arg)?[0])).collect(),
            list => self.ints(list),
        }
    }

    /// The dimensions of a reduction, marked; all where none are given.
    pub(crate) fn marked_dims(&self, place: usize, rank: usize) -> Option<Vec<bool>> {
        let Some(arg) = self.given(place, "dim").or_else(|| self.given(usize::MAX, "axis")) else {
            return Some(vec![true; rank]);
        };
        let dims = self.ints(arg)?;
        if dims.is_empty() {
            return Some(vec![true; rank]);
        }
        let mut marked = vec![false; rank];
        for dim in dims {
            marked[dimension(dim, rank)?] = true;
        }
        Some(marked)
    }
}

/// A dimension counted from the end where negative.
pub(crate) fn dimension(dim: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let dim = if dim < 0 { dim + rank } else { dim };
    (0..rank).contains(&dim).then_some(dim as usize)
}
