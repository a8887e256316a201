"""Numbers: special values, large integers, promotion, quantised and random numbers, reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from programs import Compile, outcome

_X = torch.linspace(-1, 1, 12).reshape(4, 3)


def numbers_of_numpy(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, scale: torch.relu(x) * scale + float(scale))
    for scale in (np.float32(2.0), np.float64(2.5), np.int64(3), 2, 2.5, True, np.float32(2.0)):
        yield call(_X, scale)


def special_numbers(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, scale: torch.clamp(x, max=scale) + (0 if math.isnan(scale) else 1))
    for scale in (math.inf, math.nan, -0.0, 0.0, -math.inf, 1e-45, math.nan, 0):
        yield call(_X, scale)
    power = compiled(lambda x, exponent: x**exponent)
    for exponent in (2, 2.0, 0, 0.5, -1, True):
        yield power(_X, exponent)


def large_integers(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, n: (x * n + n, x // 3, x % 5))
    x = torch.tensor([2**62, -(2**62), 7])
    for n in (1, 2**40, -(2**63), 2**63 - 1):
        yield call(x, n)
    yield outcome(lambda: call(x, 2**70))
    yield outcome(lambda: compiled(lambda x: x // 0)(x))
    small = compiled(lambda x: (x * 2, x + 200, -x, ~x, x << 1))
    yield small(torch.tensor([1, 100, 255], dtype=torch.uint8))
    yield small(torch.tensor([1, 100, 127], dtype=torch.int8))


def promotion(compiled: Compile) -> Iterator[Any]:
    values = [
        torch.tensor(3), torch.tensor(2.5), torch.tensor(2.5, dtype=torch.float64), torch.tensor([1.5], dtype=torch.float16),
        torch.tensor([2], dtype=torch.int32), torch.tensor([True]), torch.tensor([1j]),
    ]  # fmt: skip
    call = compiled(lambda x, y: (x + y, x * y, torch.where(x == y, x, y)))
    for left in values:
        for right in values[:4]:
            yield outcome(lambda left=left, right=right: call(left, right))


def quantised(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.dequantize(x) * 2 + 1)
    for scale in (0.1, 0.2):
        yield call(torch.quantize_per_tensor(_X, scale, 3, torch.quint8))
    fake = compiled(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127) * 2)
    for _ in range(2):
        x = _X.clone().requires_grad_()
        fake(x).sum().backward()
        yield x.grad
    weight = torch.arange(-6, 6, dtype=torch.int8).reshape(4, 3)
    linear = compiled(lambda x: functional.linear(x, weight.to(x.dtype) * 0.05) + 1)
    yield linear(_X), linear(_X.to(torch.bfloat16))


def complex_gradients(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2)

    call = compiled(function)
    for step in range(2):
        x = torch.linspace(-1, 1, 8).reshape(2, 4).requires_grad_()
        angles = torch.linspace(0, 1 + step, 4).reshape(2, 2).requires_grad_()
        call(x, angles).square().cumsum(0).sum().backward()
        yield x.grad, angles.grad


def reductions_with_places(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> Any:
        values, places = x.sort(dim=-1, descending=True, stable=True)
        return (
            values, places, x.max(0), x.topk(2), x.median(-1), x.mode(-1), x.kthvalue(2), torch.unique(x.round(), return_counts=True),
            torch.bincount((x.flatten() + 1).long()), torch.histc(x, 4), torch.searchsorted(values.flip(-1), x), x.aminmax(),
            torch.zeros(4, 3).scatter_reduce(0, places, x, "amax", include_self=False),
        )  # fmt: skip

    call = compiled(function)
    for x in (_X, _X.round(), torch.zeros(4, 3)):
        yield call(x)
        yield call(x)


def generators_as_arguments(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
        return torch.relu(x) + torch.randn(3, generator=generator)

    call = compiled(function)
    generator = torch.Generator().manual_seed(4)
    for _ in range(3):
        yield call(_X, generator), generator.get_state().sum()
    torch.manual_seed(2)
    yield call(_X)
    yield call(_X), torch.rand(1)


def random_operations(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> Any:
        return (
            torch.bernoulli(torch.sigmoid(x)), x.clone().normal_(0, 2), torch.multinomial(torch.softmax(x, -1), 2), torch.randperm(5),
            functional.dropout2d(x[None, :, :, None], 0.5), torch.empty(3).exponential_(2.0), functional.gumbel_softmax(x, hard=True),
            torch.normal(x, 1.0), functional.rrelu(x, training=True), torch.poisson(x.exp()),
        )  # fmt: skip

    call = compiled(function)
    torch.manual_seed(8)
    for _ in range(3):
        yield call(_X)
        yield torch.rand(2)
