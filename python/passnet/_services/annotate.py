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

Without ``variants``, the last two fields are empty.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._capture.sample import LITERAL_LIMIT, _rounded
from passnet._passes.wire import target_name, to_graph_module
from passnet._services import shape_variants
from passnet._services.inputs import dtype_name, make_inputs
from passnet._services.serve import is_over_memory, serve_in_children
from passnet._summary import summary


class AnnotateError(RuntimeError):
    """A graph does not run; the message names the op that failed."""


def annotate(request: dict[str, Any]) -> dict[str, Any]:
    module = to_graph_module(request["graph"])
    metas = request["inputs"]
    values, stopped = [None] * len(_names(module)), None
    executed = _nbytes(metas) <= request["max_bytes"]
    if executed:
        values, stopped = _execute(module, metas)
    if not executed or stopped is not None:
        # Some ops need content to compute their shape. If one fails for that reason, the reason to report is why the run failed.
        executed, reason = False, stopped
        types, stopped = _propagate(module, metas)
        values = [value if value is not None else kind for value, kind in zip(values, types, strict=True)]
        if stopped is not None:
            raise AnnotateError(stopped if reason is None or _lies(stopped) else reason)
    shapes = {name: v["shape"] for name, v in zip(_names(module), values, strict=True) if v is not None}
    annotation = {"values": values, "executed": executed, "assignments": [], "dtypes": []}
    if request.get("variants", True):
        variants = shape_variants.Variants(request["graph"], metas, shapes)
        annotation["assignments"] = variants.assignments()
        annotation["dtypes"] = [variants.cast(dtype) for dtype in ("float16", "bfloat16")]
    return annotation


def _names(module: torch.fx.GraphModule) -> list[str]:
    """Returns the names of inputs and nodes in order."""
    return [node.name for node in module.graph.nodes if node.op != "output"]


def _lies(message: str) -> bool:
    """Returns whether propagation failed for a reason other than an op that needs content."""
    return not any(word in message for word in ("DataDependent", "UnsupportedOperator", "DynamicOutputShape", "item"))


def _nbytes(metas: list[dict[str, Any]]) -> int:
    return sum(torch.Size(meta["shape"]).numel() * getattr(torch, meta["dtype"]).itemsize for meta in metas)


class _Recorder(torch.fx.Interpreter):
    """Runs a graph and keeps the result of `describe` for each value. `failure` names the op that failed."""

    def __init__(self, module: torch.fx.GraphModule, describe: Any) -> None:
        super().__init__(module)
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
        return [self.seen.get(name) for name in _names(self.module)], self.failure


def _propagate(module: torch.fx.GraphModule, metas: list[dict[str, Any]]) -> tuple[list[Any], str | None]:
    with FakeTensorMode(), torch.no_grad():
        inputs = [torch.empty(meta["shape"], dtype=getattr(torch, meta["dtype"])) for meta in metas]
        return _Recorder(module, _type).collect(inputs)


def _execute(module: torch.fx.GraphModule, metas: list[dict[str, Any]]) -> tuple[list[Any], str | None]:
    with torch.no_grad():
        return _Recorder(module, _measure).collect(make_inputs(metas))


def _type(tensor: torch.Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": dtype_name(tensor)}


def _measure(tensor: torch.Tensor) -> dict[str, Any]:
    meta = _type(tensor)
    count = tensor.numel()
    if count == 0 or tensor.layout != torch.strided or tensor.is_complex():
        return meta
    if count < LITERAL_LIMIT:
        literals = [_rounded(x, 9) for x in tensor.flatten().tolist()]
        meta["data"] = [x if not isinstance(x, float) or abs(x) < float("inf") else str(x) for x in literals]
    if tensor.is_floating_point():
        # float32 is enough: PyTorch accumulates the sums in higher precision.
        exact = tensor if tensor.dtype == torch.float64 else tensor.float()
        std, mean = torch.std_mean(exact, correction=min(count - 1, 1))
        meta["mean"], meta["std"] = _number(mean.item()), _number(std.item())
        if "data" not in meta and exact.min().item() >= 0:
            meta["min_val"] = 0.0
    elif tensor.dtype != torch.bool and "data" not in meta:
        meta["min_val"], meta["max_val"] = float(tensor.min()), float(tensor.max())
    return meta


def _number(value: float) -> float | None:
    # JSON has no NaN. If the number is null, the rules for inputs use their default.
    return _rounded(value, 6) if abs(value) < float("inf") else None


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve_in_children(annotate)
