"""First calls of compiled models in several threads at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import passnet
import passnet.backend
from compiling import VERSION
from passnet._passes.trace import trace_pattern

compiles_in_threads = pytest.mark.skipif(
    VERSION < (2, 15),
    reason="with PyTorch 2.11, the process crashes when Dynamo compiles in a second thread, with any backend",
)

passnet.backend.register()

THREADS = 4
# Seconds after which a call counts as a deadlock.
DEADLOCK = 240


def together(work: Callable[[int], Any]) -> None:
    """Calls a function in several threads at the same time, with the number of the thread. Raises the first exception."""
    barrier = threading.Barrier(THREADS)
    faults: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(DEADLOCK)
            work(number)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLOCK)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    if faults:
        raise faults[0]


def mlp(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(16, width), torch.nn.GELU(), torch.nn.Linear(width, 16))


def step(run: Callable[..., torch.Tensor], model: torch.nn.Module, rows: int = 4) -> None:
    x = torch.randn(rows, 16)
    found, expected = run(x), model(x)
    torch.testing.assert_close(found, expected)
    parameters = list(model.parameters())
    grads = [torch.autograd.grad(value.square().sum(), parameters) for value in (found, expected)]
    torch.testing.assert_close(*grads)


def check_process() -> None:
    """The process is as it was: no trace has left a patch behind."""
    assert torch.fx._symbolic_trace.CURRENT_PATCHER is None
    assert torch.nn.Module.__call__.__name__ == "_wrapped_call_impl"
    assert not hasattr(torch.nn.Module.__call__, "__fx_already_patched")
    # Without the reset, the models of the threads count for Dynamo's limit of compilations.
    torch._dynamo.reset()
    torch.compile(mlp(8), backend="eager", fullgraph=True)(torch.randn(4, 16))


@compiles_in_threads
@pytest.mark.filterwarnings("error:.*AOTAutograd cannot")
@pytest.mark.parametrize("shared", [True, False])
def test_the_backend_trains_first_in_several_threads(shared: bool, tmp_path):
    torch._dynamo.reset()
    options = {"cache_dir": str(tmp_path)}
    models = [mlp(40 + number) for number in range(1 if shared else THREADS)]
    compiled = [torch.compile(model, backend="passnet", options=options) for model in models]
    together(lambda number: step(compiled[number % len(models)], models[number % len(models)]))
    check_process()
    for run, model in zip(compiled, models, strict=True):
        step(run, model)


@compiles_in_threads
@pytest.mark.filterwarnings("error:.*AOTAutograd cannot")
def test_models_and_the_backend_train_first_in_several_threads(tmp_path):
    """`passnet.compile` captures under a lock of its own, and its regions are compiled under the lock of Dynamo."""
    torch._dynamo.reset()
    models = [mlp(50 + number) for number in range(THREADS)]
    compilers = [
        lambda model: passnet.compile(model, cache_dir=tmp_path),
        lambda model: torch.compile(model, backend="passnet", options={"cache_dir": str(tmp_path)}),
        lambda model: torch.compile(model, backend="aot_eager"),
        lambda model: torch.compile(model, backend="passnet", dynamic=True, options={"cache_dir": str(tmp_path)}),
    ]
    compiled = [compiler(model) for compiler, model in zip(compilers, models, strict=True)]

    def work(number: int) -> None:
        for rows in (4, 4, 5, 5):
            step(compiled[number], models[number], rows)
            with torch.no_grad():
                x = torch.randn(rows, 16)
                torch.testing.assert_close(compiled[number](x), models[number](x))

    together(work)
    check_process()


def test_modules_run_while_another_thread_traces_a_pattern():
    model, x = mlp(32), torch.randn(4, 16)

    def work(number: int) -> None:
        for _ in range(100):
            if number:
                model(x)
            else:
                trace_pattern(lambda x, y: torch.relu(x + y) * torch.full((2,), 1.0))

    together(work)


class _Outer(torch.nn.Module):
    """Calls another model, and a function where Dynamo does not trace."""

    def __init__(self, inner: torch.nn.Module, outside: Callable[[], None]) -> None:
        super().__init__()
        self.inner = inner
        self.outside = outside

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            self.outside()
        return self.inner(x) * 2


@compiles_in_threads
def test_a_model_and_one_that_contains_it_compile_first_in_two_threads() -> None:
    inner = passnet.compile(mlp(8))
    inside, begun = threading.Event(), threading.Event()

    def outside() -> None:
        # The outer model is being compiled. The other thread begins to compile the inner one before this thread calls that.
        inside.set()
        begun.wait(DEADLOCK)
        threading.Event().wait(1.0)

    outer = passnet.compile(_Outer(inner, outside))

    def call_inner() -> None:
        inside.wait(DEADLOCK)
        begun.set()
        inner(torch.randn(2, 16))

    def call_outer() -> None:
        with torch.no_grad():
            outer(torch.randn(4, 16))

    threads = [threading.Thread(target=work, daemon=True) for work in (call_inner, call_outer)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLOCK)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
