"""Notes the types of values at the nodes of a graph, where the author reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode


def uninitialized(value: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the same type in new uninitialised memory."""
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


def without_data(value: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    """Returns a fake tensor of the same type, as Dynamo notes it."""
    with mode:
        return uninitialized(value)


def typed_pattern(pattern: torch.fx.Graph, values: Sequence[Any]) -> torch.fx.Graph:
    """Returns a copy of a pattern for these values of its parameters, with the types of its operations noted.

    Tensors become inputs; all other values become constants. This runs the pattern, which may write to the values.
    """
    graph = torch.fx.Graph()
    parameters = [node for node in pattern.nodes if node.op == "placeholder"]
    bound: dict[torch.fx.Node, Any] = {
        node: graph.placeholder(node.name) if isinstance(value, torch.Tensor) else value
        for node, value in zip(parameters, values, strict=True)
    }
    graph.output(graph.graph_copy(pattern, bound))
    mode = FakeTensorMode()

    def noted(value: Any) -> Any:
        return without_data(value, mode) if isinstance(value, torch.Tensor) else value

    class Runner(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            node.meta["example_value"] = torch.utils._pytree.tree_map(noted, result)
            return result

    Runner(torch.fx.GraphModule({}, graph)).run(*(value for value in values if isinstance(value, torch.Tensor)))
    return graph


def device_of(values: Sequence[Any]) -> torch.device:
    """Returns the device that a call with these values runs on. CPU tensors may occur next to tensors of a GPU."""
    devices = [value.device for value in values if isinstance(value, torch.Tensor)]
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))
