"""Arguments and results: names, defaults, containers, classes of the user."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from programs import Compile, outcome

_Pair = namedtuple("_Pair", ["left", "right"])


class _Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor | None = None


@dataclasses.dataclass
class _Output:
    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...] = ()
    loss: torch.Tensor | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class _Settings:
    scale: float
    names: tuple[str, ...] = ("relu",)


def names_and_defaults(compiled: Compile) -> Iterator[Any]:
    def function(
        x: torch.Tensor, y: torch.Tensor | None = None, /, *rest: Any, scale: float = 1.0, **named: Any
    ) -> Any:
        x = torch.relu(x) * scale if y is None else torch.relu(x) * y
        return x + sum(rest) + sum(named.values())

    call, x = compiled(function), torch.linspace(-1, 1, 3)
    yield from (call(x), call(x, None), call(x, x * 2), call(x, x, 1.0, 2.0), call(x, scale=3.0), call(x, a=1.0, b=x))
    yield call(x, b=x, a=1.0)
    yield outcome(lambda: call())
    yield outcome(lambda: call(x, y=x))


def keywords_in_any_order(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda a, b, c=2: torch.relu(a) - b * c)
    a, b = torch.ones(2), torch.arange(2.0)
    yield from (call(a, b), call(a, b=b), call(b=b, a=a), call(c=3, b=b, a=a), call(b, a))


def dictionaries(compiled: Compile) -> Iterator[Any]:
    def function(batch: dict[str, Any]) -> dict[str, Any]:
        return {name: torch.tanh(value) * 2 for name, value in batch.items()} | {"count": len(batch)}

    call, x = compiled(function), torch.linspace(-1, 1, 3)
    yield from (call({"a": x, "b": x + 1}), call({"b": x, "a": x + 1}), call({"a": x}), call({"a": x, "b": x + 1}))
    yield compiled(lambda x: OrderedDict(z=torch.relu(x), a=x))(x)


def named_tuples(compiled: Compile) -> Iterator[Any]:
    def function(point: _Point) -> Any:
        y = point.x if point.y is None else point.y
        return _Point(torch.relu(point.x) * y), _Pair(left=y, right=(y * 2, [y + 1]))

    call, x = compiled(function), torch.linspace(-1, 1, 3)
    yield from (call(_Point(x)), call(_Point(x, x + 1)), call(_Point(x)))
    yield compiled(lambda x: torch.max(torch.relu(x), 0))(x.reshape(3, 1))


def data_classes(compiled: Compile) -> Iterator[Any]:
    def function(inputs: _Output, settings: _Settings) -> _Output:
        x = inputs.logits
        for name in settings.names:
            x = getattr(torch, name)(x)
        hidden = (*inputs.hidden, x)
        return _Output(x * settings.scale, hidden, loss=x.sum() if inputs.loss is not None else None, note="done")

    call, x = compiled(function), torch.linspace(-1, 1, 3)
    for settings in (_Settings(2.0), _Settings(3.0), _Settings(2.0, ("tanh", "relu")), _Settings(2.0)):
        yield call(_Output(x), settings)
        yield call(_Output(x, (x,), loss=x), settings)


def results_without_tensors(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, kind: str) -> Any:
        return {"none": None, "text": kind * 2, "number": x.shape[0], "both": (None, torch.relu(x), 3.5, "x", [])}[kind]

    call = compiled(function)
    for kind in ("none", "text", "number", "both", "none"):
        yield call(torch.linspace(-1, 1, 3), kind)


def nested_containers(compiled: Compile) -> Iterator[Any]:
    def function(tree: Any) -> Any:
        (a, [b, c]), rest = tree["left"], tree["right"]
        return [a + b, {"inner": (torch.relu(c), [rest[0][0] * 2])}, ()]

    call, x = compiled(function), torch.linspace(-1, 1, 3)
    for scale in (1, 2):
        yield call({"left": (x, [x * scale, x - 1]), "right": [(x,)]})


def lists_that_the_call_changes(compiled: Compile) -> Iterator[Any]:
    def function(xs: list[torch.Tensor]) -> torch.Tensor:
        last = xs.pop()
        xs.insert(0, torch.relu(last))
        xs[-1] = xs[-1] * 2
        return sum(xs)

    call = compiled(function)
    for length in (2, 3, 2):
        xs = [torch.linspace(-1, 1, 3) + place for place in range(length)]
        yield call(xs)
        yield xs


def object_as_argument(compiled: Compile) -> Iterator[Any]:
    class Batch:
        def __init__(self, x: torch.Tensor) -> None:
            self.x, self.steps = x, 0

    def function(batch: Batch) -> torch.Tensor:
        batch.steps += 1
        batch.x = torch.relu(batch.x) + 1
        return batch.x * batch.steps

    call, batch = compiled(function), Batch(torch.linspace(-1, 1, 3))
    for _ in range(3):
        yield call(batch)
        yield batch.x, batch.steps


def function_as_argument(compiled: Compile) -> Iterator[Any]:
    call, x = compiled(lambda x, activation: activation(x) * 2), torch.linspace(-1, 1, 3)
    for activation in (torch.relu, torch.tanh, torch.nn.GELU(), lambda x: x + 1, torch.relu):
        yield call(x, activation)


def no_arguments(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda: torch.arange(4.0).relu() * 2)
    first, second = call(), call()
    first.zero_()
    yield second, call()


def classes_and_sets(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, names: frozenset[str], kind: type, dtype: torch.dtype) -> torch.Tensor:
        if "relu" in names:
            x = torch.relu(x)
        return (x * 2 if kind is int else x + 2).to(dtype)

    call, x = compiled(function), torch.linspace(-1, 1, 3)
    for names, kind, dtype in (
        (frozenset({"relu"}), int, torch.float64),
        (frozenset(), int, torch.float64),
        (frozenset({"relu"}), str, torch.float16),
    ):
        yield call(x, names, kind, dtype)


def many_kinds_of_calls(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, scale: torch.relu(x) * scale)
    for rows in (*range(1, 14), 3, 13):
        yield call(torch.ones(rows, 2), rows % 3)
