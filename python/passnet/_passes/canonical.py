"""The canonical form of graphs, in which the matcher compares patterns with graphs.

Two calls with the same meaning have the same canonical form: arguments are bound to parameter names with defaults filled in, aliases
of a function share one name, and `view(2, 3)` is `view([2, 3])`. The format is that of `docs/reference/graph-wire.md`. Values have the
numbers of the wire form, so that a match can be mapped back to nodes.
"""

from __future__ import annotations

import builtins
import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.fx

from passnet._passes import schemas
from passnet._passes.wire import VERSION, Encoder, WireError, decode, target_name

# Methods that captured graphs call by name, whereas proxies of a pattern record the function of the module `operator`.
_OPERATOR_METHODS = {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")}
# Names under which older versions of torch capture a function, with the present names.
_RENAMED = {"torch._C._nn.pad": "torch.nn.functional.pad"}
# A value that the wire form cannot express is named by this prefix and its identity.
_OPAQUE = "torch.ops.passnet_opaque"
_LIST_MARK = "passnet:list"


class CanonicalGraph:
    """The canonical form of a graph, and the node of each value number."""

    def __init__(self, graph: torch.fx.Graph) -> None:
        self._encoder = OpaqueEncoder()
        inputs = [node for node in graph.nodes if node.op in ("placeholder", "get_attr")]
        calls = [node for node in graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
        for node in inputs:
            self._encoder.define(node)
        encoded = []
        for node in calls:
            encoded.append(self._call(node))
            self._encoder.define(node)
        outputs = graph.output_node().args[0]
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)
        self.nodes: list[torch.fx.Node] = [*inputs, *calls]
        self.num_inputs = len(inputs)
        self.wire = {
            "version": VERSION,
            "inputs": [node.name for node in inputs],
            "nodes": encoded,
            "outputs": [self._encoder.encode(output) for output in outputs],
        }
        self.text = json.dumps(self.wire)

    def decode(self, bound: dict[str, Any]) -> Any:
        """Returns the value that `{"arg": ...}` in a match represents. The value may contain nodes of this graph."""
        arg = bound["arg"]
        if isinstance(arg, dict) and arg.get("attr") in self._encoder.constants:
            return self._encoder.constants[arg["attr"]]
        return _without_marks(decode(arg, self.nodes))

    def _call(self, node: torch.fx.Node) -> dict[str, Any]:
        op, target, args, kwargs = _canonical_call(node, node.args, node.kwargs)
        return {
            "name": node.name,
            "op": op,
            "target": target,
            "args": [self._encoder.encode(arg) for arg in args],
            "kwargs": [[key, self._encoder.encode(arg)] for key, arg in kwargs.items()],
        }


def _canonical_call(
    node: torch.fx.Node, given: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[str, str, list[Any], dict[str, Any]]:
    """Returns op, target and arguments of the canonical form of a node that has these arguments."""
    args, kwargs = list(given), dict(keywords)
    op, target = "call_function", node.target
    if node.op == "call_method" and target in _OPERATOR_METHODS:
        target = f"operator.{target.strip('_')}"
    elif node.op == "call_method":
        op = "call_method"
        bound = schemas.bind_method(target, args, kwargs)
        if bound is not None:
            args, kwargs = [bound.pop("self")], bound
    elif node.op == "call_module":
        target = f"{_OPAQUE}.module_{target.replace('.', '_')}"
    else:
        function = schemas.public(target)
        target = function_name(function)
        if function in (operator.getitem, operator.setitem):
            args[1] = _with_marked_lists(args[1])
        if function is not builtins.getattr and not target.startswith(("operator.", _OPAQUE)):
            bound = schemas.bind(function, args, kwargs)
            if bound is not None:
                if "self" in bound and "input" not in bound:
                    bound = {"input": bound.pop("self"), **bound}
                args, kwargs = [], bound
    return op, target, args, kwargs


def canonical_calls(graph: torch.fx.Graph) -> dict[str, Any]:
    """Returns the canonical form of a graph, and the places of the numbers of each call in it, for the built-in author."""
    form = CanonicalGraph(graph)
    calls = form.nodes[form.num_inputs :]
    return {"graph": form.wire, "places": [number_places(node) for node in calls]}


def number_places(node: torch.fx.Node) -> list[int | None]:
    """Returns, for each number among the arguments of a call, its place among the numbers of the canonical form.

    Numbers are integers and finite floats in the order of the arguments. The place is `None` if a parameter of a pattern cannot stand
    for the number because the canonical form would be another one: `x.max(n)` is a call with the tensor `n`, but `x.max(1)` is not.
    """
    leaves = _leaves((node.args, node.kwargs))
    if not any(map(_is_number, leaves)):
        return []
    # The form depends on the types of numbers and not on their values, and graphs repeat the same calls.
    kinds = [type(leaf) if _is_number(leaf) or isinstance(leaf, torch.fx.Node) else repr(leaf) for leaf in leaves]
    key = (node.op, node.target, *kinds)
    if key not in _PLACES:
        if len(_PLACES) >= _MOST_PLACES:
            _PLACES.clear()
        _PLACES[key] = _number_places(node, sum(map(_is_number, leaves)))
    return _PLACES[key]


_MOST_PLACES = 4096
_PLACES: dict[tuple[Any, ...], list[int | None]] = {}


def _number_places(node: torch.fx.Node, count: int) -> list[int | None]:
    none: list[int | None] = [None] * count
    scratch = torch.fx.Graph()
    parameters = [scratch.placeholder(f"number_{place}") for place in range(count)]
    rest = iter(parameters)
    args, kwargs = torch.fx.node.map_aggregate(
        (node.args, node.kwargs), lambda leaf: next(rest) if _is_number(leaf) else leaf
    )
    *callee, fixed_args, fixed_kwargs = _canonical_call(node, node.args, node.kwargs)
    *open_callee, open_args, open_kwargs = _canonical_call(node, args, kwargs)
    fixed, opened = _leaves((fixed_args, fixed_kwargs)), _leaves((open_args, open_kwargs))
    if (callee, len(fixed)) != (open_callee, len(opened)):
        return none
    places: dict[torch.fx.Node, int] = {}
    numbers = 0
    for constant, leaf in zip(fixed, opened, strict=True):
        if leaf in parameters:
            if leaf in places or not _is_number(constant):
                return none
            places[leaf] = numbers
        elif type(leaf) is not type(constant) or leaf != constant:
            return none
        numbers += _is_number(constant)
    return [places.get(parameter) for parameter in parameters]


# Elements of the list of leaves that stand for the ends of a sequence and of a slice.
_SEQUENCE, _SLICE, _END = object(), object(), object()


def _leaves(value: Any) -> list[Any]:
    """Returns the elements of nested lists, tuples, slices and dictionaries in order, with marks for their structure."""
    if isinstance(value, (list, tuple)):
        return [_SEQUENCE, *(leaf for item in value for leaf in _leaves(item)), _END]
    if isinstance(value, slice):
        return [_SLICE, *(leaf for item in (value.start, value.stop, value.step) for leaf in _leaves(item)), _END]
    if isinstance(value, dict):
        return [leaf for pair in value.items() for leaf in _leaves(pair)]
    return [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _with_marked_lists(index: Any) -> Any:
    """Returns the index with `[0, 1]` as `(mark, 0, 1)`.

    The matcher does not distinguish lists and tuples, but `x[[0, 1]]` is not `x[0, 1]`.
    """
    if not isinstance(index, (list, tuple)):
        return index
    items = tuple(_with_marked_lists(item) for item in index)
    return (_LIST_MARK, *items) if isinstance(index, list) else items


def _without_marks(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    is_list = value[:1] == (_LIST_MARK,)
    items = [_without_marks(item) for item in value[is_list:]]
    return items if is_list else tuple(items)


def function_name(function: Callable[..., Any]) -> str:
    """Returns the name of a function in wire form; a name with its identity if the wire form has no name for it."""
    try:
        name = target_name(function)
    except WireError:
        return f"{_OPAQUE}.{getattr(function, '__name__', 'function')}_{id(function):x}"
    return _RENAMED.get(name, name)


class OpaqueEncoder(Encoder):
    """An encoder that names constants by identity if the wire form cannot express them, instead of raising an error."""

    def __init__(self) -> None:
        super().__init__()
        self.constants: dict[str, Any] = {}

    def encode(self, value: Any) -> Any:
        try:
            return super().encode(value)
        except WireError:
            identity = value if isinstance(value, int) else id(value)
            name = f"{_OPAQUE}.{type(value).__name__}_{identity}".replace("-", "minus_")
            self.constants[name] = value
            return {"attr": name}
