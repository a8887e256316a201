"""Modes and context managers of PyTorch and of the user, within and around calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from programs import Compile


def _weight() -> torch.Tensor:
    return torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()


def no_gradient_within(compiled: Compile) -> Iterator[Any]:
    weight = _weight()

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            fixed = torch.relu(x @ weight)
        with torch.enable_grad():
            return fixed, torch.tanh(fixed @ weight)

    call = compiled(function)
    for _ in range(2):
        fixed, result = call(torch.ones(2, 3))
        weight.grad = None
        result.sum().backward()
        yield fixed, result, weight.grad


def modes_around(compiled: Compile) -> Iterator[Any]:
    weight = _weight()
    call, x = compiled(lambda x: torch.relu(x @ weight) * 2), torch.ones(2, 3)
    yield call(x)
    with torch.no_grad():
        yield call(x)
    with torch.inference_mode():
        result = call(x)
        yield result, result.is_inference()
    with torch.set_grad_enabled(False), torch.enable_grad():
        yield call(x)
    yield call(x)


def mode_by_decorator(compiled: Compile) -> Iterator[Any]:
    weight = _weight()

    @torch.no_grad()
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x @ weight) * 3

    call = compiled(function)
    for _ in range(2):
        yield call(torch.ones(2, 3))
        yield torch.is_grad_enabled()


def mode_that_stays(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, wanted: bool) -> torch.Tensor:
        torch.set_grad_enabled(wanted)
        return torch.tanh(x) * 2

    call = compiled(function)
    try:
        for wanted in (False, True, False):
            yield call(torch.ones(2, requires_grad=True), wanted)
            yield torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def autocast_around(compiled: Compile) -> Iterator[Any]:
    weight = _weight()
    call, x = compiled(lambda x: torch.relu(x @ weight).sum(0) + 1), torch.ones(2, 3)
    with torch.no_grad():
        for dtype in (None, torch.bfloat16, torch.float16, None, torch.bfloat16):
            with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
                yield call(x)


def autocast_within(compiled: Compile) -> Iterator[Any]:
    weight = _weight()

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            low = torch.tanh(x @ weight)
            with torch.autocast("cpu", enabled=False):
                high = torch.tanh(x @ weight)
        return low, high * 2

    call = compiled(function)
    for _ in range(2):
        low, high = call(torch.ones(2, 3))
        weight.grad = None
        (low.float().sum() + high.sum()).backward()
        yield low, high, weight.grad


def context_managers_of_the_user(compiled: Compile) -> Iterator[Any]:
    log: list[str] = []

    @contextlib.contextmanager
    def scaled(scale: float) -> Iterator[float]:
        log.append("enter")
        try:
            yield scale * 2
        finally:
            log.append("leave")

    class Shifted:
        def __enter__(self) -> float:
            log.append("shift")
            return 1.0

        def __exit__(self, *_: Any) -> None:
            log.append("done")

    def function(x: torch.Tensor) -> torch.Tensor:
        with scaled(2.0) as scale, Shifted() as shift:
            return torch.relu(x) * scale + shift

    call = compiled(function)
    for _ in range(2):
        yield call(torch.linspace(-1, 1, 3))
        yield list(log)


def default_types(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x) * torch.ones(3) + torch.full((3,), 0.5) + torch.arange(3) / 2)
    for dtype in (torch.float32, torch.float64, torch.float32):
        torch.set_default_dtype(dtype)
        try:
            yield call(torch.ones(3, dtype=torch.float32))
        finally:
            torch.set_default_dtype(torch.float32)


def default_devices(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda rows: torch.zeros(rows, 2) + 1)
    yield call(2)
    with torch.device("meta"):
        yield call(2).device.type
    yield call(2)


def modes_that_see_functions(compiled: Compile) -> Iterator[Any]:
    class Doubled(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            return result * 2 if function is torch.relu else result

    call, x = compiled(lambda x: torch.relu(x) + 1), torch.ones(3)
    yield call(x)
    with Doubled():
        yield call(x)
    yield call(x)


def modes_that_see_operations(compiled: Compile) -> Iterator[Any]:
    class Recorded(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(function))
            return function(*args, **(kwargs or {}))

    call, x = compiled(lambda x: torch.relu(x) * 3), torch.ones(3)
    yield call(x)
    with Recorded() as mode:
        yield call(x)
    yield mode.seen
    yield call(x)


def transforms_of_functions(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (torch.sin(x) * 2).sum())
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    yield call(x)
    yield torch.func.grad(call)(x)
    yield torch.func.vmap(call)(x)
    yield torch.func.jvp(call, (x,), (torch.ones_like(x),))
    yield torch.func.jacrev(call)(x[0])
    yield call(x)


def transforms_within(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        slope = torch.func.grad(lambda y: torch.tanh(y).sum())(x)
        return slope * 2, torch.func.vmap(lambda row: row.softmax(0))(x)

    call = compiled(function)
    for rows in (2, 3, 2):
        yield call(torch.linspace(-1, 1, rows * 3).reshape(rows, 3))


def attention_backends(compiled: Compile) -> Iterator[Any]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    call = compiled(lambda q: torch.nn.functional.scaled_dot_product_attention(q, q, q * 2, is_causal=True) + 1)
    q = torch.linspace(-1, 1, 48).reshape(1, 2, 6, 4)
    yield call(q)
    with sdpa_kernel(SDPBackend.MATH):
        yield call(q)
    yield call(q)
