"""Translation of graphs of AOTAutograd into functions of torch, which passes and the built-in author know.

AOTAutograd gives forward and backward as graphs of aten operators without changes in place. An operator with the same meaning as a
function of torch becomes that function; any other stays. The types of values are noted as Dynamo notes them (`example_value`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx
from torch._decomp import get_decompositions
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten

# Gradient operators whose formulas are pointwise. Writing them out costs no time even if nothing is fused.
_POINTWISE = [
    "gelu_backward",
    "silu_backward",
    "hardtanh_backward",
    "sigmoid_backward",
    "tanh_backward",
    "threshold_backward",
    "hardswish_backward",
    "hardsigmoid_backward",
    "leaky_relu_backward",
    "elu_backward",
    "native_dropout_backward",
    "mse_loss_backward",
    "softplus_backward",
]
# Operators that have special kernels in PyTorch, and whose formulas contain reductions.
_REDUCING = [
    "native_layer_norm",
    "native_layer_norm_backward",
    "native_group_norm",
    "native_group_norm_backward",
    "native_batch_norm_backward",
    "_native_batch_norm_legit_functional",
    "_softmax_backward_data",
    "mse_loss",
]

POINTWISE = get_decompositions([getattr(aten, name) for name in _POINTWISE])
"""PyTorch's formulas for gradients of pointwise functions."""
ALL = {**POINTWISE, **get_decompositions([getattr(aten, name) for name in _REDUCING])}
"""PyTorch's formulas for gradients of pointwise functions, for normalisations and for the gradients of normalisations."""

# Operators that have the same name and the same leading arguments in torch.
_SAME = frozenset(
    [
        "abs",
        "add",
        "addcmul",
        "addmm",
        "amax",
        "amin",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bmm",
        "cat",
        "ceil",
        "clamp",
        "clamp_max",
        "clamp_min",
        "cos",
        "div",
        "eq",
        "erf",
        "exp",
        "floor",
        "ge",
        "gt",
        "le",
        "log",
        "logical_and",
        "logical_not",
        "logical_or",
        "lt",
        "maximum",
        "mean",
        "minimum",
        "mm",
        "mul",
        "ne",
        "neg",
        "permute",
        "pow",
        "reciprocal",
        "relu",
        "rsqrt",
        "sigmoid",
        "sin",
        "split",
        "sqrt",
        "squeeze",
        "sub",
        "sum",
        "t",
        "tanh",
        "transpose",
        "trunc",
        "unsqueeze",
        "where",
        "detach",
    ]
)
_FUNCTIONAL = frozenset("elu gelu hardsigmoid hardswish hardtanh leaky_relu silu softplus".split())  # noqa: SIM905


def formulas(module: torch.fx.GraphModule, table: dict[Any, Callable[..., Any]]) -> torch.fx.GraphModule:
    """Returns the graph with the operators of `table` written out as their formulas."""
    values = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    # The values of AOTAutograd belong to one fake mode. Values of two fake modes in one call raise an exception.
    mode = next(value.fake_mode for value in values if isinstance(value, torch.Tensor))
    with mode, torch.no_grad():
        return make_fx(lambda *given: module.forward(*given), decomposition_table=table)(*values)


def in_torch(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Returns a copy of a graph of aten operators, written in functions of torch."""
    return torch.fx.GraphModule(module, _Translation(module.graph).graph)


class _Translation:
    """Writes the new graph node by node from the source graph."""

    def __init__(self, source: torch.fx.Graph) -> None:
        self.graph = torch.fx.Graph()
        self.known: dict[torch.fx.Node, Any] = {}
        for node in source.nodes:
            made = self._node(node)
            self.known[node] = made
            if isinstance(made, torch.fx.Node) and node.op != "output":
                made.meta["example_value"] = node.meta.get("val")

    def _node(self, node: torch.fx.Node) -> Any:
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            args = [self._value(arg) for arg in node.args]
            kwargs = {key: self._value(value) for key, value in node.kwargs.items()}
            made = self._call(node, node.target, args, kwargs)
            if made is not None:
                return made
        if node.op == "call_function" and node.target is operator.getitem and node.args[0] in self.known:
            parts = self.known[node.args[0]]
            if isinstance(parts, tuple):
                return parts[node.args[1]]
        return self.graph.node_copy(node, lambda old: self.known[old])

    def _value(self, value: Any) -> Any:
        return torch.fx.map_arg(value, lambda node: self.known[node])

    def _call(self, node: torch.fx.Node, target: torch._ops.OpOverload, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Returns the replacement of a call; None if the call stays as it is."""
        if target.namespace != "aten" or not all(_is_known(value) for value in _values(node)):
            return None
        name = target._schema.name.removeprefix("aten::")
        written = getattr(self, f"on_{name.strip('_')}", None)
        if written is not None:
            return written(node, *args, **kwargs)
        if name in _SAME:
            # The author's `div` is true division.
            if name == "div" and "rounding_mode" in kwargs:
                return None
            return self.graph.call_function(getattr(torch, name), tuple(args), kwargs)
        if name in _FUNCTIONAL and _has_no_scales(name, args):
            return self.graph.call_function(getattr(torch.nn.functional, name), tuple(args), kwargs)
        return None

    def _method(self, name: str, *args: Any, **kwargs: Any) -> torch.fx.Node:
        return self.graph.call_method(name, args, kwargs)

    def on_view(self, node: torch.fx.Node, x: Any, size: Any) -> Any:
        return self._method("view", x, list(size))

    def on_unsafe_view(self, node: torch.fx.Node, x: Any, size: Any) -> Any:
        return self._method("view", x, list(size))

    def on_expand(self, node: torch.fx.Node, x: Any, size: Any, implicit: bool = False) -> Any:
        return self._method("expand", x, list(size))

    def on_clone(self, node: torch.fx.Node, x: Any, memory_format: Any = None) -> Any:
        kwargs = {} if memory_format is None else {"memory_format": memory_format}
        return self.graph.call_function(torch.clone, (x,), kwargs)

    def on_as_strided(self, node: torch.fx.Node, x: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
        source, result = node.args[0].meta["val"], node.meta["val"]
        # Only a view of the whole memory is a `view`. A window with other strides stays an operator of aten.
        whole = source.is_contiguous() and result.is_contiguous() and source.numel() == result.numel()
        return self._method("view", x, list(size)) if whole and not storage_offset else None

    def on_to_copy(self, node: torch.fx.Node, x: Any, dtype: Any = None, **kwargs: Any) -> Any:
        source, result = node.args[0].meta["val"], node.meta["val"]
        if kwargs.pop("memory_format", None) is not None or not _stays(source, result):
            return None
        if source.dtype == result.dtype:
            return self.graph.call_function(torch.clone, (x,))
        return self._method("to", x, dtype)

    def on_rsub(self, node: torch.fx.Node, x: Any, other: Any, alpha: Any = 1) -> Any:
        return self.graph.call_function(operator.sub, (other, x)) if alpha == 1 else None

    def on_softmax(self, node: torch.fx.Node, x: Any, dim: int, half_to_float: bool) -> Any:
        return None if half_to_float else self.graph.call_function(torch.softmax, (x, dim))

    def on_embedding(self, node: torch.fx.Node, weight: Any, indices: Any, *_: Any) -> Any:
        return self.graph.call_function(torch.nn.functional.embedding, (indices, weight))

    def on_select(self, node: torch.fx.Node, x: Any, dim: int, index: int) -> Any:
        return self._item(node, x, dim, index)

    def on_slice(
        self, node: torch.fx.Node, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
    ) -> Any:
        return self._item(node, x, dim, slice(start, end, step))

    def _item(self, node: torch.fx.Node, x: Any, dim: int, key: Any) -> Any:
        place = dim % node.args[0].meta["val"].dim()
        return self.graph.call_function(operator.getitem, (x, (*[slice(None)] * place, key)))

    def on_split_with_sizes(self, node: torch.fx.Node, x: Any, sizes: Any, dim: int = 0) -> Any:
        return self.graph.call_function(torch.split, (x, list(sizes), dim))

    def on_scalar_tensor(self, node: torch.fx.Node, value: Any, dtype: Any = None, **kwargs: Any) -> Any:
        # In `where`, a number takes the type of the other operand.
        other = [user.args[1] if user.args[2] is node else user.args[2] for user in node.users if _is_where(user)]
        same = [value for value in other if isinstance(value, torch.fx.Node) and value is not node]
        if len(same) == len(node.users) and all(value.meta["val"].dtype == node.meta["val"].dtype for value in same):
            return value
        return None

    def on_full(self, node: torch.fx.Node, size: Any, value: Any, **kwargs: Any) -> Any:
        result = node.meta["val"]
        return self.graph.call_function(
            torch.full, (list(size), value), {"dtype": result.dtype, "device": result.device}
        )

    def on_new_zeros(self, node: torch.fx.Node, x: Any, size: Any, **kwargs: Any) -> Any:
        source, result = node.args[0].meta["val"], node.meta["val"]
        return self._method("new_zeros", x, list(size)) if _stays(source, result, with_type=True) else None

    def on_var_mean(
        self, node: torch.fx.Node, x: Any, dim: Any = None, correction: Any = None, keepdim: bool = False
    ) -> Any:
        if correction not in (0, 0.0) or not keepdim or dim is None:
            return None
        # Written as mean and mean of squares, which the author knows. The results have the types of the original results.
        results = node.meta["val"]
        mean = self._typed(torch.mean, (x, list(dim), True), results[1])
        centred = self._typed(torch.sub, (x, mean), node.args[0].meta["val"])
        square = self._typed(torch.mul, (centred, centred), node.args[0].meta["val"])
        return self._typed(torch.mean, (square, list(dim), True), results[0]), mean

    def _typed(self, function: Callable[..., Any], args: tuple[Any, ...], like: torch.Tensor) -> torch.fx.Node:
        made = self.graph.call_function(function, args)
        made.meta["example_value"] = like
        return made


def _values(node: torch.fx.Node) -> Sequence[Any]:
    return [node.meta.get("val"), *(source.meta.get("val") for source in node.all_input_nodes)]


def _is_known(value: Any) -> bool:
    """Returns whether all sizes of a value are numbers, not symbols."""
    if isinstance(value, torch.Tensor):
        return all(type(size) is int for size in (*value.shape, *value.stride()))
    return isinstance(value, (list, tuple)) and all(part is None or _is_known(part) for part in value)


def _stays(source: torch.Tensor, result: torch.Tensor, *, with_type: bool = False) -> bool:
    """Returns whether a result has the device and layout of its source and, with `with_type`, the same dtype."""
    same = source.device == result.device and source.layout == result.layout
    return same and (not with_type or source.dtype == result.dtype)


def _has_no_scales(name: str, args: Sequence[Any]) -> bool:
    # `elu` of aten has more arguments than `elu` of torch, in another order.
    return name not in ("elu", "softplus") or len(args) == 1


def _is_where(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and node.target is aten.where.self
