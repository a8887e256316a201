"""Triton kernels of a rewritten graph, compiled in several processes before the graph runs, and while it is verified.

Triton compiles each kernel at its first launch, so kernels compile one after another. Much of that time is spent in Python, so threads
do not help enough. Processes compile into Triton's cache on disk, where this process finds the kernels at their first launch.
"""

from __future__ import annotations

import functools
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch.overrides import TorchFunctionMode

from passnet import _native
from passnet._backend import triton_ready
from passnet._backend.binding import unchecked_replacement
from passnet._backend.forked import Forked
from passnet._backend.kinds import kind_of
from passnet._backend.regions import regions_of
from passnet._backend.types import device_of, uninitialized
from passnet._passes.load import Pass
from passnet.kernels._errors import is_fatal
from passnet.kernels._prepared import ALLOCATIONS, QUESTIONS

_MOST_PROCESSES = 16
# Seconds for the processes. After that, this process compiles the missing kernels.
_SECONDS = 120.0
# A kernel takes long if its source has this many times the length of the median. Windows of 7x7 that are written out take ten times as
# long as other kernels.
_LONG_SOURCE = 2.0
_VIEWS = frozenset(
    getattr(torch.Tensor, name) for name in ("view", "as_strided", "expand", "permute", "transpose", "unsqueeze")
)
# Triton compiles one kernel for pointers that are multiples of this number of bytes, and another for other pointers.
_ALIGNMENT = 16

Launch = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A `triton.jit` function with the positional and named arguments of a launch. A tensor is given by its dtype."""


class Ahead:
    """The compilation of kernels in copies of this process. The end of the context ends the copies."""

    def __init__(self, tasks: Sequence[_Task], needed: dict[Any, int]) -> None:
        self._order = _long_first([task.length for task in tasks])
        self._needed = needed
        # Only the cores that this process may use, not all cores of the machine.
        processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)), len(tasks))
        functions = [tasks[number].compile for number in self._order]
        self._copies = Forked(functions, processes, seconds=_SECONDS) if processes > 1 else None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        if self._copies is not None:
            self._copies.close()

    def wait(self) -> None:
        """Waits for all kernels."""
        if self._copies is not None:
            self._copies.wait()

    def wait_for(self, rule: Pass, values: Sequence[Any]) -> None:
        """Waits for the kernels of a pass with these arguments, and for those of earlier places in the graph."""
        count = self._needed.get(_place_of(rule, values), len(self._order))
        if self._copies is not None:
            self._copies.wait([place for place, number in enumerate(self._order) if number < count])


def compile_ahead(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> Ahead:
    """Starts to compile the Triton kernels that these passes launch on a GPU, for each place where they match.

    The types of the arguments are those noted in the graph (`example_value`). No kernel runs. A kernel that fails to compile, and
    a place whose launches depend on the contents of tensors, are left for their first call.
    """
    launches: dict[Any, list[Launch]] = {}
    for rule, noted in _places(module, passes):
        values = [uninitialized(value) if isinstance(value, torch.Tensor) else value for value in noted]
        launches[_place_of(rule, noted)] = launches_of(unchecked_replacement(getattr(rule, "origin", rule)), values)
    return Ahead(*_tasks(launches)) if any(launches.values()) else Ahead((), {})


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
        key = _place_of(rule, noted)
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


def _place_of(rule: Pass, values: Sequence[Any]) -> Any:
    return rule.name, *map(kind_of, values)


@dataclass
class _Task:
    """The compilation of one kernel."""

    compile: Callable[[], Any]
    length: int = 0
    """Number of characters of the kernel's source. The time of its compilation grows with it."""


def _long_first(lengths: Sequence[int]) -> list[int]:
    """Returns the numbers of kernels in the order of their compilation: those that take long first, so that none is left for the end."""
    long = _LONG_SOURCE * statistics.median(lengths) if lengths else 0.0
    return sorted(range(len(lengths)), key=lambda number: lengths[number] <= long)


def _tasks(launches: dict[Any, list[Launch]]) -> tuple[list[_Task], dict[Any, int]]:
    """Returns the compilations for these launches in their order, and for each place the number of those up to its last.

    There are none if this version of Triton does not support that.
    """
    try:
        from triton import AsyncCompileMode, knobs
    except ImportError:
        return [], {}
    if knobs.compilation.always_compile:
        # The processes return kernels through the cache on disk, and this setting disables reading it.
        return [], {}
    triton_ready.wait()
    collected = _Collected()
    needed = {}
    with AsyncCompileMode(collected, ignore_errors=True):
        for place, wanted in launches.items():
            for function, arguments, named in wanted:
                try:
                    function.warmup(*arguments, grid=(1,), **named)
                except Exception as error:
                    # The first call raises the same error and reports it.
                    if is_fatal(error):
                        raise
                collected.note_length(len(getattr(function, "src", "")))
            needed[place] = len(collected.tasks)
    return collected.tasks, needed


class _Collected(Executor):
    """An executor that collects Triton's compilations and reports that each has failed, so that Triton expects no results."""

    def __init__(self) -> None:
        self.tasks: list[_Task] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        self.tasks.append(_Task(functools.partial(fn, *args, **kwargs)))
        future: Future = Future()
        future.set_exception(RuntimeError("the kernel is compiled in another process"))
        return future

    def note_length(self, length: int) -> None:
        """Notes the length of the source of the kernel whose compilation was submitted last."""
        if self.tasks and not self.tasks[-1].length:
            self.tasks[-1].length = length
