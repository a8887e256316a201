"""Compiled models inside `torch.utils.checkpoint` and under other hooks on saved tensors."""

from __future__ import annotations

import copy
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import passnet
import passnet.backend
from passnet._backend.step import CheckedSteps

passnet.backend.register()

# Seconds after which a call counts as a deadlock.
DEADLOCK = 120
REASON = "hooks get the tensors that are saved for the backward, such as those of a checkpoint"


def mlp() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 16))


def finished(work: Callable[[], Any]) -> Any:
    """The result of a function. Fails if the function does not end: a signal interrupts a thread that waits for a lock."""

    def stop(*_: Any) -> None:
        raise AssertionError("deadlock")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(DEADLOCK)
    try:
        return work()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def train(
    run: Callable[..., torch.Tensor], model: torch.nn.Module, rows: tuple[int, ...] = (4, 4, 4), **options: Any
) -> list[torch.Tensor]:
    """Losses and gradients of steps with the call in a checkpoint, one step for each number of rows."""
    torch.manual_seed(1)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for count in rows:
        x = torch.randn(count, 16, requires_grad=True)
        optimiser.zero_grad()
        loss = checkpoint(run, x, use_reentrant=False, **options).square().mean()
        loss.backward()
        found += [loss.detach(), x.grad, *(value.grad.clone() for value in model.parameters())]
        optimiser.step()
    return found


def check_training(compiler: Callable[..., Any], rows: tuple[int, ...] = (4, 4, 4), **options: Any) -> None:
    torch._dynamo.reset()
    plain, model = mlp(), mlp()
    compiled = compiler(model)
    found = finished(lambda: train(compiled, model, rows, **options))
    torch.testing.assert_close(found, train(plain, plain, rows, **options))


@pytest.mark.parametrize("early", [True, False])
def test_the_backend_trains_in_a_checkpoint(early: bool):
    with torch.utils.checkpoint.set_checkpoint_early_stop(early):
        check_training(lambda model: torch.compile(model, backend="passnet"))


@pytest.mark.parametrize("rows", [(4, 4, 4), (2, 3, 3, 5, 3, 5, 5)])
def test_the_backend_trains_in_a_checkpoint_with_sizes_that_change(rows: tuple[int, ...]):
    """Both calls of a checkpoint take the same path, also where the second call with its sizes would be compiled."""
    check_training(lambda model: torch.compile(model, backend="passnet", dynamic=True), rows)


@pytest.mark.filterwarnings("ignore:.*a step is slower")
@pytest.mark.parametrize(
    ("calls_before", "early", "verify"), [(0, True, True), (1, True, True), (3, True, False), (3, False, False)]
)
def test_a_model_trains_in_a_checkpoint(calls_before: int, early: bool, verify: bool):
    """Without `verify`, the gradients are compiled in any case. With it, they are if a step is faster."""
    reports = []

    def compiler(model: torch.nn.Module) -> Any:
        compiled = passnet.compile(model, verify=verify)
        for _ in range(calls_before):
            compiled(torch.randn(4, 16, requires_grad=True)).sum().backward()
        reports.append(compiled.report)
        return compiled

    with torch.utils.checkpoint.set_checkpoint_early_stop(early):
        check_training(compiler)
    # Each step calls the model twice: before the backward and within.
    assert reports[0]().eager == {REASON: 6}


@pytest.mark.filterwarnings("ignore:.*a step is slower")
def test_calls_outside_the_checkpoint_stay_compiled():
    model = mlp()
    compiled = passnet.compile(model)
    x = torch.randn(4, 16)
    checkpoint(compiled, x, use_reentrant=False).sum().backward()
    compiled(x).sum().backward()
    with torch.no_grad():
        # Nothing is saved, so the calls may be compiled.
        checkpoint(compiled, x, use_reentrant=False)
    for _ in range(2):
        compiled(x).sum().backward()
        with torch.no_grad():
            torch.testing.assert_close(checkpoint(compiled, x, use_reentrant=False), model(x))
    report = compiled.report()
    assert len(report.specialisations) == 2 and report.eager == {REASON: 2}


def test_each_layer_in_a_checkpoint_of_its_own():
    plain = torch.nn.ModuleList([mlp(), mlp()])
    model = copy.deepcopy(plain)
    compiled = [passnet.compile(layer) for layer in model]

    def steps(layers: Any, owner: torch.nn.Module) -> list[torch.Tensor]:
        x = torch.ones(4, 16, requires_grad=True)
        for _ in range(3):
            y = x
            for layer in layers:
                y = checkpoint(layer, y, use_reentrant=False)
            y.square().sum().backward()
        return [x.grad, *(value.grad for value in owner.parameters())]

    torch.testing.assert_close(steps(compiled, model), steps(plain, plain))


@pytest.mark.parametrize("compiler", [passnet.compile, lambda model: torch.compile(model, backend="passnet")])
def test_a_checkpoint_with_reentrant_autograd(compiler: Callable[..., Any]):
    torch._dynamo.reset()
    model = mlp()
    plain, compiled = copy.deepcopy(model), compiler(model)
    for _ in range(3):
        grads = []
        for run in (plain, compiled):
            x = torch.ones(4, 16, requires_grad=True)
            checkpoint(run, x, use_reentrant=True).square().sum().backward()
            grads.append(x.grad)
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("compiler", [passnet.compile, lambda model: torch.compile(model, backend="passnet")])
def test_hooks_see_no_tensors_of_comparisons(compiler: Callable[..., Any]):
    """A hook that counts gets the tensors of the user's call, in the first call as in later calls."""
    torch._dynamo.reset()
    compiled = compiler(mlp())
    counts = []
    for _ in range(3):
        packed: list[torch.Tensor] = []

        def pack(value: torch.Tensor, packed: list[torch.Tensor] = packed) -> torch.Tensor:
            packed.append(value)
            return value

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
            compiled(torch.randn(4, 16)).sum().backward()
        counts.append(len(packed))
    assert len(set(counts)) == 1 and counts[0] > 0


def test_a_step_that_calls_itself_while_it_is_compared():
    """For example by a hook in the backward that computes the call again."""
    outer: list[torch.Tensor] = []

    def plain(x: torch.Tensor) -> list[torch.Tensor]:
        return [x * 2]

    def compiled(x: torch.Tensor) -> list[torch.Tensor]:
        if len(outer) < 1:
            outer.append(x)
            (again,) = steps(x)
            assert torch.equal(again, x * 2)
        return [x + x]

    steps = CheckedSteps(plain, compiled, (), lambda reason: pytest.fail(reason))
    x = torch.randn(3, requires_grad=True)
    (result,) = finished(lambda: steps(x))
    assert torch.equal(result, x * 2) and steps.run is compiled
