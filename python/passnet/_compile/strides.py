"""Corrects the strides that Dynamo noted in a captured graph to those that PyTorch computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.types import without_data


def note_strides(module: torch.fx.GraphModule, example: Sequence[torch.Tensor]) -> None:
    """Runs a graph on these arguments, and corrects the noted types of values that have other strides.

    Libraries choose strides, for example of a convolution, by rules that Dynamo does not know, and a pass is written for the noted
    strides. The run writes to the arguments that the graph writes to.
    """
    mode = FakeTensorMode()

    class Runner(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            noted = node.meta.get("example_value")
            if _differs(result, noted):
                node.meta["example_value"] = without_data(result, mode)
            return result

    with torch.no_grad():
        Runner(module).run(*example)


def _differs(value: Any, noted: Any) -> bool:
    both = isinstance(value, torch.Tensor) and isinstance(noted, torch.Tensor)
    return (
        both
        and value.layout == torch.strided
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        and value.shape == noted.shape
        and value.stride() != noted.stride()
    )
