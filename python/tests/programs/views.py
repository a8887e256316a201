"""Results that share memory with arguments, with parameters or with each other, and memory formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from programs import Compile


def result_is_a_view_of_the_argument(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (torch.relu(x).sum(), x[1:].t()))
    for _ in range(3):
        x = torch.arange(6.0).reshape(3, 2)
        total, view = call(x)
        view.mul_(-1)
        yield total, view, x
        x.zero_()
        yield view


def results_share_memory(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.tanh(x) * 2
        return y, y[0], y.flatten(), y

    call = compiled(function)
    for _ in range(2):
        whole, row, flat, again = call(torch.arange(6.0).reshape(2, 3))
        row.fill_(5)
        flat[-1] = 9
        yield whole, row, flat, again is whole


def result_is_the_argument(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: (x, y + 1, x.contiguous(), x.to(torch.float32)))
    for _ in range(2):
        x = torch.arange(3.0)
        found = call(x, torch.ones(3))
        yield [value is x for value in found]
        found[0].add_(1)
        yield x, *found


def result_is_a_parameter(compiled: Compile) -> Iterator[Any]:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return torch.relu(x) * self.weight, self.weight, self.weight[1:]

    model = Model()
    call = compiled(model)
    for _ in range(2):
        result, weight, part = call(torch.arange(3.0))
        yield result, part, weight is model.weight
        with torch.no_grad():
            part.add_(1)
        yield model.weight


def expanded_memory(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (x.expand(3, 4), x.expand(3, 4) * 2 + 1, x.expand(3, 4).relu().stride()))
    for x in (torch.arange(4.0), torch.arange(4.0), torch.arange(3.0).reshape(3, 1)):
        whole, result, strides = call(x)
        yield whole.stride(), whole.contiguous(), result, strides


def strides_by_hand(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        windows = x.as_strided((3, 4), (2, 1), x.storage_offset())
        return windows, torch.tanh(windows) * x.unfold(0, 4, 2)

    call = compiled(function)
    scaled = compiled(lambda x: torch.relu(x) * x.storage_offset())
    for offset in (0, 3, 0):
        yield call(torch.arange(16.0)[offset : offset + 8])
        yield scaled(torch.arange(16.0)[offset : offset + 8])


def transposed_arguments(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x) * 2 + x.sigmoid())
    x = torch.linspace(-1, 1, 24)
    for argument in (x.reshape(4, 6), x.reshape(6, 4).t(), x.reshape(4, 6)[::2], x.reshape(4, 6)[:, 1:5], x.flip(0)):
        yield call(argument)


def channels_last(compiled: Compile) -> Iterator[Any]:
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).eval()
    call, x = compiled(model), torch.linspace(-1, 1, 100).reshape(2, 2, 5, 5)
    with torch.no_grad():
        for _ in range(2):
            yield call(x)
            yield call(x.to(memory_format=torch.channels_last))


def copies_by_need(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x).reshape(-1) + x.reshape(-1))
    aliased = compiled(lambda x: x.reshape(2, -1))
    for x in (torch.arange(8.0).reshape(4, 2), torch.arange(8.0).reshape(2, 4).t(), torch.arange(8.0)):
        yield call(x)
        aliased(x).add_(1)
        yield x


def pieces(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> Any:
        first, second = torch.relu(x).chunk(2, 1)
        return (first * second, *x.split([1, 3], 1), x.unbind(0), torch.tensor_split(x, 3))

    call = compiled(function)
    for rows in (2, 3, 2):
        yield call(torch.linspace(-1, 1, rows * 4).reshape(rows, 4))


def views_of_views(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = x.view(2, 3, 4).permute(2, 0, 1)
        b = a[1:3].movedim(0, -1).diagonal(0, 1, 2)
        return b, b * 2

    call = compiled(function)
    for _ in range(2):
        x = torch.arange(24.0)
        view, _ = result = call(x)
        yield result
        view.neg_()
        yield x


def real_and_imaginary_parts(compiled: Compile) -> Iterator[Any]:
    def function(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        w = z * (1 + 2j)
        return w, w.real.relu(), torch.view_as_real(z), z.conj() * 2, w.abs()

    call = compiled(function)
    for _ in range(2):
        z = torch.complex(torch.linspace(-1, 1, 4), torch.arange(4.0))
        result = call(z)
        yield result
        result[2].zero_()
        yield z
