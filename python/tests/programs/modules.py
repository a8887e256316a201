"""Modules of PyTorch that do more than their operations: parametrizations, lazy modules, scripted parts, recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from programs import Compile

_X = torch.linspace(-1, 1, 6).reshape(2, 3)


def _linear(rows: int = 4, columns: int = 3) -> nn.Linear:
    layer = nn.Linear(columns, rows)
    with torch.no_grad():
        layer.weight.copy_(torch.linspace(-1, 1, rows * columns).reshape(rows, columns))
        layer.bias.fill_(0.1)
    return layer


def _trained(call: Any, model: nn.Module, x: torch.Tensor) -> Iterator[Any]:
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        optimiser.zero_grad()
        result = call(x)
        result.square().sum().backward()
        optimiser.step()
        yield result, [parameter.detach().clone() for parameter in model.parameters()]
    with torch.no_grad():
        yield call(x)


def parametrization_of_the_user(compiled: Compile) -> Iterator[Any]:
    class Symmetric(nn.Module):
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return weight.triu() + weight.triu(1).t()

    layer = _linear(3)
    call = compiled(nn.Sequential(layer, nn.ReLU()))
    yield call(_X)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    yield from _trained(call, layer, _X)
    with parametrize.cached():
        yield call(_X)
    parametrize.remove_parametrizations(layer, "weight")
    yield call(_X)


def weight_norm(compiled: Compile) -> Iterator[Any]:
    layer = parametrizations.weight_norm(_linear())
    yield from _trained(compiled(nn.Sequential(layer, nn.Tanh())), layer, _X)


def spectral_norm(compiled: Compile) -> Iterator[Any]:
    torch.manual_seed(3)
    layer = parametrizations.spectral_norm(_linear())
    call = compiled(nn.Sequential(layer, nn.Tanh()))
    for training in (True, True, False):
        layer.train(training)
        yield call(_X)
        yield [buffer.clone() for buffer in layer.buffers()]


def pruned_weights(compiled: Compile) -> Iterator[Any]:
    layer = _linear()
    call = compiled(nn.Sequential(layer, nn.ReLU()))
    yield call(_X)
    prune.l1_unstructured(layer, "weight", amount=0.5)
    yield call(_X)
    prune.remove(layer, "weight")
    yield call(_X)


def lazy_modules(compiled: Compile) -> Iterator[Any]:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU())
    call = compiled(model)
    torch.manual_seed(2)
    for _ in range(3):
        yield call(_X)
    yield model[0].weight, type(model[0]).__name__


def scripted_parts(compiled: Compile) -> Iterator[Any]:
    scripted = torch.jit.script(nn.Sequential(_linear(3), nn.ReLU()))
    call = compiled(lambda x: scripted(x) * 2 + torch.tanh(x))
    for _ in range(3):
        yield call(_X)
    traced = torch.jit.trace(_linear(), _X)
    yield compiled(lambda x: traced(x) + 1)(_X)


def recurrent_layers(compiled: Compile) -> Iterator[Any]:
    torch.manual_seed(4)
    model = nn.GRU(3, 4, batch_first=True)
    call, x = compiled(model), torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    result, state = call(x)
    yield result, state
    yield call(x, state)
    yield call(x[:, :2], state * 2)


def attention(compiled: Compile) -> Iterator[Any]:
    torch.manual_seed(4)
    model = nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
    for training in (True, False):
        call = compiled(model.train(training))
        yield call(x, x, x)
        yield call(x, x, x, need_weights=False, attn_mask=torch.ones(3, 3).triu(1).bool())


def embeddings(compiled: Compile) -> Iterator[Any]:
    torch.manual_seed(4)
    table, bag = nn.Embedding(6, 3, padding_idx=0, max_norm=1.0), nn.EmbeddingBag(6, 3)
    call = compiled(lambda ids: (torch.relu(table(ids)) * 2, bag(ids)))
    for ids in ([[0, 1], [5, 2]], [[3, 3], [0, 0]], [[0, 1], [5, 2]]):
        yield call(torch.tensor(ids))
        yield table.weight.clone()


def convolutions(compiled: Compile) -> Iterator[Any]:
    torch.manual_seed(4)
    model = nn.Sequential(
        nn.Conv1d(2, 4, 3, padding="same", padding_mode="circular"),
        nn.GroupNorm(2, 4),
        nn.SiLU(),
        nn.Upsample(scale_factor=2),
    )
    call = compiled(model)
    for length in (5, 6, 5):
        yield call(torch.linspace(-1, 1, 2 * length).reshape(1, 2, length))


def losses(compiled: Compile) -> Iterator[Any]:
    layer = _linear()
    call = compiled(lambda x, y: nn.functional.cross_entropy(layer(x), y, ignore_index=1, label_smoothing=0.1))
    for labels in ([0, 3], [1, 2], [1, 1]):
        layer.zero_grad()
        loss = call(_X, torch.tensor(labels))
        loss.backward()
        yield loss, layer.weight.grad


def containers_of_parameters(compiled: Compile) -> Iterator[Any]:
    weights = nn.ParameterList([torch.ones(3), torch.arange(3.0)])
    named = nn.ParameterDict({"a": torch.ones(3)})
    call = compiled(lambda x: sum(torch.relu(x) * weight for weight in weights) + named["a"])
    yield call(_X)
    weights.append(torch.full((3,), 2.0))
    yield call(_X)
    named["a"] = nn.Parameter(torch.zeros(3))
    yield call(_X)


def linear_algebra(compiled: Compile) -> Iterator[Any]:
    def function(a: torch.Tensor, b: torch.Tensor) -> Any:
        spd = torch.einsum("ij,kj->ik", a, a) + torch.eye(3)
        return (
            torch.linalg.solve(spd, b),
            torch.linalg.cholesky(spd),
            torch.linalg.slogdet(spd),
            torch.trapezoid(b, dim=0),
        )

    call = compiled(function)
    for scale in (1.0, 2.0):
        yield call(torch.arange(9.0).reshape(3, 3) * scale / 9, torch.ones(3, 2))


def inner_compilation(compiled: Compile) -> Iterator[Any]:
    inner = compiled(lambda x: torch.relu(x) * 2)
    call = compiled(lambda x: inner(x) + inner(x + 1))
    for _ in range(2):
        yield call(_X)
    yield inner(_X)
