"""Triton kernels of a rewritten graph, compiled in several processes before the graph runs.

Triton compiles a kernel at its first launch, one after the other. Much of that time is spent in Python, so threads do not help enough.
Processes compile into Triton's cache on disk, where this process finds the kernels.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import torch
import torch.fx
from torch.overrides import TorchFunctionMode

from passnet import _native
from passnet._backend import triton_ready
from passnet._backend.fallback import unchecked_replacement
from passnet._backend.forked import run_forked
from passnet._backend.regions import kind_of, regions_of
from passnet._backend.types import device_of, uninitialized
from passnet._passes.load import Pass
from passnet.kernels._errors import is_fatal
from passnet.kernels._prepared import ALLOCATIONS, QUESTIONS

_MOST_PROCESSES = 16
# After this time, what is missing is compiled in this process.
_SECONDS = 120.0
_VIEWS = frozenset(
    getattr(torch.Tensor, name) for name in ("view", "as_strided", "expand", "permute", "transpose", "unsqueeze")
)
# Triton compiles one kernel for pointers that are multiples of this, and others for those that are not.
_ALIGNMENT = 16

Launch = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A `triton.jit` function with the positional and named arguments of a launch; types stand for tensors."""


def compile_ahead(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> None:
    """Compiles the Triton kernels that the places of these passes launch on a GPU.

    The arguments are those that the noted types of the graph say (`example_value`). No kernel runs. A kernel that fails to compile
    and a place whose launches depend on values are left for their first call.
    """
    launches: list[Launch] = []
    for rule, noted in _places(module, passes):
        values = [uninitialized(value) if isinstance(value, torch.Tensor) else value for value in noted]
        launches += launches_of(unchecked_replacement(getattr(rule, "origin", rule)), values)
    if launches:
        _compile(launches)


def launches_of(replacement: Callable[..., Any], values: Sequence[Any]) -> list[Launch]:
    """The Triton launches of a replacement for arguments whose contents do not matter; none if they depend on contents."""
    seen: list[Launch] = []

    def collect(function: Any, arguments: tuple, named: dict[str, Any] | None) -> None:
        with torch._C.DisableTorchFunction():
            seen.append((function, tuple(map(_untouched, arguments)), dict(named or {})))

    _native.collect_launches(collect)
    try:
        with torch.no_grad(), _OnlyLaunches():
            replacement(*values)
    except Exception as error:
        if is_fatal(error):
            raise
        return []
    finally:
        _native.collect_launches(None)
    return seen


class _UnknownError(Exception):
    """A value is not known before the graph runs."""


class _OnlyLaunches(TorchFunctionMode):
    """Lets a replacement allocate and look at types, and stops it where it computes with PyTorch."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func not in ALLOCATIONS and func not in QUESTIONS and func not in _VIEWS:
            raise _UnknownError
        return func(*args, **(kwargs or {}))


def _places(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> Iterator[tuple[Pass, list[Any]]]:
    """Each pass with the arguments of its places on a GPU, once for places with the same types. Tensors have no memory."""
    done = set()
    for node, rule in regions_of(module.graph, passes).items():
        try:
            noted = [_noted(argument) for argument in node.args]
        except _UnknownError:
            continue
        key = rule.name, *map(kind_of, noted)
        if key not in done and device_of(noted).type == "cuda":
            done.add(key)
            yield rule, noted


def _noted(argument: Any) -> Any:
    """The tensor that Dynamo noted for a value of the graph, or another value itself. Raises `_UnknownError`."""
    if not isinstance(argument, torch.fx.Node):
        return argument
    value = argument.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        raise _UnknownError
    if value.layout != torch.strided or not all(type(size) is int for size in (*value.shape, *value.stride())):
        raise _UnknownError
    return value


def _untouched(argument: Any) -> Any:
    """The element type of an aligned tensor, which Triton takes for one when it only compiles, so that memory is not held; else the value."""
    is_aligned = isinstance(argument, torch.Tensor) and argument.data_ptr() % _ALIGNMENT == 0
    return argument.dtype if is_aligned else argument


def _compile(launches: Sequence[Launch]) -> None:
    """Compiles for launches in several processes, if this version of Triton can do that."""
    try:
        from triton import AsyncCompileMode, knobs
    except ImportError:
        return
    if knobs.compilation.always_compile:
        # Nothing is read from the cache on disk, through which the processes return kernels.
        return
    triton_ready.wait()
    deferred = _Deferred()
    with AsyncCompileMode(deferred, ignore_errors=True):
        for function, arguments, named in launches:
            try:
                function.warmup(*arguments, grid=(1,), **named)
            except Exception as error:
                # The first call meets the same error, and reports it.
                if is_fatal(error):
                    raise
        deferred.run()


class _Deferred(Executor):
    """Keeps what Triton would compile, to compile it in copies of this process and read it from Triton's cache."""

    def __init__(self) -> None:
        self._tasks: list[tuple[Future, Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        self._tasks.append((future, functools.partial(fn, *args, **kwargs)))
        return future

    def run(self) -> None:
        """Compiles all, and completes their futures."""
        # All cores that this process may use: the others are not its own.
        processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)), len(self._tasks))
        if processes > 1:
            run_forked([task for _, task in self._tasks], processes, seconds=_SECONDS)
        for future, task in self._tasks:
            try:
                future.set_result(task())
            except Exception as error:
                future.set_exception(error)
