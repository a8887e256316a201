"""`passnet.compile`: a change of the type of a parameter is seen, also if only the code reads it and no kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import passnet
from passnet import _native


class Reads(torch.nn.Module):
    """Reads a property of a parameter that the graph may not take."""

    def __init__(self, read: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.unused = torch.nn.Parameter(torch.ones(2, 3))
        self.read = read

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x.to(self.linear.weight.dtype) + self.read(self.unused)


def _to_double(model: torch.nn.Module) -> None:
    model.to(torch.float64)


def _transposed(model: Reads) -> None:
    model.unused.data = model.unused.data.t()


def _transposed_in_place(model: Reads) -> None:
    model.unused.data.t_()
    model.unused.data = model.unused.data.clone().t()


def _resized(model: Reads) -> None:
    model.unused.data = torch.ones(5, 3)


def _in_deep(model: Reads) -> None:
    model.unused.data = torch.ones(1, 1, 1, 1, 2, 3)


_CHANGES = (_to_double, _transposed, _transposed_in_place, _resized, _in_deep)


@pytest.mark.parametrize(
    ("change", "mode", "autocast"),
    [(change, torch.no_grad, False) for change in _CHANGES]
    + [(_to_double, mode, True) for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad)],
)
def test_properties_that_the_code_reads_from_a_parameter(change: Callable[[Reads], None], mode: Any, autocast: bool):
    reads = {
        _to_double: lambda tensor: torch.ones((), dtype=tensor.dtype),
        _in_deep: lambda tensor: tensor.dim(),
    }
    read = reads.get(change, lambda tensor: tensor.size(0) * 10 + tensor.stride(0))
    model, x = Reads(read).eval(), torch.randn(2, 4)
    compiled = passnet.compile(model, author=None)
    for step in range(2):
        if step:
            change(model)
        with mode(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            for _ in range(3):
                torch.testing.assert_close(compiled(x), model(x))


def test_a_parameter_with_many_dimensions_is_compared():
    model, x = Reads(lambda tensor: tensor.size(-1)).eval(), torch.randn(2, 4)
    model.unused.data = torch.ones(1, 1, 1, 1, 1, 1, 3)
    compiled = passnet.compile(model, author=None)
    with torch.no_grad():
        for size in (3, 4, 3):
            model.unused.data = torch.ones(1, 1, 1, 1, 1, 1, size)
            for _ in range(2):
                torch.testing.assert_close(compiled(x), model(x))


def test_types_are_compared_by_words_of_memory():
    asked = []
    tensors = torch.ones(2, 3), torch.nn.Parameter(torch.ones(())), torch.ones(1, 2, 3, 4, 5)

    def check(*given: torch.Tensor) -> bool:
        asked.append(given)
        return given[0].dtype == torch.float32

    types = _native.TensorTypes(tensors, check)
    assert types.hold() and not asked, "this version of PyTorch has another layout of tensors"
    # The offset is among the words, and no part of the type: the check is asked once.
    tensors[0].data = torch.ones(3, 3)[1:]
    assert types.hold() and types.hold() and len(asked) == 1
    for change in (torch.ones(2, 3, dtype=torch.int32), torch._neg_view(torch.ones(2, 3)), torch.ones(3, 2).t()):
        before = len(asked)
        tensors[0].data = change
        assert types.hold() == (change.dtype == torch.float32)
        assert len(asked) == before + 1


@pytest.mark.parametrize("content", [0, 90, 165])
def test_words_are_compared_with_any_content_of_fresh_memory(content: int):
    """glibc fills the memory that it gives out with the complement of `content`."""
    program = """
import torch
from passnet import _native

asked = []
types = _native.TensorTypes((torch.ones(2, 3),), asked.append)
assert types.hold() and not asked, "this version of PyTorch has another layout of tensors"
"""
    environment = os.environ | {"MALLOC_PERTURB_": str(content), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
