"""Runs a sample from disk and checks that its outputs have the shapes and dtypes that were captured.

The run is on fake tensors, so it takes no memory and little time. Literals of the metas keep their values, because some graphs read a
number from a tensor. If the shape of an output depends on the values of inputs, any size is accepted.
"""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._pytree import tree_leaves

_PREFIX = "Program_weight_tensor_meta_"
# Exceptions that operations raise if they need values.
_NEEDS_VALUES = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    GuardOnDataDependentSymNode,
    UnsupportedOperatorException,
)


class ReplayError(RuntimeError):
    """A sample does not run as its model did; the message says how they differ."""


def expected_outputs(graph: torch.fx.Graph) -> list[Any]:
    """Returns the outputs of a graph according to Dynamo: (shape, dtype) of a tensor, the name of the type of another value."""
    nodes = tree_leaves(graph.output_node().args[0])
    return [_kind(node.meta.get("example_value") if isinstance(node, torch.fx.Node) else node) for node in nodes]


def check(folder: Path, expected: Sequence[Any]) -> bool:
    """Runs the sample. Returns True if its outputs are as `expected`, False if the run needs real values.

    Raises :class:`ReplayError` if the outputs differ or the run fails.
    """
    graph_module = runpy.run_path(str(folder / "model.py"))["GraphModule"]()
    classes = runpy.run_path(str(folder / "weight_meta.py"))
    metas = [vars(value) for name, value in classes.items() if name.startswith(_PREFIX)]
    literals = {
        meta["name"]: torch.tensor(meta["data"]).reshape(meta["shape"]).tolist() for meta in metas if meta.get("data")
    }
    with FakeTensorMode(shape_env=ShapeEnv()), torch.no_grad():
        values = {meta["name"]: _fake(meta, literals) for meta in metas}
        try:
            outputs = graph_module(**values)
        except _NEEDS_VALUES:
            return False
        except Exception as error:
            raise ReplayError(f"the sample fails when it runs again: {type(error).__name__}: {error}") from error
    found = [_kind(value) for value in tree_leaves(outputs)]
    if len(found) != len(expected):
        raise ReplayError(f"the sample returns {len(found)} values, its model {len(expected)}")
    for index, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if not _agree(ours, theirs):
            raise ReplayError(f"output {index} of the sample is {ours}, that of its model {theirs}")
    return True


def _fake(meta: dict[str, Any], literals: dict[str, Any]) -> torch.Tensor:
    dtype = getattr(torch, meta["dtype"].removeprefix("torch."))
    if meta["name"] in literals:
        return torch.tensor(literals[meta["name"]], dtype=dtype)
    return torch.empty(meta["shape"], dtype=dtype)


def _kind(value: Any) -> Any:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else type(value).__name__


def _agree(ours: Any, theirs: Any) -> bool:
    if not isinstance(ours, tuple) or not isinstance(theirs, tuple):
        # One of the two is a number, or a value that Dynamo does not describe.
        return not isinstance(ours, tuple) or theirs == "NoneType"
    (shape, dtype), (other_shape, other_dtype) = ours, theirs
    same = [
        a == b if isinstance(a, int) and isinstance(b, int) else True for a, b in zip(shape, other_shape, strict=False)
    ]
    return dtype == other_dtype and len(shape) == len(other_shape) and all(same)
