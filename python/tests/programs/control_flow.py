"""Branches, loops, recursion, generators and exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from programs import Compile, outcome


def branch_on_values(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x) * 2 if x.sum() > 0 else torch.tanh(x) - 1)
    for sign in (1, -1, 1, -1):
        yield call(torch.ones(3) * sign)


def branch_on_a_number(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, power: x.abs().sqrt() if power < 0 else x**power + 1)
    for power in (2, -1, 3, 2, 0.5):
        yield call(torch.arange(4.0), power)


def branch_on_sizes(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: x.mean(0) * 2 if x.shape[0] > 2 else x.sum(0) + x.dim())
    for rows in (1, 4, 2, 3, 0):
        yield call(torch.ones(rows, 3))


def loop_until_small(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        steps = 0
        while x.norm() > 1:
            x, steps = torch.tanh(x) / 2, steps + 1
        return x, steps

    call = compiled(function)
    for scale in (1.0, 4.0, 0.1, 9.0):
        yield call(torch.ones(5) * scale)


def loop_with_break_and_else(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, limit: int) -> torch.Tensor:
        for step in range(5):
            if step == limit:
                break
            if step % 2:
                continue
            x = x * 1.5 + step
        else:
            return x - 100
        return x

    call = compiled(function)
    for limit in (2, 9, 0, 9):
        yield call(torch.ones(2), limit)


def recursion(compiled: Compile) -> Iterator[Any]:
    def tree(x: torch.Tensor, depth: int) -> torch.Tensor:
        if depth == 0:
            return torch.sigmoid(x)
        left, right = x.chunk(2)
        return torch.cat([tree(left, depth - 1) * 2, tree(right, depth - 1) + 1])

    call = compiled(tree)
    for depth in (2, 1, 3, 0):
        yield call(torch.linspace(-2, 2, 8), depth)


def generator_within(compiled: Compile) -> Iterator[Any]:
    def parts(x: torch.Tensor) -> Iterator[torch.Tensor]:
        for row in x:
            yield row * 2
        yield x.sum(0)

    call = compiled(lambda x: torch.stack(list(parts(x))).relu())
    for rows in (2, 3, 2):
        yield call(torch.linspace(-1, 1, rows * 4).reshape(rows, 4))


def generator_as_result(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> Iterator[torch.Tensor]:
        for scale in range(3):
            yield torch.relu(x) * scale

    call = compiled(function)
    for _ in range(2):
        yield list(call(torch.linspace(-1, 1, 4)))


def comprehensions(compiled: Compile) -> Iterator[Any]:
    def function(xs: list[torch.Tensor], scales: dict[str, float]) -> dict[str, torch.Tensor]:
        pairs = {name: sum(x * scale for x in xs) for name, scale in scales.items()}
        return {name: value.tanh() for name, value in sorted(pairs.items()) if name != "skip"}

    call = compiled(function)
    for scales in ({"b": 1.0, "a": 2.0}, {"skip": 1.0, "c": 3.0}, {"b": 1.0, "a": 2.5}):
        yield call([torch.ones(2), torch.arange(2.0)], scales)


def match_statement(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, kind: Any) -> torch.Tensor:
        match kind:
            case "relu":
                return torch.relu(x)
            case ("scale", number):
                return x * number
            case {"shift": shift}:
                return x + shift
        return x.exp()

    call = compiled(function)
    for kind in ("relu", ("scale", 3), {"shift": 2.0}, None, ("scale", 4)):
        yield call(torch.linspace(-1, 1, 3), kind)


def exceptions_that_are_caught(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, key: str) -> torch.Tensor:
        try:
            scale = {"two": 2, "three": 3}[key]
        except KeyError:
            scale = 1
        finally:
            x = x + 1
        return x * scale

    call = compiled(function)
    for key in ("two", "none", "three", "none"):
        yield call(torch.ones(2), key)


def exceptions_that_leave(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, seen: list[int]) -> torch.Tensor:
        seen.append(x.shape[0])
        if x.shape[0] == 3:
            raise ValueError("three rows")
        assert x.shape[0] != 4, "four rows"
        return torch.relu(x) @ torch.ones(2, 2)

    call, seen = compiled(function), []
    for shape in ((2, 2), (3, 2), (4, 2), (2, 3), (2, 2)):
        yield outcome(lambda shape=shape: call(torch.ones(shape), seen))
    yield seen


def values_of_tensors(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, float, list[float], bool]:
        most = x.max().item()
        return x / most, most, x.tolist(), bool((x > 1).any())

    call = compiled(function)
    for scale in (1, 3, 1):
        yield call(torch.arange(1.0, 4) * scale)


def sizes_that_depend_on_values(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        values, counts = torch.unique(x.round(), return_counts=True)
        return x[x > 0] * 2, torch.nonzero(x), values * counts

    call = compiled(function)
    for shift in (0.0, 0.5, -9.0, 0.0):
        yield call(torch.linspace(-1, 1, 6) + shift)
