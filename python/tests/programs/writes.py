"""Writes into arguments, views, globals and containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from programs import Compile

_TABLE = torch.zeros(4)
_COUNTS = {"calls": 0}


def into_an_argument(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        before = x.tanh()
        x.mul_(2).add_(1).relu_()
        return before + x

    call = compiled(function)
    x = torch.linspace(-1, 1, 4)
    for _ in range(3):
        yield call(x)
        yield x.clone()


def into_a_view_of_an_argument(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        row = x[1]
        row += x[0] * 2
        x[:, 0] = -1
        x.t()[2].zero_()
        return x.sum(0) + row

    call = compiled(function)
    for shape in ((3, 4), (2, 3), (3, 4)):
        x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
        yield call(x)
        yield x


def by_masks_and_indices(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        y[x > 0.5] = 7
        y[index] += 1
        y[..., -1] = y[..., 0] * 2
        y.index_add_(0, index, torch.ones(2, x.shape[1]))
        return y * 2

    call = compiled(function)
    for index in ([0, 2], [1, 1], [0, 2]):
        yield call(torch.linspace(-1, 1, 12).reshape(3, 4), torch.tensor(index))


def into_a_global_tensor(compiled: Compile) -> Iterator[Any]:
    _TABLE.zero_()

    def function(x: torch.Tensor) -> torch.Tensor:
        _TABLE.add_(x)
        return _TABLE * 2

    call = compiled(function)
    for step in range(3):
        yield call(torch.ones(4) * step)
        yield _TABLE.clone()


def into_global_state(compiled: Compile) -> Iterator[Any]:
    _COUNTS["calls"] = 0

    def function(x: torch.Tensor) -> torch.Tensor:
        _COUNTS["calls"] += 1
        return x * _COUNTS["calls"]

    call = compiled(function)
    for _ in range(3):
        yield call(torch.ones(2))
        yield _COUNTS["calls"]


def into_containers(compiled: Compile) -> Iterator[Any]:
    kept: list[torch.Tensor] = []

    def function(x: torch.Tensor, notes: dict[str, Any]) -> torch.Tensor:
        kept.append(torch.relu(x))
        notes["sum"] = x.sum()
        notes.setdefault("first", x + 1)
        return torch.stack(kept[-2:]).mean(0)

    call = compiled(function)
    notes: dict[str, Any] = {}
    for step in range(4):
        yield call(torch.ones(2) * step, notes)
        yield dict(notes)
    yield kept


def of_other_types(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, whole: torch.Tensor, half: torch.Tensor) -> torch.Tensor:
        whole.copy_(x * 3)
        half.copy_(x).div_(3)
        return whole + half

    call = compiled(function)
    for _ in range(2):
        whole, half = torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.bfloat16)
        yield call(torch.linspace(-1, 1, 4), whole, half)
        yield whole, half


def of_shape_alone(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.unsqueeze_(0)
        return torch.relu(x) * 2

    call = compiled(function)
    for _ in range(3):
        x = torch.linspace(-1, 1, 4)
        yield call(x)
        yield x


def of_the_same_argument_twice(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        y.mul_(2)
        return x + y

    call = compiled(function)
    for same in (False, True, False, True):
        x = torch.ones(3)
        y = x if same else torch.ones(3)
        yield call(x, y)
        yield x, y


def between_reads(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        view = x.reshape(-1)[::2]
        first = view * 2
        x.add_(10)
        second = view * 2
        return first, second

    call = compiled(function)
    for columns in (4, 3, 4):
        yield call(torch.arange(2.0 * columns).reshape(2, columns))


def into_what_gets_a_gradient(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.sigmoid(x) + 1
        y[0] = 0
        y.mul_(x)
        return y.tanh()

    call = compiled(function)
    for _ in range(2):
        x = torch.linspace(-1, 1, 6).reshape(3, 2).requires_grad_()
        result = call(x)
        result.sum().backward()
        yield result, x.grad
