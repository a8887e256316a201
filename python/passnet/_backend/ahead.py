"""Triton kernels of a rewritten graph, compiled in several processes before the graph runs.

Triton compiles each kernel at its first launch, so kernels compile one after another. Much of that time is spent in Python, so threads
do not help enough. Processes compile into Triton's cache on disk, where this process finds the kernels.
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
from passnet._backend.binding import unchecked_replacement
from passnet._backend.forked import run_forked
from passnet._backend.regions import kind_of, regions_of
from passnet._backend.types import device_of, uninitialized
from passnet._passes.load import Pass
from passnet.kernels._errors import is_fatal
from passnet.kernels._prepared import ALLOCATIONS, QUESTIONS

_MOST_PROCESSES = 16
# Seconds to wait for the processes. After that, this process compiles the missing kernels.
_SECONDS = 120.0
_VIEWS = frozenset(
    getattr(torch.Tensor, name) for name in ("view", "as_strided", "expand", "permute", "transpose", "unsqueeze")
)
# Triton compiles one kernel for pointers that are multiples of this number of bytes, and another for other pointers.
_ALIGNMENT = 16

Launch = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A `triton.jit` function with the positional and named arguments of a launch. A tensor is given by its dtype."""


def compile_ahead(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> None:
    """Compiles the Triton kernels that these passes launch on a GPU, for each place where they match.

    The types of the arguments are those noted in the graph (`example_value`). No kernel runs. A kernel that fails to compile, and
    a place whose launches depend on the contents of tensors, are left for their first call.
    """
    launches: list[Launch] = []
    for rule, noted in _places(module, passes):
        values = [uninitialized(value) if isinstance(value, torch.Tensor) else value for value in noted]
        launches += launches_of(unchecked_replacement(getattr(rule, "origin", rule)), values)
    if launches:
        _compile(launches)


def launches_of(replacement: Callable[..., Any], values: Sequence[Any]) -> list[Launch]:
    """Returns the Triton launches of a replacement for arguments of these types; no launches if they depend on contents."""
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
    """Lets a replacement allocate memory and read types. Raises `_UnknownError` if it calls any other function of PyTorch."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func not in ALLOCATIONS and func not in QUESTIONS and func not in _VIEWS:
            raise _UnknownError
        return func(*args, **(kwargs or {}))


def _places(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> Iterator[tuple[Pass, list[Any]]]:
    """Yields each pass with the arguments of its places on a GPU, once for places with the same types. Tensors have no memory."""
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
    """Returns the tensor that Dynamo noted for a node of the graph, or the argument itself if it is no node.

    Raises `_UnknownError` if the type of the node is not known.
    """
    if not isinstance(argument, torch.fx.Node):
        return argument
    value = argument.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        raise _UnknownError
    if value.layout != torch.strided or not all(type(size) is int for size in (*value.shape, *value.stride())):
        raise _UnknownError
    return value


def _untouched(argument: Any) -> Any:
    """Returns the dtype of an aligned tensor, else the argument.

    Triton accepts a dtype in the place of a tensor when it only compiles. This way no memory is held.
    """
    is_aligned = isinstance(argument, torch.Tensor) and argument.data_ptr() % _ALIGNMENT == 0
    return argument.dtype if is_aligned else argument


def _compile(launches: Sequence[Launch]) -> None:
    """Compiles the kernels of these launches in several processes, if this version of Triton supports that."""
    try:
        from triton import AsyncCompileMode, knobs
    except ImportError:
        return
    if knobs.compilation.always_compile:
        # The processes return kernels through the cache on disk, and this setting disables reading it.
        return
    triton_ready.wait()
    deferred = _Deferred()
    with AsyncCompileMode(deferred, ignore_errors=True):
        for function, arguments, named in launches:
            try:
                function.warmup(*arguments, grid=(1,), **named)
            except Exception as error:
                # The first call raises the same error and reports it.
                if is_fatal(error):
                    raise
        deferred.run()


class _Deferred(Executor):
    """An executor that collects Triton's compilations. `run` compiles in copies of this process, then reads from Triton's cache."""

    def __init__(self) -> None:
        self._tasks: list[tuple[Future, Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        self._tasks.append((future, functools.partial(fn, *args, **kwargs)))
        return future

    def run(self) -> None:
        """Compiles all collected kernels and completes their futures."""
        # Only the cores that this process may use, not all cores of the machine.
        processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)), len(self._tasks))
        if processes > 1:
            run_forked([task for _, task in self._tasks], processes, seconds=_SECONDS)
        for future, task in self._tasks:
            try:
                future.set_result(task())
            except Exception as error:
                future.set_exception(error)
