"""Triton kernels of a rewritten graph, compiled in several threads before the graph runs.

Triton compiles a kernel at its first launch, one after the other. Most of that time is spent in LLVM and `ptxas`, which do not hold
Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import torch.fx
from torch.overrides import TorchFunctionMode

from passnet import _native
from passnet._backend.fallback import unchecked_replacement
from passnet._backend.regions import regions_of
from passnet._passes.load import Pass
from passnet.kernels._errors import is_fatal
from passnet.kernels._prepared import ALLOCATIONS, QUESTIONS

_MOST_THREADS = 16
_VIEWS = frozenset(
    getattr(torch.Tensor, name) for name in ("view", "as_strided", "expand", "permute", "transpose", "unsqueeze")
)
# Triton compiles one kernel for pointers that are multiples of this, and others for those that are not.
_ALIGNMENT = 16

Launch = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A `triton.jit` function with the positional and named arguments of a launch; types stand for tensors."""


def compile_ahead(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> int:
    """Compiles the Triton kernels that the places of these passes launch on a GPU. Returns how many launches it has compiled for.

    The arguments are those that the noted types of the graph say (`example_value`). No kernel runs. A kernel that fails to compile
    and a place whose launches depend on values are left for their first call.
    """
    launches: list[Launch] = []
    for rule, types in _places(module, passes):
        values = [value.make() if isinstance(value, _Type) else value for value in types]
        launches += launches_of(unchecked_replacement(getattr(rule, "origin", rule)), values)
    return len(launches) if _compile(launches) else 0


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


class _Type:
    """A tensor without memory."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.of = tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, tensor.device

    def make(self) -> torch.Tensor:
        shape, stride, dtype, device = self.of
        return torch.empty_strided(shape, stride, dtype=dtype, device=device)


class _UnknownError(Exception):
    """A value is not known before the graph runs."""


class _OnlyLaunches(TorchFunctionMode):
    """Lets a replacement allocate and look at types, and stops it where it computes with PyTorch."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func not in ALLOCATIONS and func not in QUESTIONS and func not in _VIEWS:
            raise _UnknownError
        return func(*args, **(kwargs or {}))


def _places(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> Iterator[tuple[Pass, list[Any]]]:
    """Each pass with the arguments of its places on a GPU, once for places with the same types."""
    done = set()
    for node, rule in regions_of(module.graph, passes).items():
        try:
            types = [_type(argument) for argument in node.args]
        except _UnknownError:
            continue
        key = rule.name, *(value.of if isinstance(value, _Type) else repr(value) for value in types)
        if key not in done and any(isinstance(value, _Type) and value.of[-1].type == "cuda" for value in types):
            done.add(key)
            yield rule, types


def _type(argument: Any) -> Any:
    """The type of a tensor, or another value itself. Raises `_UnknownError`."""
    if not isinstance(argument, torch.fx.Node):
        return argument
    value = argument.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        raise _UnknownError
    if value.layout != torch.strided or not all(type(size) is int for size in (*value.shape, *value.stride())):
        raise _UnknownError
    return _Type(value)


def _untouched(argument: Any) -> Any:
    """The element type of an aligned tensor, which Triton takes for one when it only compiles, so that memory is not held; else the value."""
    is_aligned = isinstance(argument, torch.Tensor) and argument.data_ptr() % _ALIGNMENT == 0
    return argument.dtype if is_aligned else argument


def _compile(launches: Sequence[Launch]) -> bool:
    """Compiles for launches in several threads. Returns whether this version of Triton can do that."""
    try:
        from triton import AsyncCompileMode
    except ImportError:
        return False
    if not launches:
        return True
    # All cores that this process may use: the others are not its own.
    threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)), len(launches))
    with ThreadPoolExecutor(threads) as pool, AsyncCompileMode(pool, ignore_errors=True):
        for function, arguments, named in launches:
            try:
                function.warmup(*arguments, grid=(1,), **named)
            except Exception as error:
                # The first call meets the same error, and reports it.
                if is_fatal(error):
                    raise
    return True
