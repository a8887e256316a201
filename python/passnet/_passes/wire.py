"""Converts graphs between the wire form (`docs/reference/graph-wire.md`) and `torch.fx`."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.fx

VERSION = 1

_SMALLEST_INT, _LARGEST_INT = -(2**63), 2**63 - 1


class WireError(ValueError):
    """A graph cannot be represented in wire form, or a wire form is malformed."""


def to_graph_module(wire: dict[str, Any]) -> torch.fx.GraphModule:
    """Builds the module of a graph. Its `forward` takes the inputs in order and returns a tuple."""
    return torch.fx.GraphModule(torch.nn.Module(), to_graph(wire), class_name="GraphModule")


def to_graph(wire: dict[str, Any]) -> torch.fx.Graph:
    """Builds the graph. `frees` is not used, because FX derives it from the last use of each value."""
    if wire.get("version") != VERSION:
        raise WireError(f"wire version {wire.get('version')!r} is not {VERSION}")
    graph = torch.fx.Graph()
    values: list[torch.fx.Node] = [graph.placeholder(name) for name in wire["inputs"]]
    for node in wire["nodes"]:
        args = tuple(decode(arg, values) for arg in node["args"])
        kwargs = {key: decode(arg, values) for key, arg in node["kwargs"]}
        match node["op"]:
            case "call_function":
                target: str | Callable[..., Any] = resolve(node["target"])
            case "call_method":
                target = node["target"]
            case other:
                raise WireError(f"node `{node['name']}` has the unknown op `{other}`")
        values.append(graph.create_node(node["op"], target, args, kwargs, name=node["name"]))
    graph.output(tuple(decode(output, values) for output in wire["outputs"]))
    return graph


def from_graph(graph: torch.fx.Graph) -> dict[str, Any]:
    """Returns the wire form of a graph of placeholders, function and method calls.

    A graph that returns one value returns a tuple of one.
    """
    encoder = Encoder()
    nodes: list[dict[str, Any]] = []
    outputs: Any = ()
    for node in graph.nodes:
        match node.op:
            case "placeholder":
                encoder.define(node)
            case "call_function" | "call_method":
                nodes.append(
                    {
                        "name": node.name,
                        "op": node.op,
                        "target": node.target if node.op == "call_method" else target_name(node.target),
                        "args": [encoder.encode(arg) for arg in node.args],
                        "kwargs": [[key, encoder.encode(arg)] for key, arg in node.kwargs.items()],
                    }
                )
                encoder.define(node)
            case "output":
                outputs = node.args[0]
            case other:
                raise WireError(f"node `{node.name}` is a `{other}`, which the wire form cannot represent")
    if not isinstance(outputs, (tuple, list)):
        outputs = (outputs,)
    return {
        "version": VERSION,
        "inputs": [node.name for node in graph.nodes if node.op == "placeholder"],
        "nodes": nodes,
        "outputs": [encoder.encode(output) for output in outputs],
    }


# Prefix of operators in graphs that were read from samples of Paddle.
_PADDLE = "torch.ops.paddle."


@functools.lru_cache(maxsize=4096)
def resolve(target: str) -> Callable[..., Any]:
    """Returns the function that a dotted target names."""
    head, _, rest = target.partition(".")
    if target == "builtins.getattr":
        return builtins.getattr
    if target.startswith(_PADDLE):
        name = target.removeprefix("torch.ops.")
        raise WireError(
            f"`{name}` is an operator of Paddle; graphs of Paddle can be stored, compared, folded and shown, but only PyTorch runs graphs"
        )
    roots = {"torch": torch, "operator": operator}
    try:
        value = functools.reduce(getattr, rest.split("."), roots[head])
    except (KeyError, AttributeError):
        raise WireError(f"target `{target}` does not exist in torch {torch.__version__}") from None
    if not callable(value):
        raise WireError(f"target `{target}` is not callable")
    return value


_NAMESPACES = (
    "torch",
    "torch.nn.functional",
    "torch._C._nn",
    "torch.functional",
    "torch.special",
    "torch.linalg",
    "torch.fft",
)


@functools.cache
def _public_names() -> dict[int, str]:
    """Returns the dotted names of the functions of the usual namespaces, by `id`. The first namespace wins."""
    names: dict[int, str] = {}
    for namespace in _NAMESPACES:
        module = functools.reduce(getattr, namespace.split(".")[1:], torch)
        for name, value in vars(module).items():
            if callable(value) and not isinstance(value, type):
                names.setdefault(id(value), f"{namespace}.{name}")
    return names


def target_name(function: Callable[..., Any]) -> str:
    """Returns the dotted name that `resolve` maps to the function. Aliases share one name."""
    if function is builtins.getattr:
        return "builtins.getattr"
    name = getattr(function, "__name__", "")
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    if public := _public_names().get(id(function)):
        return public
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return f"torch.ops.{function}"
    dotted = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    if dotted.startswith("torch."):
        try:
            if resolve(dotted) is function:
                return dotted
        except WireError:
            pass
    raise WireError(f"`{dotted}` is not a function of torch or operator")


def decode(value: Any, values: Sequence[Any]) -> Any:
    """Returns an argument from its wire form. `values` are the values that `ref` numbers."""
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise WireError(f"an argument has the keys {sorted(value)}; exactly one is allowed")
    ((kind, content),) = value.items()
    match kind:
        case "ref":
            if not 0 <= content < len(values):
                raise WireError(f"reference to value {content}, but only {len(values)} exist so far")
            return values[content]
        case "list":
            return [decode(item, values) for item in content]
        case "tuple":
            return tuple(decode(item, values) for item in content)
        case "slice":
            return slice(*(decode(item, values) for item in content))
        case "ellipsis":
            return ...
        case "float":
            return float(content)
        case "dtype":
            return getattr(torch, content)
        case "device":
            kind, index = content
            return torch.device(kind) if index is None else torch.device(kind, index)
        case "attr":
            return functools.reduce(getattr, content.split(".")[1:], torch)
    raise WireError(f"an argument is of the unknown kind `{kind}`")


class Encoder:
    """Encodes arguments in wire form. Numbers values in the order of their definition."""

    def __init__(self) -> None:
        self._numbers: dict[torch.fx.Node, int] = {}

    def define(self, node: torch.fx.Node) -> int:
        """Assigns the next number to a node and returns the number."""
        return self._numbers.setdefault(node, len(self._numbers))

    def encode(self, value: Any) -> Any:
        """Returns the wire form of one argument."""
        match value:
            case torch.fx.Node():
                return {"ref": self._numbers[value]}
            case None | bool() | str():
                return value
            case int():
                if not _SMALLEST_INT <= value <= _LARGEST_INT:
                    raise WireError(f"integer {value} does not fit 64 bits")
                return value
            case float():
                return value if math.isfinite(value) else {"float": str(value)}
            case tuple():  # torch.Size and named tuples too
                return {"tuple": self._all(value)}
            case list():  # torch.fx's immutable list too
                return {"list": self._all(value)}
            case slice():
                return {"slice": self._all((value.start, value.stop, value.step))}
            case torch.dtype():
                return {"dtype": str(value).removeprefix("torch.")}
            case torch.device():
                return {"device": [value.type, value.index]}
            case torch.layout() | torch.memory_format():
                return {"attr": str(value)}
        if value is ...:
            return {"ellipsis": True}
        raise WireError(f"an argument of type `{type(value).__name__}` cannot be represented in wire form")

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.encode(value) for value in values]
