"""Runs the built-in author in this process: makes passes of a captured graph, without files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.fx

from passnet import _native, _progress
from passnet._backend.cache import Store, key_of
from passnet._backend.modes import in_other_modes
from passnet._backend.sources import load_passes
from passnet._passes.canonical import OpaqueEncoder, canonical_calls, function_name
from passnet._passes.load import Pass
from passnet._passes.wire import VERSION

_DTYPES = frozenset(
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()  # noqa: SIM905
)


class NotAuthoredError(Exception):
    """The author writes no passes for a graph; the message says why."""


@dataclass(frozen=True)
class Authored:
    """Passes that the author wrote for a graph."""

    passes: list[Pass]
    """The passes in their order of application."""
    texts: dict[str, str]
    """The text of each pass by its name."""
    faults: list[str]
    """Reasons why some passes cannot be used."""


def author_passes(
    graph: torch.fx.Graph,
    store: Store | None = None,
    *,
    judged: Literal["", "whole", "parts"] = "",
    name: str = "author:fuse",
    left: Collection[torch.fx.Node] = (),
) -> Authored:
    """Returns the passes that the built-in author writes for a graph of Dynamo.

    The types of values are those that Dynamo noted (`example_value`). Operations on values of unknown type, such as those with
    symbolic sizes, stay as they are. With a store, passes that were written before are read from the store. `judged` is not empty
    if each region will be compared with exact results. With `whole`, the author may also take operations whose rounding errors
    later operations enlarge. With `parts`, it leaves out the products of a region that was too slow as a whole. The passes are
    named `name` with a number. No pass replaces a node of `left`. Raises `NotAuthoredError`.
    """
    _progress.show("author: writing kernels")
    target = _target(graph)
    wire, types = _typed(graph, target, left)
    # The key contains all that the texts depend on, and the versions of PassNet, which writes them, and of PyTorch, which runs them.
    key = key_of("author", _native.VERSION, torch.__version__, target, judged, wire, types)
    texts = _texts(store.read(key)) if store is not None else None
    if texts is None:
        try:
            canonical = json.dumps(canonical_calls(graph))
            texts = _native.write_passes(wire, types, target, judged, canonical)
        except ValueError as error:
            raise NotAuthoredError(f"the graph cannot be given to the author: {error}") from None
        if store is not None:
            store.write(key, texts)
    named = [(f"{name}_{number}", text) for number, (_, text) in enumerate(texts)]
    passes, faults = load_passes(named)
    return Authored(passes, dict(named), faults)


def _texts(entry: Any) -> list[tuple[str, str]] | None:
    """Returns the names and texts of passes that an entry of a store has; None if the entry has other content."""
    if not isinstance(entry, list):
        return None
    texts = [(pair[0], pair[1]) for pair in entry if isinstance(pair, list) and len(pair) == 2]
    # JSON also has texts that are not valid Unicode.
    is_valid = all(_is_text(part) for pair in texts for part in pair)
    return texts if is_valid and len(texts) == len(entry) else None


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value.encode())
    except UnicodeEncodeError:
        return False


def author_parts(lost: dict[str, torch.fx.Graph], store: Store | None) -> list[Authored]:
    """Returns passes for parts of regions that lost as a whole. `lost` has their patterns by name of the pass.

    The parts are without matrix products, which a library may compute faster.
    """
    written = []
    for name, graph in lost.items():
        # The pattern has types and one device, because the graph that it is from has them.
        with contextlib.suppress(NotAuthoredError):
            written.append(author_passes(graph, store, judged="parts", name=f"{name}_part"))
    return written


def _target(graph: torch.fx.Graph) -> str:
    """Returns the type of the device that a graph runs on, e.g. `cuda`."""
    devices = {value.device for node in graph.nodes for value in [_example(node)] if isinstance(value, torch.Tensor)}
    accelerators = {device for device in devices if device.type != "cpu"}
    # A pass is one launch, and a launch has one device. CPU tensors next to a GPU are scalars, which
    # kernels take by value.
    if len(accelerators) > 1:
        raise NotAuthoredError(f"the graph runs on {' and '.join(sorted(map(str, accelerators)))}")
    target = accelerators.pop().type if accelerators else "cpu"
    if target not in ("cpu", "cuda"):
        raise NotAuthoredError(f"the author writes for `cpu` and `cuda`, not for `{target}`")
    return target


def _typed(graph: torch.fx.Graph, target: str, left: Collection[torch.fx.Node] = ()) -> tuple[str, str]:
    """Returns the wire form of a graph, and the types of its values except those of `left`, both as JSON."""
    encoder = OpaqueEncoder()
    in_mode = in_other_modes(graph)
    inputs = [node for node in graph.nodes if node.op in ("placeholder", "get_attr")]
    calls = [node for node in graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
    for node in inputs:
        encoder.define(node)
    encoded = []
    for node in calls:
        encoded.append(_call(node, encoder))
        encoder.define(node)
    outputs = graph.output_node().args[0]
    if not isinstance(outputs, (tuple, list)):
        outputs = (outputs,)
    wire = {
        "version": VERSION,
        "inputs": [node.name for node in inputs],
        "nodes": encoded,
        "outputs": [encoder.encode(output) for output in outputs],
    }
    # The author leaves values of unknown type to PyTorch, and moves nothing across calls that change a mode.
    types = [None if node in in_mode or node in left else _type(_example(node), target) for node in (*inputs, *calls)]
    return json.dumps(wire), json.dumps(types)


def _call(node: torch.fx.Node, encoder: OpaqueEncoder) -> dict[str, Any]:
    op, target = "call_function", node.target
    if node.op == "call_method":
        op = "call_method"
    elif node.op == "call_module":
        target = f"torch.ops.passnet_opaque.module_{str(target).replace('.', '_')}"
    else:
        target = function_name(target)
    return {
        "name": node.name,
        "op": op,
        "target": target,
        "args": [encoder.encode(arg) for arg in node.args],
        "kwargs": [[key, encoder.encode(arg)] for key, arg in node.kwargs.items()],
    }


def _example(node: torch.fx.Node) -> Any:
    return node.meta.get("example_value")


def _type(value: Any, target: str) -> Any:
    """Returns the type of a value in the form of `passnet._services.propagate`."""
    match value:
        case torch.Tensor():
            return _tensor_type(value, target)
        case bool() | None:
            return None
        case int():
            return {"int": value}
        case list() | tuple():
            return {"list": [_type(element, target) for element in value]}
    return None


def _tensor_type(value: torch.Tensor, target: str) -> Any:
    dtype = str(value.dtype).removeprefix("torch.")
    if value.layout != torch.strided or dtype not in _DTYPES or value.is_quantized:
        return None
    shape, stride = _sizes(value.shape), _sizes(value.stride())
    # For tensors without elements, such as a cache at the first step, calls with a pass would go back to PyTorch.
    if shape is None or stride is None or 0 in shape:
        return None
    own = {"shape": shape, "stride": stride, "dtype": dtype}
    return own if value.device.type == target else {"host": own}


def _sizes(sizes: Sequence[Any]) -> list[int] | None:
    """Returns the sizes as numbers; None if one of them is symbolic."""
    return list(sizes) if all(type(size) is int for size in sizes) else None
