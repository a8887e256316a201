"""Closures, attributes of classes, globals and objects that change between calls."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from programs import Compile

_SCALE = 2.0


def closed_number(compiled: Compile) -> Iterator[Any]:
    scale = 1.0

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * scale

    call = compiled(function)
    for scale in (1.0, 2.5, -1.0, 1.0):  # noqa: B007 (the function reads it)
        yield call(torch.linspace(-1, 1, 4))


def closed_number_that_the_function_changes(compiled: Compile) -> Iterator[Any]:
    steps = 0

    def function(x: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return torch.tanh(x) + steps

    call = compiled(function)
    for _ in range(3):
        yield call(torch.zeros(2))
        yield steps


def closed_tensor_that_is_replaced(compiled: Compile) -> Iterator[Any]:
    shift = torch.zeros(3)
    call = compiled(lambda x: torch.relu(x + shift) * 2)
    for value in (torch.ones(3), torch.ones(3, dtype=torch.float64), torch.ones(1), torch.zeros(3)):
        shift = value
        yield call(torch.linspace(-1, 1, 3))
        shift.add_(5)
        yield call(torch.linspace(-1, 1, 3))


def dictionary_that_changes(compiled: Compile) -> Iterator[Any]:
    settings: dict[str, Any] = {"scale": 2, "names": ["relu"]}

    def function(x: torch.Tensor) -> torch.Tensor:
        for name in settings["names"]:
            x = getattr(torch, name)(x)
        return x * settings["scale"]

    call = compiled(function)
    x = torch.linspace(-1, 1, 3)
    yield call(x)
    settings["scale"] = 3
    yield call(x)
    settings["names"].append("tanh")
    yield call(x)
    settings["names"][0] = "neg"
    yield call(x)


def default_that_is_shared(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, seen: list[float] = []) -> torch.Tensor:  # noqa: B006 (tested)
        seen.append(1.0)
        return torch.relu(x) + len(seen)

    call = compiled(function)
    for _ in range(3):
        yield call(torch.zeros(2))
    yield function.__defaults__


def defaults_that_are_replaced(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, scale: float = 2.0, *, shift: float = 1.0) -> torch.Tensor:
        return torch.sigmoid(x) * scale + shift

    call = compiled(function)
    yield call(torch.zeros(2))
    function.__defaults__ = (5.0,)
    yield call(torch.zeros(2))
    function.__kwdefaults__["shift"] = 7.0
    yield call(torch.zeros(2))


def partial_application(compiled: Compile) -> Iterator[Any]:
    def function(scale: float, x: torch.Tensor, *, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * scale + shift

    shift = torch.ones(2)
    call = compiled(functools.partial(function, 3.0, shift=shift))
    yield call(torch.zeros(2))
    shift.mul_(4)
    yield call(torch.zeros(2))
    yield call(torch.zeros(2), shift=torch.zeros(2))


def attributes_of_a_class(compiled: Compile) -> Iterator[Any]:
    class Model(torch.nn.Module):
        scale = 2.0
        kinds = ("relu",)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for kind in self.kinds:
                x = getattr(torch, kind)(x)
            return x * self.scale

    model = Model()
    call, x = compiled(model), torch.linspace(-1, 1, 3)
    yield call(x)
    Model.scale = 4.0
    yield call(x)
    Model.kinds = ("relu", "exp")
    yield call(x)
    model.scale = 1.0
    yield call(x)
    del model.scale
    yield call(x)


def properties_and_slots(compiled: Compile) -> Iterator[Any]:
    class Settings:
        __slots__ = ("_power", "reads")

        def __init__(self) -> None:
            self._power, self.reads = 2, 0

        @property
        def power(self) -> int:
            self.reads += 1
            return self._power

    settings = Settings()
    call = compiled(lambda x: torch.relu(x) ** settings.power)
    for power in (2, 3, 2):
        settings._power = power
        yield call(torch.arange(3.0))
        yield settings.reads


def global_number(compiled: Compile) -> Iterator[Any]:
    global _SCALE
    call = compiled(lambda x: torch.tanh(x) * _SCALE)
    for _SCALE in (2.0, 3.0, 2.0):
        yield call(torch.ones(2))


def object_that_is_called(compiled: Compile) -> Iterator[Any]:
    class Counter:
        def __init__(self) -> None:
            self.calls, self.total = 0, torch.zeros(2)

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.total = self.total + x
            return torch.relu(self.total) / self.calls

    counter = Counter()
    call = compiled(counter)
    for step in range(3):
        yield call(torch.ones(2) * step)
    yield counter.calls, counter.total


def method_of_an_object(compiled: Compile) -> Iterator[Any]:
    class Scaler:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def apply(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x) * self.scale

    scaler = Scaler(2.0)
    call = compiled(scaler.apply)
    for scale in (2.0, 3.0, 2.0):
        scaler.scale = scale
        yield call(torch.ones(2))


def method_that_is_replaced(compiled: Compile) -> Iterator[Any]:
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten())
    call, x = compiled(model), torch.linspace(-1, 1, 6).reshape(2, 3)
    yield call(x)
    model[0].forward = lambda x: torch.tanh(x) * 3
    yield call(x)
    del model[0].forward
    yield call(x)


def functions_from_a_list(compiled: Compile) -> Iterator[Any]:
    functions = [torch.relu, torch.tanh, lambda x: x * 2]

    def function(x: torch.Tensor) -> torch.Tensor:
        for part in functions:
            x = part(x)
        return x

    call = compiled(function)
    yield call(torch.linspace(-1, 1, 3))
    functions.reverse()
    yield call(torch.linspace(-1, 1, 3))
    functions.pop()
    yield call(torch.linspace(-1, 1, 3))


def decorated_function(compiled: Compile) -> Iterator[Any]:
    calls = []

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            calls.append(len(args))
            return function(*args, **kwargs) * 2

        return wrapper

    # Dynamo does not see its cache: an effect of such a function would be repeated.
    @functools.lru_cache
    def scale(rows: int) -> float:
        return 1 / rows

    @logged
    def function(x: torch.Tensor, shift: float = 0.0) -> torch.Tensor:
        return torch.relu(x) * scale(x.shape[0]) + shift

    call = compiled(function)
    yield from (call(torch.ones(2)), call(torch.ones(4), shift=1.0), call(torch.ones(2)), call(torch.ones(2)))
    yield calls
