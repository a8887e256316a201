"""`passnet.compile` of a model that is not one graph: the faster of `torch.compile` and the model itself runs its calls."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

import passnet
from passnet._compile import uncaptured
from passnet._compile.uncaptured import REASON, Timed

CALLS = 40


class Branch(torch.nn.Module):
    """Has a branch that depends on data, and counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.calls = torch.nn.Linear(8, 8), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.linear(x)
        return y + 1 if y.sum() > 0 else y - 1


def slow(x: torch.Tensor) -> str:
    time.sleep(0.002)
    return "slow"


def fast(x: torch.Tensor) -> str:
    return "fast"


@pytest.mark.parametrize("model_is_faster", [True, False])
def test_the_faster_side_runs(model_is_faster: bool):
    lost: list[Any] = []
    model, run = (fast, slow) if model_is_faster else (slow, fast)
    timed = Timed(model, run, lambda *found: lost.append(found))
    with torch.no_grad():
        results = [timed(torch.ones(2)) for _ in range(CALLS)]
        # Another kind is timed on its own.
        assert timed(torch.ones(3)) == run(torch.ones(3))
    assert set(results[-10:]) == {"fast"}
    # With gradients enabled, nothing is decided.
    assert timed(torch.ones(2)) == run(torch.ones(2))
    assert [reason for reason, _ in lost] == [REASON] * model_is_faster


@pytest.mark.parametrize("loses", [True, False])
def test_each_call_runs_once_and_gives_the_result_of_the_model(loses: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uncaptured.Comparison, "loses", loses)
    model, plain = Branch(), Branch()
    plain.load_state_dict(model.state_dict())
    compiled = passnet.compile(model)
    with torch.no_grad():
        for number in range(CALLS):
            x = torch.randn(2, 8)
            torch.testing.assert_close(compiled(x), plain(x))
            assert model.calls == plain.calls == number + 1
    assert (REASON in compiled.report().eager) == loses
    x = torch.randn(2, 8)
    assert compiled(x).requires_grad
    with torch.no_grad():
        torch.testing.assert_close(compiled(torch.ones(3, 8)), model(torch.ones(3, 8)))
    compiled.reset()
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
    assert REASON not in compiled.report().eager


def test_without_verification_nothing_is_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uncaptured.Comparison, "loses", True)
    compiled = passnet.compile(Branch(), verify=False)
    with torch.no_grad():
        for _ in range(CALLS):
            compiled(torch.ones(2, 8))
    assert REASON not in compiled.report().eager


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
@torch.no_grad()
def test_a_model_that_torch_compile_refuses_runs_as_it_is():
    model, x = torch.jit.script(torch.nn.Linear(4, 4)), torch.randn(2, 4)
    compiled = passnet.compile(model)
    for _ in range(4):
        torch.testing.assert_close(compiled(x), model(x))
