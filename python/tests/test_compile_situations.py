"""Programs around a compiled model: in each, `passnet.compile` and the backend compute what the program computes without them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional

import passnet
from passnet import backend
from passnet._backend.stopwatch import Comparison
from passnet._compile import compiled as compiled_module

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


@pytest.fixture(autouse=True)
def _as_in_a_fresh_process():
    torch._dynamo.reset()


class Toggled(torch.nn.Module):
    """Has parts that a program adds and removes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", None)
        self.register_parameter("shift", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(x) * 2
        x = x if self.mask is None else x * self.mask
        return x if self.shift is None else torch.tanh(x + self.shift)


class Weighted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(6, 6) / 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ self.weight) * 2 + 1


def numbers_of_python(compiled: Compile) -> Iterator[Any]:
    random.seed(3)
    call = compiled(lambda x: torch.relu(x) * random.random() + random.randint(0, 9))
    for _ in range(3):
        yield call(torch.ones(3))
    yield torch.tensor(random.random())


def numbers_of_a_generator(compiled: Compile) -> Iterator[Any]:
    generator = torch.Generator().manual_seed(3)
    call = compiled(lambda x: torch.relu(x + torch.rand(x.shape, generator=generator)) * 2)
    for _ in range(3):
        yield call(torch.ones(3))
    yield torch.rand(2, generator=generator)


def seeds_within(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        return torch.relu(x) * torch.rand(3) + 1

    call = compiled(function)
    for _ in range(3):
        yield call(torch.ones(3))
    yield torch.rand(2)


def arguments_that_overlap(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y).mul_(2)
        return x * y + torch.tanh(y)

    call = compiled(function)
    for _ in range(2):
        for place in (None, 4, 0):
            memory = torch.arange(48.0).reshape(8, 6) / 50
            yield call(memory[:4], torch.ones(4, 6) if place is None else memory[place : place + 4])
            yield memory


def memory_of_arguments(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        torch.add(x, 1, out=out)
        y = torch.zeros(4, 5)
        y[torch.tensor([0, 2])] = x[:2] * 2
        y.scatter_(1, torch.tensor([[0], [1], [2], [3]]), 9.0)
        return y.clamp_(max=8).tanh() * 2

    call = compiled(function)
    for shape in ((4, 5), (0,), (4, 5), (0,)):
        out = torch.empty(shape)
        yield call(torch.arange(20.0).reshape(4, 5) / 20, out)
        yield out


def gradients_of_overlapping_arguments(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: torch.sigmoid(x) * y + x)
    for places in ((0, 4), (2, 2), (0, 2), (0, 4)):
        memory = (torch.arange(40.0).reshape(8, 5) / 40).requires_grad_()
        call(*(memory[place : place + 4] for place in places)).square().sum().backward()
        yield memory.grad


def hooks_of_results(compiled: Compile) -> Iterator[Any]:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())
    torch.nn.init.constant_(model[0].weight, 0.1)
    torch.nn.init.constant_(model[0].bias, 0.2)
    call, x = compiled(model), torch.arange(8.0).reshape(2, 4)
    for _ in range(2):
        result = call(x)
        result.retain_grad()
        result.register_hook(lambda gradient: gradient * 2)
        result.square().sum().backward(retain_graph=True)
        result.sum().backward()
        yield from (result.grad, model[0].weight.grad.clone())
        with torch.autograd.graph.save_on_cpu():
            result = call(x)
        result.sum().backward()
        yield model[0].weight.grad.clone()


def parts_come_and_go(compiled: Compile) -> Iterator[Any]:
    model, x = Toggled(), torch.linspace(-1, 1, 4)
    call = compiled(model)
    with torch.no_grad():
        yield call(x)
        model.mask = torch.tensor([1.0, 0, 1, 0])
        yield call(x)
        model.shift = torch.nn.Parameter(torch.ones(4))
        yield call(x)
        model.mask = None
        yield call(x)


def parameters_of_other_sizes(compiled: Compile) -> Iterator[Any]:
    model, x = Weighted(), torch.linspace(-1, 1, 18).reshape(3, 6)
    call = compiled(model)
    with torch.no_grad():
        for weight in (torch.ones(6, 6), torch.ones(6, 4), torch.arange(24.0).reshape(4, 6).t(), torch.ones(6, 1)):
            model.weight.data = weight / 6
            yield from (call(x), call(x))
        other = {"weight": torch.ones(6, 2)}
        yield torch.func.functional_call(model, other, (x,))
        yield call(x)


def bits_of_another_type(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (x.view(torch.int32) & 0x7FFFFFFF).view(torch.float32) * 2)
    for _ in range(2):
        yield call(torch.linspace(-1, 1, 6))


def rows_that_are_masked(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        scores = x @ x.t()
        return functional.softmax(scores if mask is None else scores.masked_fill(mask, float("-inf")), -1) * 2

    call, x = compiled(function), torch.linspace(-1, 1, 12).reshape(3, 4)
    for mask in (None, torch.eye(3).bool(), torch.ones(3, 3).bool(), None):
        yield call(x) if mask is None else call(x, mask=mask)


SITUATIONS = [
    numbers_of_python,
    numbers_of_a_generator,
    seeds_within,
    arguments_that_overlap,
    memory_of_arguments,
    gradients_of_overlapping_arguments,
    hooks_of_results,
    parts_come_and_go,
    parameters_of_other_sizes,
    bits_of_another_type,
    rows_that_are_masked,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("path", ["compile", "backend"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_program_computes_what_it_computes_without_passnet(situation: Callable[..., Any], path: str):
    def by_backend(function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function, backend=backend.passnet)

    results = []
    for compiled in (lambda function: function, passnet.compile if path == "compile" else by_backend):
        torch.manual_seed(0)
        results.append([value.clone() for value in situation(compiled)])
    expected, found = results
    assert [value.stride() for value in found] == [value.stride() for value in expected]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


def part(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(torch.relu(x) * 2 + 1)


class Modes(torch.nn.Module):
    """The same operations without a mode, and in a mode of their own."""

    def __init__(self, mode: Callable[[], Any] | None) -> None:
        super().__init__()
        self.mode, self.lin = mode, torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if self.mode is None:
            inside = torch.vmap(part)(x[None]), torch.func.grad(lambda v: part(v).sum())(x)
            return part(x), *inside, part(x * 2)
        before = self.lin(x)
        with self.mode():
            inside = self.lin(x) * 2
        return before, inside, before + x


MODES: dict[str, Callable[[], Any] | None] = {
    "transforms": None,
    "gradients": torch.enable_grad,
    "no gradients": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_operations_in_a_mode_give_what_they_give_in_the_model(
    mode: str, verify: bool, monkeypatch: pytest.MonkeyPatch
):
    # Regions and calls are judged by their results alone.
    monkeypatch.setattr(Comparison, "loses", False)
    monkeypatch.setattr(compiled_module, "is_slower", lambda *_: False)
    model = Modes(MODES[mode])
    compiled = passnet.compile(model, verify=verify)
    for context in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with warnings.catch_warnings(), context():
            warnings.simplefilter("ignore")
            for _ in range(3):
                x = torch.randn(4, 8)
                for ours, theirs in zip(compiled(x), model(x), strict=True):
                    torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-2)
                    assert ours.requires_grad == theirs.requires_grad
                    assert ours.is_inference() == theirs.is_inference()
    # Inference mode within a compiled step would break all later calls of the thread.
    assert torch.ones(2).double().sum() == 2
    assert compiled.report().specialisations and not any("failed" in reason for reason in compiled.report().eager)
