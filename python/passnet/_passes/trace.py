"""Traces patterns to graphs with the same calls as captured graphs."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.fx
import torch.nn.functional
from torch.overrides import TorchFunctionMode

# Operators with an in-place form, such as `operator.iadd`.
IN_PLACE_OPERATORS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)


class _PatternProxy(torch.fx.Proxy):
    """Records in-place operators and item assignment. The base class records other operators for them, or refuses them."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self._record("setitem", key, value)

    def _record(self, name: str, *operands: Any) -> torch.fx.Proxy:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (self, *operands), {})


def _record_in_place(name: str) -> Callable[..., torch.fx.Proxy]:
    return lambda self, other: self._record(name, other)


for _operator in IN_PLACE_OPERATORS:
    setattr(_PatternProxy, f"__i{_operator}__", _record_in_place(f"i{_operator}"))


class _PatternTracer(torch.fx.Tracer):
    """Traces a pattern.

    Meanwhile, `torch.nn.Module.__call__` and `__getattr__` are replaced for the whole process, so this also gets the modules that other
    threads call. Patterns have no modules of their own.
    """

    def proxy(self, node: torch.fx.Node) -> torch.fx.Proxy:
        return _PatternProxy(node, self)

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        return attr_val


def trace_pattern(pattern: Callable[..., Any]) -> torch.fx.Graph:
    tracer = _PatternTracer()
    with _recording_all_functionals(), _RecordingFactories(tracer):
        return tracer.trace(pattern)


class _RecordingFactories(TorchFunctionMode):
    """Records calls without tensor arguments, such as `torch.full((2,), 1.0)`. Otherwise they would run and become constants."""

    def __init__(self, tracer: torch.fx.Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        flat = torch.utils._pytree.tree_leaves((args, kwargs))
        is_constant = isinstance(func, type)  # `torch.device(...)`
        if is_constant or any(isinstance(value, (torch.Tensor, torch.fx.Proxy)) for value in flat):
            return func(*args, **kwargs)
        return self.tracer.create_proxy("call_function", func, args, kwargs)


@contextlib.contextmanager
def _recording_all_functionals() -> Iterator[None]:
    """Makes tracing record the functions of `torch.nn.functional` that do not dispatch on their arguments.

    Otherwise `sigmoid(x)` would be recorded as the method `x.sigmoid()`, whereas captured graphs call the function.
    """
    functional = torch.nn.functional
    originals = {
        name: value
        for name, value in vars(functional).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and value.__module__ == functional.__name__
        and "handle_torch_function" not in value.__code__.co_names
        and value not in torch._jit_internal.boolean_dispatched
    }
    for name, value in originals.items():
        setattr(functional, name, _recorded(value))
    try:
        yield
    finally:
        for name, value in originals.items():
            setattr(functional, name, value)


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.fx.Proxy):
                return value.tracer.create_proxy("call_function", function, args, kwargs)
        return function(*args, **kwargs)

    return record
