"""Calls that write to buffers or arguments, when a replacement raises an exception."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import passnet
import passnet.backend

_SCALED = """
import torch
from passnet import _native

# Long, so that the replacement is faster on any machine.
def pattern(x):
    for _ in range(30):
        x = torch.relu(x)
    return x * 3

def replacement_args(x):
    return (x,)

class State:
    fails = launches = False

def fused(x):
    if State.launches:
        _native.count_launch()
    if State.fails:
        raise ValueError("fails on request")
    return x.clamp(min=0) * 3

def replacement_func():
    return fused
"""


class Counting(torch.nn.Module):
    """Writes to its buffer and its argument before the operations that the pass replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        x.sub_(0.5)
        y = x - self.count
        for _ in range(30):
            y = torch.relu(y)
        return y * 3


def _compiled(write_passes: Callable[..., Path], model: torch.nn.Module) -> tuple[passnet.Compiled, type]:
    compiled = passnet.compile(model, passes=write_passes(scaled=_SCALED), author=None)
    x = torch.arange(12.0).reshape(3, 4)
    for _ in range(3):
        compiled(x.clone())
    (built,) = compiled.report().as_dict()["specialisations"]
    assert [region["kept"] for region in built["regions"]] == [True], built
    (rule,) = compiled._known
    return compiled, rule.replacement.__globals__["State"]


@torch.no_grad()
def test_the_pattern_is_computed_if_no_kernel_was_launched(write_passes: Callable[..., Path]):
    ours, theirs = Counting().eval(), Counting().eval()
    compiled, state = _compiled(write_passes, ours)
    theirs.load_state_dict(ours.state_dict())
    state.fails = True
    for number in range(3):
        x, y = (torch.arange(12.0).reshape(3, 4) + 9 for _ in range(2))
        if number == 0:
            with pytest.warns(RuntimeWarning, match="fails on request"):
                result = compiled(x)
        else:
            result = compiled(x)
        torch.testing.assert_close((result, x, ours.count), (theirs(y), y, theirs.count), rtol=0, atol=0)


@torch.no_grad()
def test_nothing_is_computed_twice_after_a_launch(write_passes: Callable[..., Path]):
    model = Counting().eval()
    compiled, state = _compiled(write_passes, model)
    state.fails = state.launches = True
    for number in range(4, 7):
        x = torch.zeros(3, 4)
        with pytest.raises(ValueError, match="fails on request"):
            compiled(x)
        # The writes before the replacement happened once.
        assert model.count.tolist() == [number] * 4
        assert x.eq(-0.5).all()


def test_a_region_that_reads_what_it_writes_through_another_view_is_left_to_pytorch(write_passes: Callable[..., Path]):
    """Tests a replacement that is right only for separate arguments. A comparison of few rows would not show every order of threads."""
    source = """
        def pattern(x, y):
            return x.add_(y.flip(0))

        def replacement_args(x, y):
            return (x, y)

        def fused(x, y):
            return x.add_(y.flip(0))

        def replacement_func():
            return fused
    """

    def model(x: torch.Tensor) -> torch.Tensor:
        x[1:].add_(x[:-1].flip(0))
        return x * 2

    compiled = passnet.compile(model, passes=write_passes(sums=source), author=None)
    for _ in range(3):
        x, y = (torch.arange(12.0).reshape(3, 4) for _ in range(2))
        torch.testing.assert_close((compiled(x), x), (model(y), y))
    (built,) = compiled.report().as_dict()["specialisations"]
    (region,) = built["regions"]
    assert "share memory" in region["reason"], region


@pytest.mark.parametrize("how", ["compile", "unverified", "backend"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_write_by_a_kernel_counts_as_a_write(how: str, mode: Callable[[], Any]):
    """A backward that needs the contents before the write has to raise an exception, because its gradients would be wrong."""
    torch._dynamo.reset()
    passnet.backend.register()

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(0.5).add_(y).clamp_(-1, 1)
        return torch.sigmoid(x * 2) + y

    if how == "backend":
        compiled = torch.compile(function, backend="passnet", dynamic=False)
    else:
        compiled = passnet.compile(function, verify=how == "compile")
    for _ in range(4):
        weight, x, y = torch.ones(64, 64, requires_grad=True), torch.ones(64, 64), torch.ones(64, 64)
        product = (weight * x).sum()
        with mode():
            compiled(x, y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
