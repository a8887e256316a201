"""Checks that graphs run on the inputs that their metas describe.

``python -m passnet._services.prove`` answers lines ``{"graphs": [{"graph": WIRE, "inputs": [META, ...]}, ...], "max_bytes": N}``
with ``{"results": [...]}``: for each graph ``{"bytes": n}``, the bytes of its inputs and of all its values, or
``{"error": reason}``. Shapes are propagated first, so that a graph that needs more than `max_bytes` never allocates them. Then the graph
is called twice on the CPU. A graph that returns NaN, or another result the second time, is refused. A graph with constant results is
refused too: on other inputs, with recorded literals drawn again from their range, it has to return other values or to leave other values
in an input that it changes.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._passes.wire import to_graph_module
from passnet._services.inputs import INTEGERS, make_inputs
from passnet._services.serve import reason, serve_in_children


class ProofError(RuntimeError):
    """A graph does not meet the requirements for graphs of a suite."""


def prove(request: dict[str, Any]) -> dict[str, Any]:
    return {"results": [_guarded(graph, request["max_bytes"]) for graph in request["graphs"]]}


def _guarded(graph: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    try:
        return {"bytes": _prove_one(graph, max_bytes)}
    except Exception as error:
        return {"error": reason(error)}


class _Sizes(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.nbytes = 0

    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        if isinstance(result, torch.Tensor):
            self.nbytes += result.numel() * result.element_size()
        return result


def _prove_one(graph: dict[str, Any], max_bytes: int) -> int:
    module, metas = to_graph_module(graph["graph"]), graph["inputs"]
    with FakeTensorMode(), torch.no_grad():
        fakes = [torch.empty(meta["shape"], dtype=getattr(torch, meta["dtype"])) for meta in metas]
        sizes = _Sizes(module)
        sizes.run(*fakes)
    if sizes.nbytes > max_bytes:
        raise ProofError(f"its values take {sizes.nbytes} bytes, more than {max_bytes}")
    with torch.no_grad():
        outputs, again = (module(*make_inputs(metas)) for _ in range(2))
    if not all(isinstance(output, torch.Tensor) and output.numel() for output in outputs):
        raise ProofError("it returns a value that is not a tensor, or an empty tensor")
    if any(output.isnan().any() for output in outputs):
        raise ProofError("it returns NaN")
    if not all(torch.equal(a, b) for a, b in zip(outputs, again, strict=True)):
        raise ProofError("it returns other values when it is called again")
    if _is_constant(module, metas):
        raise ProofError("it returns the same for all inputs")
    return sizes.nbytes


def _is_constant(module: torch.fx.GraphModule, metas: list[dict[str, Any]]) -> bool:
    """Returns whether outputs and changed inputs are equal for three draws of the inputs. A graph without inputs is constant."""
    if not metas:
        return True
    first = _effects(module, make_inputs(metas, seed=0))
    for seed in (1, 2):
        other = _effects(module, make_inputs([_without_literals(meta) for meta in metas], seed))
        if len(first) != len(other) or not all(map(_same, first, other)):
            return False
    return True


def _effects(module: torch.fx.GraphModule, inputs: list[Any]) -> list[Any]:
    """Returns the outputs, and for each input its content after the call, or None if the call did not change it."""
    before = [value.clone() for value in inputs]
    with torch.no_grad():
        outputs = list(module(*inputs))
    return outputs + [None if _same(old, new) else new for old, new in zip(before, inputs, strict=True)]


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.nan_to_num(), b.nan_to_num())


def _without_literals(meta: dict[str, Any]) -> dict[str, Any]:
    """Returns the meta with the range, mean and deviation of its literals instead of the literals."""
    literals = [float(value) for value in meta.get("data") or []]
    finite = [value for value in literals if math.isfinite(value)]
    if not finite or len(finite) < len(literals):
        return meta
    changed = {**meta, "data": None}
    if meta["dtype"] in INTEGERS:
        # Integers may be indices of a table, so they stay between the least and the greatest recorded value.
        return {**changed, "min_val": min(finite), "max_val": max(finite)}
    mean = sum(finite) / len(finite)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in finite) / len(finite))
    return {**changed, "mean": mean, "std": deviation or 0.5 * abs(mean) or 1.0}


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve_in_children(prove)
