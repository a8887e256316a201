"""Kernels of the built-in author in several threads: their results have the bits of one thread, and are those of eager mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from passnet._backend.author import author_passes
from passnet._backend.regions import direct
from passnet._passes.rewrite import rewrite

Tensor = torch.Tensor


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    with torch.no_grad():
        yield
    torch.set_num_threads(before)


def change(x: Tensor, y: Tensor) -> Tensor:
    x.mul_(y)
    x.relu_()
    return x + 1


# Each way to divide a stage: rows, several loops together, slices of long rows, pieces, blocks of columns, several functions.
CASES: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Tensor, Tensor]] = {
    "flat": (lambda x, y: torch.exp(-(x + y).abs()), torch.randn(100_003), torch.randn(100_003)),
    "log_flat": (lambda x, y: torch.log((x + y).abs() + 1), torch.randn(100_003), torch.randn(100_003)),
    "rows": (lambda x, y: F.softmax(x + y, -1), torch.randn(8, 97, 197), torch.randn(197)),
    "few_rows": (lambda x, y: F.softmax(x * 0.5 + y, -1), torch.randn(3, 50_001), torch.randn(1)),
    "columns": (lambda x, y: (x * y).sum(1), torch.randn(4, 128, 700), torch.randn(4, 128, 700)),
    "permuted": (
        lambda x, y: (x + 1).permute(0, 2, 1).contiguous() * y,
        torch.randn(4, 150, 256),
        torch.randn(4, 256, 150),
    ),
    "pieces": (lambda x, y: torch.cat([x * 2, y + 1], 1), torch.randn(16, 100, 97), torch.randn(16, 31, 97)),
    "last_piece_of_one": (lambda x, y: torch.cat([x * 2, y + 1], -1) * 3, torch.randn(200_000), torch.randn(1)),
    "stages": (lambda x, y: (x * y.mean(-1).sum()).relu(), torch.randn(64, 4096), torch.randn(64, 4096)),
    "half": (lambda x, y: F.silu(x) * y, torch.randn(512, 512).half(), torch.randn(512, 512).half()),
    "in_place": (change, torch.randn(256, 1024), torch.randn(256, 1024)),
}


def authored(function: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> tuple[Callable[..., Any], str]:
    """The function with the author's passes applied, and their text."""
    made: list[tuple[Callable[..., Any], str]] = []

    def backend(module: torch.fx.GraphModule, given: list[Tensor]) -> Callable[..., Any]:
        found = author_passes(module.graph)
        rewritten = rewrite(module, [direct(rule) for rule in found.passes]).module
        order = [next(at for at, value in enumerate(inputs) if value.data_ptr() == one.data_ptr()) for one in given]
        made.append((lambda *values: rewritten(*[values[at] for at in order]), "".join(found.texts.values())))
        return module.forward

    torch._dynamo.reset()
    torch.compile(function, backend=backend)(*inputs)
    return made[0]


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    function, *inputs = CASES[name]
    fused, text = authored(function, tuple(value.clone() for value in inputs))
    assert "parallel int64_t begin" in text
    results = []
    for count in (1, 2, 3, 5):
        torch.set_num_threads(count)
        mine = [value.clone() for value in inputs]
        results.append([*fused(*mine), *mine])
    theirs = [value.clone() for value in inputs]
    torch.testing.assert_close(results[0], [function(*theirs), *theirs], rtol=2e-3, atol=1e-4)
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))
