"""`passnet.compile(freeze=True)`: values that depend on the state of a model alone are computed once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

import passnet
from compiling import newer
from passnet._backend.cache import Store
from passnet._compile import build
from passnet._compile.capture import Captured, capture
from passnet._compile.options import Options


class Normalised(nn.Module):
    """Normalised weights, a bias gathered from a table, positions, and a cast."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))
        self.table = nn.Parameter(torch.randn(9, 6))
        self.register_buffer("index", torch.randint(0, 9, (5,)))
        self.scale = nn.Parameter(torch.randn(6, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = self.table[self.index].exp()
        return self.layer(x) + bias + torch.arange(5)[:, None] * self.scale.float()


class Written(nn.Module):
    """Memory that is made of a parameter and then written to."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sums = self.weight * 2.0
        sums[:2].add_(x)
        return sums + 1.0


class Returned(nn.Module):
    """A result of the state alone, and one that shares memory with it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        double = self.weight * 2.0
        return x + double, double[1:]


class Random(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + nn.functional.dropout(self.weight, 0.5, training=True)


class WithoutArguments(nn.Module):
    """A graph that takes nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.rand(5) + torch.arange(5) * 2.0


def notes(compiled) -> list[str]:
    return [note for call in compiled.report().as_dict()["specialisations"] for note in call["notes"]]


@newer("parametrised weights stay in the graph")
@torch.no_grad()
def test_normalised_weights_are_computed_once_and_again_after_a_change():
    torch.manual_seed(0)
    model = Normalised()
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(5, 6)
        torch.testing.assert_close(compiled(x), model(x))
    assert any(note.endswith("values are computed once from the state of the model") for note in notes(compiled))
    model.layer.parametrizations.weight.original0.mul_(3.0)
    torch.testing.assert_close(compiled(x), model(x))
    model.index.zero_()
    torch.testing.assert_close(compiled(x), model(x))


@pytest.mark.parametrize(("make", "size"), [(Written, (2,)), (Returned, (4,))])
@torch.no_grad()
def test_memory_that_others_see_is_no_constant(make, size):
    model = make()
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(size)
        found, expected = compiled(x), model(x)
        torch.testing.assert_close(found, expected)
        if isinstance(found, tuple):
            # A caller may write to a result: the next call must not notice.
            found[1].zero_()
    assert any("there is no constant to fold" in note for note in notes(compiled))


@torch.no_grad()
def test_random_values_are_drawn_in_each_call():
    compiled = passnet.compile(Random(), freeze=True)
    x = torch.zeros(64)
    compiled(x)
    assert not torch.equal(compiled(x), compiled(x))


@torch.no_grad()
def test_a_graph_without_arguments_may_have_constants():
    model = WithoutArguments()
    compiled = passnet.compile(model, freeze=True)
    for _ in range(2):
        torch.manual_seed(0)
        expected = model(torch.zeros(1))
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(torch.zeros(1)), expected)
    assert not compiled.report().as_dict()["eager"], compiled.report()


class Positions(nn.Module):
    """Adds a table that is computed in each call from nothing, a part of it in a list on the host, and noise."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        angles = torch.arange(5, device=x.device)[:, None] / torch.tensor([1.0, 2.0, 4.0], device=x.device)
        table = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
        return x + table * self.weight


@torch.no_grad()
def test_tables_that_depend_on_nothing_are_computed_once():
    model, x = Positions(), torch.randn(5, 6)
    compiled = passnet.compile(model)
    torch.testing.assert_close(compiled(x), model(x))
    [one] = compiled.report().specialisations
    assert any("computed once from nothing that can change" in note for note in one.notes), one.notes
    # Weights are no constants.
    model.weight.mul_(3.0)
    torch.testing.assert_close(compiled(x), model(x))
    assert len(compiled.report().specialisations) == 1


@torch.no_grad()
def test_random_tables_and_those_that_callers_get_are_not_folded():
    def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        table = torch.arange(5.0)
        return x + torch.rand(5), table

    compiled, x = passnet.compile(model), torch.randn(5)
    first, second = compiled(x), compiled(x)
    assert not torch.equal(first[0], second[0])
    first[1].zero_()
    torch.testing.assert_close(compiled(x)[1], torch.arange(5.0))


def _filled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A cache that a call makes, fills and reads, as the first step of generation does."""
    keys = torch.zeros(3, 4)
    keys.index_copy_(0, torch.arange(2), x)
    return keys, keys[None].expand(2, 3, 4).reshape(6, 4) * 2 + x[0]


def _through_an_alias(x: torch.Tensor) -> torch.Tensor:
    sums = torch.zeros(4)
    sums.expand_as(x[0]).add_(x.sum(0))
    return sums.exp() + x[1]


def _in_a_list(x: torch.Tensor) -> torch.Tensor:
    first, second = torch.ones(8).chunk(2)
    torch._foreach_add_([first, second], [x[0], x[1]])
    return torch.cat([first, second]).reshape(2, 4) * 2 + x


def _with_a_known_write(x: torch.Tensor) -> torch.Tensor:
    table = torch.zeros(4)
    table.fill_(2.0)
    before = table.exp()
    table.add_(x[0])
    return before + table.exp()


def _into_the_original_of_a_view(x: torch.Tensor) -> torch.Tensor:
    table = torch.arange(8.0)
    row = table[4:].view(2, 2)
    table[4:6] = x[0, :2]
    return row.sin() + x[:, :2]


def _with_random_numbers(x: torch.Tensor) -> torch.Tensor:
    noise = torch.zeros(4)
    noise.uniform_(1.0, 2.0)
    return noise.clone() + x


@pytest.mark.parametrize(
    "function",
    [_filled, _through_an_alias, _in_a_list, _with_a_known_write, _into_the_original_of_a_view, _with_random_numbers],
)
@pytest.mark.parametrize("freeze", [False, True])
def test_memory_that_a_call_fills_is_read_after_the_writes(function, freeze):
    compiled = passnet.compile(function, freeze=freeze)
    with torch.no_grad():
        for seed in range(3):
            x = torch.randn(2, 4)
            torch.manual_seed(seed)
            expected = function(x)
            torch.manual_seed(seed)
            torch.testing.assert_close(compiled(x), expected)


@pytest.mark.parametrize("freeze", [False, True])
@torch.no_grad()
def test_a_part_in_inference_mode_leaves_the_state_of_the_thread_alone(freeze: bool):
    linear = torch.nn.Linear(8, 8)

    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            y = torch.relu(linear(x)) * torch.arange(8)
        return y.clone() + torch.relu(x) * 2

    x = torch.randn(3, 8)
    compiled = passnet.compile(function, verify=False, freeze=freeze)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), function(x))
        # With PyTorch's key of dispatch modes left on, operations without tensors that know Python fail.
        assert "[1., 1.]" in str(torch.ones(2))


@pytest.mark.parametrize("freeze", [False, True])
@torch.no_grad()
def test_tables_are_folded_before_it_is_known_whether_the_call_becomes_a_cuda_graph(
    freeze: bool, monkeypatch: pytest.MonkeyPatch
):
    """On a GPU, a table in host memory prevents a CUDA graph. After it is folded, only the time of the device counts."""
    x, seen = torch.randn(5, 6), []
    captured = capture(Positions(), (x,), {})

    def refusal(captured: Captured) -> str | None:
        is_left = any(node.target in (torch.arange, torch.tensor) for node in captured.module.graph.nodes)
        return "a table is in host memory" if is_left else None

    def verify(*arguments: Any) -> dict[str, torch.fx.Graph]:
        seen.append(arguments[-1].graphed)
        return {}

    assert refusal(captured) is not None
    for name, function in {"refusal": refusal, "_verify": verify, "_graphed": lambda *_: None}.items():
        monkeypatch.setattr(build, name, function)
    pool = object()
    options = Options(freeze=freeze, cuda_graphs=True)
    build.build(captured, [], options, Store.default(), pool)
    assert seen == [True]
