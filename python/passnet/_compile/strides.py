"""Corrects the strides that Dynamo noted in a captured graph to those that PyTorch computes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.types import without_data

# Graphs whose noted strides are correct.
_noted: weakref.WeakSet[torch.fx.GraphModule] = weakref.WeakSet()


def run_noting_strides(module: torch.fx.GraphModule, values: Sequence[Any]) -> Any:
    """Runs a graph on these arguments, and corrects the noted types of values that have other strides. Returns its results.

    Libraries choose strides, for example of a convolution, by rules that Dynamo does not know, and a pass is written for the noted
    strides.
    """
    results = _Runner(module).run(*values)
    _noted.add(module)
    return results


def note_strides(module: torch.fx.GraphModule, example: Sequence[torch.Tensor]) -> None:
    """Corrects the noted strides of a graph, as `run_noting_strides` does, if that has not run this graph.

    The run writes to the arguments that the graph writes to.
    """
    if module not in _noted:
        with torch.no_grad():
            run_noting_strides(module, example)


class _Runner(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        # Exceptions keep the text that they have when the model itself raises them.
        self.extra_traceback = False
        self.mode = FakeTensorMode()

    def run_node(self, node: torch.fx.Node) -> Any:
        # Without the stacks that the interpreter notes for messages.
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        result = getattr(self, node.op)(node.target, args, kwargs)
        noted = node.meta.get("example_value")
        if _differs(result, noted):
            node.meta["example_value"] = without_data(result, self.mode)
        return result


def _differs(value: Any, noted: Any) -> bool:
    both = isinstance(value, torch.Tensor) and isinstance(noted, torch.Tensor)
    return (
        both
        and value.layout == torch.strided
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        # A size that depends on values has no number to compare.
        and all(type(size) is int for size in (*noted.shape, *noted.stride()))
        and value.shape == noted.shape
        and value.stride() != noted.stride()
    )
