"""`torch.compile` with PassNet as its backend, for a model of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from passnet.backend import passnet, register


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.shift = torch.ones(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + torch.relu(x - self.shift)


PASS = """
import torch

def pattern(x):
    return torch.relu(x)

def replacement_args(x):
    return (x,)

def doubled_relu(x):
    return x.clamp(min=0) * 2

def replacement_func():
    return doubled_relu
"""


@pytest.mark.parametrize("by_name", [True, False])
def test_the_backend_rewrites_a_users_model(write_passes: Callable[..., Path], by_name: bool):
    register()
    register()
    model, x = Model(), torch.randn(3, 4)
    options = {"passes": write_passes(doubled=PASS), "verify": False}
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="passnet" if by_name else passnet, options=options)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x) * 2)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(model, backend="passnet" if by_name else passnet)(x), model(x))


PARTICULAR = """
import torch

def pattern(x, c0):
    return torch.relu(x) + c0

def replacement_args(x, c0):
    return (c0, x)

def fused(c0, x):
    if x.shape != (3, 4):
        raise ValueError("written for 3 rows")
    return x.clamp(min=0) + c0 + 1

def replacement_func():
    return fused
"""


def test_what_a_pass_refuses_is_computed_as_it_was(write_passes: Callable[..., Path]):
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 2

    torch._dynamo.reset()
    options = {"passes": write_passes(particular=PARTICULAR), "verify": False}
    compiled = torch.compile(model, backend=passnet, options=options)
    known, other = torch.randn(3, 4), torch.randn(5, 4)
    torch.testing.assert_close(compiled(known), model(known) + 1)
    with pytest.warns(RuntimeWarning, match="`particular`.*refuses.*written for 3 rows"):
        torch.testing.assert_close(compiled(other), model(other))
    torch.testing.assert_close(compiled(known), model(known) + 1)
