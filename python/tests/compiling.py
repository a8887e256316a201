"""A small model for tests of `passnet.compile`, and a check of its calls."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from passnet._compile.compiled import Compiled


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.drop, self.head = torch.nn.Dropout(0.5), torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.conv(x)))
        return self.head(self.drop(x.mean((2, 3))))


def net() -> Net:
    torch.manual_seed(0)
    model = Net().eval()
    with torch.no_grad():
        model.norm.running_mean.normal_()
        model.norm.running_var.uniform_(0.5, 2)
    return model


VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
OLDEST = VERSION < (2, 7)


def newer(reason: str) -> pytest.MarkDecorator:
    """Skips a test of which the oldest PyTorch, 2.6, cannot do something that has nothing to do with the results."""
    return pytest.mark.skipif(OLDEST, reason=f"with PyTorch 2.6, {reason}")


def image(batch: int = 2, size: int = 8) -> torch.Tensor:
    return torch.randn(batch, 3, size, size)


def check(compiled: Compiled, *args: Any, **kwargs: Any) -> None:
    """Three calls give what the model gives."""
    for _ in range(3):
        expected = compiled.model(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        found = compiled(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        assert type(found) is type(expected)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def kinds(compiled: Compiled) -> int:
    return len(compiled.report().specialisations)
