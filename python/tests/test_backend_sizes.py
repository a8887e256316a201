"""The backend with sizes that change: specialisations up to a limit, then PyTorch; and many calls without a leak."""

from __future__ import annotations

import gc
import os
import threading
import warnings

import pytest
import torch

import passnet
import passnet.backend
from passnet._backend import sizes

passnet.backend.register()


@pytest.fixture(autouse=True)
def reset() -> None:
    torch._dynamo.reset()


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow, self.norm = torch.nn.Linear(16, 24), torch.nn.Linear(24, 8), torch.nn.LayerNorm(24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(torch.relu(self.wide(x)) * 2 + 1)
        return self.narrow(y.view(x.shape[0] * x.shape[1], -1)).tanh() * x.shape[1]


def model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


def test_each_size_is_compiled_up_to_a_limit():
    owner = model()
    compiled = torch.compile(owner, backend="passnet", dynamic=True)
    with torch.no_grad():
        for length in [*range(2, 2 + sizes.LIMIT + 3), 2, 3]:
            x = torch.randn(3, length, 16)
            for _ in range(2):
                torch.testing.assert_close(compiled(x), owner(x), rtol=1e-4, atol=1e-5)
    (graph,) = [graph for graph in passnet.backend.report(owner).graphs if graph.sizes is not None]
    assert vars(graph.sizes) == {"compiled": sizes.LIMIT, "first": sizes.LIMIT, "left": 6, "faults": set()}
    assert graph.matches and not graph.not_authored, passnet.backend.report(owner)
    assert f"{sizes.LIMIT} sizes compiled, {sizes.LIMIT + 6} calls of others left to PyTorch" in repr(
        passnet.backend.report(owner)
    )


def test_sizes_that_do_not_come_again_are_left_to_pytorch():
    """Sizes of a cache that grows: compiling each of them would take longer than all calls."""
    owner = model()
    compiled = torch.compile(owner, backend="passnet", dynamic=True)
    with torch.no_grad():
        for _ in range(2):
            for length in range(2, 2 + 2 * sizes.LIMIT):
                x = torch.randn(3, length, 16)
                torch.testing.assert_close(compiled(x), owner(x), rtol=1e-4, atol=1e-5)
    (graph,) = [graph for graph in passnet.backend.report(owner).graphs if graph.sizes is not None]
    assert (graph.sizes.compiled, graph.sizes.first) == (0, 4 * sizes.LIMIT)


def test_transforms_within_a_graph_stay():
    def scaled(x: torch.Tensor) -> torch.Tensor:
        rows = torch.func.vmap(lambda row: torch.relu(row) * row.sum())(x)
        return torch.tanh(rows * 2 + 1) * x.shape[0]

    compiled = torch.compile(scaled, backend="passnet", dynamic=True)
    with torch.no_grad():
        for length in (3, 4, 5, 4):
            x = torch.randn(length, 16)
            for _ in range(2):
                torch.testing.assert_close(compiled(x), scaled(x))
    (graph,) = [graph for graph in passnet.backend.report(scaled).graphs if graph.sizes is not None]
    assert graph.sizes.faults and "vmap" in repr(passnet.backend.report(scaled))


def test_sizes_in_training():
    owner = model()
    compiled = torch.compile(owner, backend="passnet", dynamic=True)
    for length in (4, 5, 6, 4, 5, 6):
        x = torch.randn(3, length, 16)
        found = []
        for function in (compiled, owner):
            owner.zero_grad()
            function(x).square().sum().backward()
            found.append([parameter.grad.clone() for parameter in owner.parameters()])
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    graphs = [graph for graph in passnet.backend.report(owner).graphs if graph.sizes is not None]
    assert [vars(graph.sizes)["compiled"] for graph in graphs] == [3]
    assert [[stage.name for stage in stages] for stages in graphs[0].stages] == [["forward", "backward"]] * 3


@pytest.mark.parametrize("path", ["passnet.compile", "torch.compile"])
def test_thousands_of_calls_of_changing_sizes_from_threads(path: str):
    owner = model()
    # More kinds of calls than are compiled, so that all ways are taken.
    shapes = [(2, length, 16) for length in range(2, 14)]
    inputs = [torch.randn(shape) for shape in shapes]
    if path == "passnet.compile":
        compiled = passnet.compile(owner)
    else:
        compiled = torch.compile(owner, backend="passnet", dynamic=True)
    faults: list[str] = []

    def work(seed: int, calls: int) -> None:
        with torch.no_grad():
            for number in range(calls):
                place = (number * 7 + seed) % len(inputs)
                found = compiled(inputs[place])
                if not torch.allclose(found, expected[place], rtol=1e-4, atol=1e-5):
                    faults.append(f"thread {seed}, call {number}")

    def in_threads(calls: int) -> None:
        threads = [threading.Thread(target=work, args=(seed, calls)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.no_grad():
            expected = [owner(x) for x in inputs]
            # Dynamo compiles in one thread at a time; the kinds are known before the threads begin.
            for x in inputs:
                compiled(x)
        in_threads(100)
        gc.collect()
        before = _tensors()
        in_threads(2_500 if os.environ.get("PASSNET_LONG_TESTS") else 500)
        gc.collect()
    assert not faults, faults[:3]
    assert _tensors() <= before + 8


def _tensors() -> int:
    return sum(issubclass(type(value), torch.Tensor) for value in gc.get_objects())
