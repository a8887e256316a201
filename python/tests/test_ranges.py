"""Ranges of integers that the text of a graph shows hold the values that it computes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from passnet._backend.ranges import range_of
from passnet._passes.trace import trace_pattern

KNOWN: dict[str, tuple[Callable[..., torch.Tensor], tuple[int, int]]] = {
    "arange": (lambda x: torch.arange(2, 9, 3), (2, 8)),
    "clamp": (lambda x: x.clamp(-2, 5), (-2, 5)),
    "clamp of a range": (lambda x: (x % 10).clamp(min=3), (3, 9)),
    "clamp, crossed": (lambda x: x.clamp(5, 2), (2, 2)),
    "remainder": (lambda x: x % 7, (0, 6)),
    "absolute": (lambda x: (x.clamp(-3, 2)).abs(), (0, 3)),
    "products": (lambda x: x.clamp(-3, 2) * -4 - 1, (-9, 11)),
    "where": (lambda x: torch.where(x > 2, x % 5, torch.zeros_like(x)), (0, 4)),
    "comparison": (lambda x: (x > 2).long() * 16, (0, 16)),
    "item": (lambda x: (x % 3).view(2, 2)[1].unsqueeze(0), (0, 2)),
    "full": (lambda x: torch.full((4,), 3), (3, 3)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_range_holds_all_values(name: str):
    function, expected = KNOWN[name]
    graph = trace_pattern(function)
    found = range_of(graph.output_node().args[0])
    assert found == expected
    for seed in range(20):
        torch.manual_seed(seed)
        values = function(torch.randint(-20, 20, (4,)))
        assert found[0] <= int(values.min()) and int(values.max()) <= found[1]


UNKNOWN = {
    "argument": lambda x: x,
    "of an argument": lambda x: x + 1,
    "half a clamp": lambda x: x.clamp(min=0),
    "float": lambda x: (x * 0.5).long(),
    "sum": lambda x: (x % 3).cumsum(0),
    "one side": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "alpha": lambda x: torch.add(x % 3, x % 3, alpha=5),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_ranges_are_unknown(name: str):
    assert range_of(trace_pattern(UNKNOWN[name]).output_node().args[0]) is None
