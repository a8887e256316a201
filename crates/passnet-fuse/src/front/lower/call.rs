//! One call with its arguments by name.

use std::cell::Cell;

use passnet_graph::{
    Arg, Graph, Node, ValueId,
    ops::{Op, OpName},
};

use super::alias::usual_name;
use crate::front::scalar::as_scalar;

/// Second names of parameters, which PyTorch accepts for code that was written for NumPy. They follow the first name.
const SECOND_NAMES: [(&str, &[&str]); 4] =
    [("dim", &["axis"]), ("keepdim", &["keepdims"]), ("input", &["x", "a", "x1"]), ("other", &["x2"])];

/// Parameters that a lowering need not read. Most decide the type, shape, strides or device of a result, which the lowering takes
/// from PyTorch's own result. The momentum of statistics is one too: calls that are lowered do not change statistics.
const SHOWN_BY_TYPE: [&str; 15] = [
    "_stacklevel",
    "ceil_mode",
    "copy",
    "device",
    "dtype",
    "end_dim",
    "layout",
    "memory_format",
    "momentum",
    "non_blocking",
    "pin_memory",
    "requires_grad",
    "scale_factor",
    "size",
    "start_dim",
];

/// A call of a known family of functions: functions of torch, `Tensor` methods and Python operators of one name.
///
/// It records which keywords a lowering has read: a lowering that overlooks a keyword is wrong ([`Self::reads_all_keywords`]).
#[derive(Clone, Debug)]
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
    /// One bit for each keyword that was read.
    read: Cell<u64>,
}

impl<'g> Call<'g> {
    /// Returns the call that a node makes; `None` for functions of other namespaces.
    pub(crate) fn of(graph: &'g Graph, node: Node<'g>) -> Option<Self> {
        let OpName { name, in_place, is_method } = OpName::of(node.callee)?;
        let name = usual_name(name);
        let mut call =
            Self { graph, value: node.value, name, in_place, is_method, args: node.args, node, read: Cell::new(0) };
        // `relu(x, inplace=True)` changes its argument as `relu_` does. `functional` has both forms.
        call.in_place |= call.has_in_place_flag();
        Some(call)
    }

    /// Returns the properties of the operation, if they are known.
    pub(crate) fn op(&self) -> Option<&'static Op> {
        Op::find(self.name)
    }

    fn has_in_place_flag(&self) -> bool {
        let position = self.op().and_then(|op| op.inplace_parameter).unwrap_or(usize::MAX);
        matches!(self.arg(position, "inplace"), Some(Arg::Bool(true)))
    }

    /// Returns whether the call is `x[key] = value`. Such a call changes its first argument and has no result.
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

    /// Returns the arguments without names.
    pub(crate) const fn positional(&self) -> &'g [Arg] {
        self.args
    }

    pub(crate) fn has_keywords(&self) -> bool {
        !self.node.kwargs.is_empty()
    }

    /// Returns the argument at a position or with a name.
    pub(crate) fn arg(&self, place: usize, name: &str) -> Option<Arg> {
        self.args.get(place).copied().or_else(|| {
            let place = self.keyword(name)?;
            // Reading an argument is how a lowering says that it knows it. A `Cell`, because lowerings share the
            // call.
            self.read.set(self.read.get() | bit(place));
            Some(self.node.kwargs[place].1)
        })
    }

    /// Returns the number of the keyword of that name, or of a second name of it.
    fn keyword(&self, name: &str) -> Option<usize> {
        let seconds = SECOND_NAMES.iter().find(|(first, _)| *first == name).map_or(&[][..], |(_, seconds)| seconds);
        let is_named = |key: &str| key == name || seconds.contains(&key);
        self.node.kwargs.iter().position(|&(key, _)| is_named(self.graph.str(key)))
    }

    /// Returns whether all keywords that can change the result were read. A lowering does not know the meaning of the others.
    pub(crate) fn reads_all_keywords(&self) -> bool {
        self.node.kwargs.iter().enumerate().all(|(place, &(key, arg))| {
            self.read.get() & bit(place) != 0
                || matches!(arg, Arg::None)
                || SHOWN_BY_TYPE.contains(&self.graph.str(key))
        })
    }

    /// Like [`Self::arg`], but an argument that is Python's `None` counts as absent.
    pub(crate) fn given(&self, place: usize, name: &str) -> Option<Arg> {
        self.arg(place, name).filter(|arg| !matches!(arg, Arg::None))
    }

    /// Returns the tensor that a function is applied to.
    pub(crate) fn subject(&self) -> Option<Arg> {
        self.arg(0, "input").or_else(|| self.arg(0, "self"))
    }

    /// Returns all arguments.
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

    /// Returns a list of integers, or one integer.
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

    /// Returns dimensions that are passed as one list or, for methods, as separate arguments.
    pub(crate) fn variadic_ints(&self, place: usize, name: &str) -> Option<Vec<i64>> {
        match self.arg(place, name)? {
            Arg::Int(_) => self.args.get(place..)?.iter().map(|&arg| Some(self.ints(arg)?[0])).collect(),
            list => self.ints(list),
        }
    }

    /// Returns a mark for each dimension that a reduction is over: all dimensions if the call names none.
    pub(crate) fn marked_dims(&self, place: usize, rank: usize) -> Option<Vec<bool>> {
        let Some(arg) = self.given(place, "dim") else {
            return Some(vec![true; rank]);
        };
        let dims = self.ints(arg)?;
        // `sum(dim=[])` reduces all dimensions in PyTorch, unlike in NumPy.
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

/// Returns the bit of a keyword. A keyword after the 64th has none and counts as unread; no function has so many.
const fn bit(place: usize) -> u64 {
    if place < 64 { 1 << place } else { 0 }
}

/// Returns a dimension as an index; a negative dimension counts from the end.
pub(crate) fn dimension(dim: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let dim = if dim < 0 { dim + rank } else { dim };
    (0..rank).contains(&dim).then_some(dim as usize)
}
