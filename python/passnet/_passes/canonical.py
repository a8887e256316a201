"""The canonical form of graphs, in which the matcher compares patterns with graphs.

Two calls with the same meaning have the same canonical form: arguments are bound to parameter names with defaults filled in, aliases
of a function share one name, and `view(2, 3)` is `view([2, 3])`. The format is that of `docs/reference/graph-wire.md`. Values have the
numbers of the wire form, so that a match can be mapped back to nodes.
"""

from __future__ import annotations

import builtins
import json
import operator
from collections.abc import Callable
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
        wire = {
            "version": VERSION,
            "inputs": [node.name for node in inputs],
            "nodes": encoded,
            "outputs": [self._encoder.encode(output) for output in outputs],
        }
        self.text = json.dumps(wire)

    def decode(self, bound: dict[str, Any]) -> Any:
        """Returns the value that `{"arg": ...}` in a match represents. The value may contain nodes of this graph."""
        arg = bound["arg"]
        if isinstance(arg, dict) and arg.get("attr") in self._encoder.constants:
            return self._encoder.constants[arg["attr"]]
        return _without_marks(decode(arg, self.nodes))

    def _call(self, node: torch.fx.Node) -> dict[str, Any]:
        args, kwargs = list(node.args), dict(node.kwargs)
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
        return {
            "name": node.name,
            "op": op,
            "target": target,
            "args": [self._encoder.encode(arg) for arg in args],
            "kwargs": [[key, self._encoder.encode(arg)] for key, arg in kwargs.items()],
        }


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
