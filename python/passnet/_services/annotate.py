"""Annotates all values of a graph: shapes, dtypes, statistics, and shapes and dtypes for other inputs of the graph.

``python -m passnet._services.annotate`` answers lines ``{"graph": WIRE, "inputs": [META, ...], "max_bytes": N, "variants": BOOL}`` with

``values``
    for each input and node the meta of a tensor (shape, dtype, statistics or literals; without a name), or null
``executed``
    whether the statistics were measured by running the graph on random weights
``assignments``
    shapes of all values for other extents of the graph's data inputs (:mod:`passnet._services.shape_variants`)
``dtypes``
    for float16 and bfloat16, the dtype of each value if every float32 input has this dtype instead, as after ``model.half()``

Without ``variants``, the last two fields are empty. A later request computes them without another run: lines ``{"graph", "inputs", "shapes":
[SHAPE | null, ...], "assignments": N}`` are answered with ``assignments`` (at most N of them) and ``dtypes``.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._passes.wire import target_name, to_graph
from passnet._services import shape_variants
from passnet._services.inputs import dtype_name, make_inputs
from passnet._services.measure import Measurer, type_of
from passnet._services.serve import is_over_memory, serve_in_children
from passnet._summary import summary


class AnnotateError(RuntimeError):
    """A graph does not run; the message names the op that failed."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if "shapes" in request:
        return _variants(request["graph"], request["inputs"], request["shapes"], request["assignments"])
    return annotate(request)


def annotate(request: dict[str, Any]) -> dict[str, Any]:
    graph = to_graph(request["graph"])
    metas = request["inputs"]
    values, stopped = [None] * len(_names(graph)), None
    executed = _nbytes(metas) <= request["max_bytes"]
    if executed:
        values, stopped = _execute(graph, metas)
    if not executed or stopped is not None:
        # Some ops need content to compute their shape. If one fails for that reason, the reason to report is why the run failed.
        executed, reason = False, stopped
        types, stopped = _propagate(graph, metas)
        values = [value if value is not None else kind for value, kind in zip(values, types, strict=True)]
        if stopped is not None:
            raise AnnotateError(stopped if reason is None or _lies(stopped) else reason)
    annotation = {"values": values, "executed": executed, "assignments": [], "dtypes": []}
    if request.get("variants", True):
        shapes = [None if value is None else value["shape"] for value in values]
        annotation |= _variants(request["graph"], metas, shapes, shape_variants.MOST)
    return annotation


def _variants(
    graph: dict[str, Any], metas: list[dict[str, Any]], shapes: list[list[int] | None], most: int
) -> dict[str, Any]:
    variants = shape_variants.Variants(graph, metas, shapes)
    return {
        "assignments": variants.assignments(most),
        "dtypes": [variants.cast(dtype) for dtype in ("float16", "bfloat16")],
    }


def _names(graph: torch.fx.Graph) -> list[str]:
    """Returns the names of inputs and nodes in order."""
    return [node.name for node in graph.nodes if node.op != "output"]


def _lies(message: str) -> bool:
    """Returns whether propagation failed for a reason other than an op that needs content."""
    return not any(word in message for word in ("DataDependent", "UnsupportedOperator", "DynamicOutputShape", "item"))


def _nbytes(metas: list[dict[str, Any]]) -> int:
    return sum(torch.Size(meta["shape"]).numel() * getattr(torch, meta["dtype"]).itemsize for meta in metas)


class _Recorder(torch.fx.Interpreter):
    """Runs a graph and keeps the result of `describe` for each value. `failure` names the op that failed."""

    def __init__(self, graph: torch.fx.Graph, describe: Any) -> None:
        # Without a module of the graph, whose code would be written and compiled.
        super().__init__(torch.nn.Module(), graph=graph)
        self.describe, self.seen, self.failure = describe, {}, None

    def run_node(self, node: torch.fx.Node) -> Any:
        try:
            result = super().run_node(node)
        except Exception as error:
            target = node.target if isinstance(node.target, str) else target_name(node.target)
            self.failure = f"op `{node.name}` ({target}) fails: {summary(error)}"
            raise
        if isinstance(result, torch.Tensor) and dtype_name(result) is not None:
            self.seen[node.name] = self.describe(result)
        return result

    def collect(self, inputs: list[Any]) -> tuple[list[Any], str | None]:
        try:
            self.run(*inputs)
        except Exception as error:
            if is_over_memory(error):
                raise
            self.failure = self.failure or str(error)
        return [self.seen.get(name) for name in _names(self.graph)], self.failure


def _propagate(graph: torch.fx.Graph, metas: list[dict[str, Any]]) -> tuple[list[Any], str | None]:
    with FakeTensorMode(), torch.no_grad():
        inputs = [torch.empty(meta["shape"], dtype=getattr(torch, meta["dtype"])) for meta in metas]
        return _Recorder(graph, type_of).collect(inputs)


def _execute(graph: torch.fx.Graph, metas: list[dict[str, Any]]) -> tuple[list[Any], str | None]:
    with torch.no_grad():
        return _Recorder(graph, Measurer().measure).collect(make_inputs(metas))


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve_in_children(answer)
