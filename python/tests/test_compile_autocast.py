"""Calls of compiled models under autocast: the casts become part of the graph."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import torch

import passnet
from compiling import OLDEST

HALF = torch.bfloat16


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.first, self.second = (
            torch.nn.LayerNorm(32),
            torch.nn.Linear(32, 64),
            torch.nn.Linear(64, 32),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(self.first(self.norm(x)))
        return x + self.second(hidden) * torch.sigmoid(x)


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(32, 4, batch_first=True)
        self.scale = torch.nn.Parameter(torch.ones(32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found, _ = self.inner(x, x, x, need_weights=False)
        return torch.softmax(found * self.scale, -1)


class Convolution(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.convolution(x))).mean((2, 3))


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.einsum("ij,jk->ik", x, y) + 1) / 2


def inputs(model: Any) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    if isinstance(model, Convolution):
        return (torch.randn(2, 3, 8, 8),)
    return (torch.randn(4, 32), torch.randn(32, 16)) if model is product else (torch.randn(2, 5, 32),)


def check(compiled: Any, model: Any, *given: torch.Tensor) -> None:
    found, expected = compiled(*given), model(*given)
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


@torch.no_grad()
@pytest.mark.parametrize("make", [Block, Attention, Convolution, lambda: product])
def test_casts_are_written_into_the_graph(make: Any):
    torch.manual_seed(0)
    model = make()
    model = model.eval() if isinstance(model, torch.nn.Module) else model
    compiled, given = passnet.compile(model), inputs(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            with torch.autocast("cpu", HALF):
                check(compiled, model, *given)
                # The caller's autocast stays as it was.
                assert torch.is_autocast_enabled("cpu") and torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype == HALF
            check(compiled, model, *given)
    report = compiled.report()
    assert not report.eager and len(report.specialisations) == 2, report
    with_casts = report.specialisations[0]
    assert any("casts of autocast" in note for note in with_casts.notes)
    slow = ("slower than PyTorch", "the whole graph is slower with the passes")
    assert with_casts.regions and all(region.kept or region.reason in slow for region in with_casts.regions)


@torch.no_grad()
def test_types_of_autocast_are_kinds_of_calls_and_weights_are_read_again():
    model = Block().eval()
    compiled, (x,) = passnet.compile(model), inputs(model)
    for _ in range(2):
        for half in (HALF, torch.float16):
            with torch.autocast("cpu", half):
                check(compiled, model, x)
        model.first.weight.data.mul_(1.5)
    # PyTorch 2.6 has no autocast to float16 for all calls on a CPU.
    assert len(compiled.report().specialisations) == (1 if OLDEST else 2)


@torch.no_grad()
def test_a_model_that_enters_autocast_itself_runs_as_it_is():
    class Own(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", enabled=False):
                return super().forward(x.float())

    model = Own().eval()
    compiled, (x,) = passnet.compile(model), inputs(model)
    with torch.autocast("cpu", HALF):
        with pytest.warns(RuntimeWarning, match="autocast is enabled"):
            check(compiled, model, x)
        check(compiled, model, x)


@torch.no_grad()
def test_dropout_draws_the_numbers_of_the_model():
    class Dropping(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.dropout(super().forward(x), 0.5, True)

    model = Dropping()
    compiled, (x,) = passnet.compile(model), inputs(model)
    for _ in range(3):
        with torch.autocast("cpu", HALF):
            torch.manual_seed(3)
            expected = model(x)
            torch.manual_seed(3)
            torch.testing.assert_close(compiled(x), expected, rtol=2e-2, atol=2e-2)


def test_threads_enter_and_leave_autocast():
    """PyTorch's own lock of the cache of casts must not be held while Python runs."""
    model = Block().eval()
    compiled, (x,) = passnet.compile(model), inputs(model)
    different: list[int] = []

    def work(first: int) -> None:
        with torch.no_grad():
            for turn in range(100):
                with torch.autocast("cpu", HALF, enabled=bool((turn + first) % 2)):
                    found, expected = compiled(x), model(x)
                    if found.dtype != expected.dtype or not torch.allclose(found, expected, rtol=2e-2, atol=2e-2):
                        different.append(turn)

    threads = [threading.Thread(target=work, args=(first,), daemon=True) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not different


@torch.no_grad()
def test_a_weight_is_cast_once_in_each_context():
    model = Block().eval()
    compiled, (x,) = passnet.compile(model), inputs(model)
    with torch.autocast("cpu", HALF):
        compiled(x)
    with torch.autocast("cpu", HALF):
        before = compiled(x)
        model.first.weight.data.zero_()
        # As autocast itself, which keeps the casts of weights until it is left.
        assert torch.equal(compiled(x), before)
    with torch.autocast("cpu", HALF):
        check(compiled, model, x)
        assert not torch.equal(compiled(x), before)
    with torch.autocast("cpu", HALF, cache_enabled=False):
        model.second.weight.data.zero_()
        check(compiled, model, x)
    with torch.inference_mode(), torch.autocast("cpu", HALF):
        check(compiled, model, x)
        check(compiled, model, x)
