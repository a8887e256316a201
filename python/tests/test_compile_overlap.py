"""Arguments that share memory, in calls that write to one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import passnet
import passnet.backend

Function = Callable[[torch.Tensor, torch.Tensor], Any]


def read_before_write(x: torch.Tensor, y: torch.Tensor) -> Any:
    r = y * 4
    x[:, 1:2].zero_()
    return torch.sigmoid(r) + 1


def write_between(x: torch.Tensor, y: torch.Tensor) -> Any:
    r = y * 4
    x[:, 1:2].zero_()
    return x.add_(1), y.index_add_(0, torch.tensor([0, 2]), r[:2])


def write_by_function(x: torch.Tensor, y: torch.Tensor) -> Any:
    r = torch.relu(y - 3)
    torch.nn.functional.relu(x - 9, inplace=True)
    torch.mul(r, 2, out=x)
    return torch.tanh(r) * 2


def write_by_flag(x: torch.Tensor, y: torch.Tensor) -> Any:
    r = y - 20
    torch.nn.functional.hardtanh(x, -3, 3, True)
    return torch.sigmoid(r) + y


def statistics(x: torch.Tensor, y: torch.Tensor) -> Any:
    r = y[0] * 4
    z = torch.nn.functional.batch_norm(torch.ones(3, 6).cumsum(0), x[0], x[1], None, None, True)
    return torch.sigmoid(r) + 1 + z


def write_to_own_value(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.sigmoid((x * 2).add_(y)) + y


_FUNCTIONS = [read_before_write, write_between, write_by_function, write_by_flag, statistics, write_to_own_value]


def _separate() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.arange(36.0).reshape(6, 6) + 1
    return x, x.clone()


def _view() -> tuple[torch.Tensor, torch.Tensor]:
    x, _ = _separate()
    return x, x.view(6, 6)


def _two_storages() -> tuple[torch.Tensor, torch.Tensor]:
    values = _separate()[0].numpy()
    return torch.from_numpy(values), torch.from_numpy(values)


def _overlapping() -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.arange(42.0).reshape(7, 6) + 1
    return values[:6], values[1:]


_PLACES = [_separate, _view, _two_storages, _overlapping]


def _compiled(how: str, function: Function) -> Function:
    if how == "compile":
        return passnet.compile(function, verify=False)
    torch._dynamo.reset()
    passnet.backend.register()
    return torch.compile(function, backend="passnet", dynamic=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["compile", "backend"])
@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda function: function.__name__)
def test_calls_that_write_to_shared_memory(function: Function, how: str):
    for first in _PLACES:
        compiled = _compiled(how, function)
        # The kind of the first call must not decide for the others.
        for place in (first, first, *_PLACES, *_PLACES):
            sides = []
            for side in (function, compiled):
                x, y = place()
                with torch.no_grad():
                    sides.append((side(x, y), x, y))
            torch.testing.assert_close(sides[1], sides[0], msg=lambda text, place=place: f"{place.__name__}: {text}")


def test_an_argument_that_is_a_view_of_a_parameter():
    class Shifts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(6.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            r = self.weight * 4
            x.zero_()
            return torch.sigmoid(r) + 1

    ours, theirs = Shifts().eval(), Shifts().eval()
    compiled = passnet.compile(ours, verify=False)
    with torch.no_grad():
        for shares in (False, False, True, True, False):
            results = []
            for model, call in ((ours, compiled), (theirs, theirs)):
                model.weight.copy_(torch.arange(6.0))
                results.append(call(model.weight[2:] if shares else torch.ones(4)))
            torch.testing.assert_close(*results)


@pytest.mark.filterwarnings("ignore")
def test_a_step_of_training():
    def function(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        r = torch.sigmoid(y * 0.01 + weight)
        x.zero_()
        return (r * 2 + 1).sum()

    compiled = passnet.compile(function)
    for place in (_separate, _view, _view, _separate):
        gradients = []
        for side in (function, compiled):
            weight = torch.full((6,), 0.1, requires_grad=True)
            side(*place(), weight).backward()
            gradients.append(weight.grad)
        torch.testing.assert_close(*gradients)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [None, False])
def test_gradients_of_separate_arguments_after_shared_ones(dynamic: bool | None):
    """AOTAutograd compiles for arguments that share memory as in the first call."""

    def function(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y.mul_(weight)
        return x + 1, y

    torch._dynamo.reset()
    passnet.backend.register()
    compiled = torch.compile(function, backend="passnet", dynamic=dynamic)
    for place in (_view, _view, _separate, _separate, _view, _overlapping):
        outcomes = []
        for side in (function, compiled):
            weight = torch.full((6,), 0.5, requires_grad=True)
            x, y = (value * 1 for value in place()) if place is _separate else place()
            results = side(x, y, weight)
            results[1].sum().backward()
            outcomes.append([value.detach() for value in (x, y, *results)] + [weight.grad])
        torch.testing.assert_close(*outcomes)
