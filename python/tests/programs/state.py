"""Modules that change: counters, buffers, caches, modes, parts that are replaced, and random numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from programs import Compile


class _Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls, self.log = 0, []
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.log.append(self.calls)
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        return torch.relu(x - self.mean) * self.calls


class _Cached(nn.Module):
    """Keeps what it has seen, as a language model does."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        return torch.softmax(x @ self.cache.t(), -1) @ self.cache


_X = torch.linspace(-1, 1, 12).reshape(4, 3)


def counters_and_buffers(compiled: Compile) -> Iterator[Any]:
    model = _Counted()
    call = compiled(model)
    for step in range(3):
        yield call(_X + step)
        yield model.calls, list(model.log), model.mean, model._buffers["mean"] is model.mean


def cache_that_grows(compiled: Compile) -> Iterator[Any]:
    model = _Cached()
    call = compiled(model)
    for _ in range(4):
        yield call(_X[:2])
        yield model.cache
    model.cache = None
    yield call(_X)


def batch_norm_in_both_modes(compiled: Compile) -> Iterator[Any]:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU(), nn.Dropout(0.5))
    call = compiled(model)
    for training in (True, True, False, True):
        model.train(training)
        torch.manual_seed(1)
        yield call(_X)
        yield dict(model.named_buffers())


def buffers_that_are_replaced(compiled: Compile) -> Iterator[Any]:
    model = nn.Module()
    model.register_buffer("scale", torch.ones(3))
    call = compiled(lambda x: torch.relu(x) * model.scale)
    for scale in (torch.ones(3), torch.full((3,), 2.0), torch.tensor(3.0), torch.ones(3).double()):
        model.scale = scale
        yield call(_X)
        model.scale.mul_(2)
        yield call(_X)


def layers_that_are_replaced(compiled: Compile) -> Iterator[Any]:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    nn.init.constant_(model[0].weight, 0.2)
    nn.init.constant_(model[0].bias, -0.1)
    call = compiled(model)
    yield call(_X)
    model[1] = nn.Tanh()
    yield call(_X)
    model.append(nn.Softmax(-1))
    yield call(_X)
    model[0] = nn.Identity()
    yield call(_X)
    del model[2]
    yield call(_X)


def weights_that_are_loaded(compiled: Compile) -> Iterator[Any]:
    model = nn.Linear(3, 2)
    call = compiled(model)
    states = [{"weight": torch.full((2, 3), value), "bias": torch.ones(2)} for value in (0.5, 2.0)]
    for assign in (False, True):
        for state in states:
            model.load_state_dict(copy.deepcopy(state), assign=assign)
            yield call(_X)
    model.double()
    yield call(_X.double())
    model.to(torch.bfloat16)
    yield call(_X.bfloat16())
    model.float()
    yield call(_X)


def tied_weights(compiled: Compile) -> Iterator[Any]:
    model = nn.ModuleDict({"into": nn.Embedding(5, 3), "out": nn.Linear(3, 5, bias=False)})
    nn.init.constant_(model["into"].weight, 0.3)
    model["out"].weight = model["into"].weight
    call = compiled(lambda ids: model["out"](torch.tanh(model["into"](ids))))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimiser.zero_grad()
        loss = call(torch.tensor([0, 3, 3])).square().sum()
        loss.backward()
        optimiser.step()
        yield loss, model["into"].weight.clone()
    model["out"].weight = nn.Parameter(torch.ones(5, 3))
    yield call(torch.tensor([1]))


def copies_of_a_compiled_model(compiled: Compile) -> Iterator[Any]:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    nn.init.constant_(model[0].weight, 0.2)
    nn.init.constant_(model[0].bias, 0.1)
    first = compiled(model)
    yield first(_X)
    second = compiled(copy.deepcopy(model))
    with torch.no_grad():
        model[0].weight.zero_()
    yield first(_X), second(_X)


def random_numbers(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (nn.functional.dropout(torch.relu(x), 0.5), torch.rand_like(x), torch.randint(9, (3,))))
    torch.manual_seed(5)
    for _ in range(3):
        yield call(_X)
    yield torch.get_rng_state()


def random_numbers_with_gradients(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: nn.functional.dropout(torch.tanh(x), 0.3) * torch.randn(3))
    torch.manual_seed(6)
    for _ in range(3):
        x = _X.clone().requires_grad_()
        result = call(x)
        result.sum().backward()
        yield result, x.grad
    yield torch.rand(1)


def random_state_that_is_restored(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(9)
            noise = torch.randn(3)
        return torch.relu(x) + noise + torch.rand(3)

    call = compiled(function)
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        yield call(_X)
        yield torch.rand(1)


def attributes_by_name(compiled: Compile) -> Iterator[Any]:
    class Model(nn.Module):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("scale_"):
                return float(name[6:])
            return super().__getattr__(name)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = torch.relu(x) * self.scale_3
            return self.last + (self.extra if hasattr(self, "extra") else 0)

    model = Model()
    call = compiled(model)
    yield call(_X)
    yield model.last
    model.extra = 5.0
    yield call(_X)
    del model.extra
    yield call(_X)
