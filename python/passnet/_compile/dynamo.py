"""Dynamo with the settings for captures."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo
from torch._dynamo import guards as dynamo_guards
from torch._dynamo import symbolic_convert
from torch._guards import GuardsSet, TracingContext
from torch.fx import traceback

# Some releases of Dynamo write `x.add_(y, alpha=0.1)` and `x.addcdiv_(y, z, value=0.1)` as several operations, each of which rounds.
_DECOMPOSITIONS = "enable_dynamo_decompositions"
# Settings with which Dynamo keeps operations as they are written. Not all releases have them.
AS_WRITTEN: dict[str, Any] = {_DECOMPOSITIONS: False} if hasattr(torch._dynamo.config, _DECOMPOSITIONS) else {}
# Dynamo collects garbage after each compilation, and a compilation by PassNet does more than the part of Dynamo.
_COLLECTION = "run_gc_after_compile"
_UNCOLLECTED: dict[str, Any] = {_COLLECTION: False} if hasattr(torch._dynamo.config, _COLLECTION) else {}


def call_captured(
    function: Callable[..., Any], backend: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls a function under Dynamo as one graph of fixed sizes, with its operations as they are written. Returns its result."""
    with torch._dynamo.config.patch(AS_WRITTEN | _UNCOLLECTED), _stackless.context():
        return torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*args, **kwargs)


class _Stackless:
    """Contexts in which Dynamo notes no stack of the user's code at each node of a graph, and no names of functions for its logs.

    Only messages would show these stacks and names. The text of stacks takes a tenth of the time of a capture, and finding names, for
    which each source file is tokenized, a twentieth. The state that PyTorch keeps for this is one for all threads: the first of the
    contexts that overlap changes it, and the last one restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._restore = contextlib.ExitStack()

    @contextlib.contextmanager
    def context(self) -> Iterator[None]:
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._change()
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if self._open == 0:
                    self._restore.close()

    def _change(self) -> None:
        self._restore.enter_context(traceback.preserve_node_meta())
        # Dynamo keeps a stack that a node has already.
        traceback.set_stack_trace(["captured by PassNet"])
        # Another thread that runs a graph meanwhile makes this dictionary the current one again when it ends.
        self._restore.callback(traceback.get_current_meta().pop, "stack_trace", None)
        if (find := getattr(symbolic_convert, "get_funcname", None)) is not None:
            self._restore.callback(setattr, symbolic_convert, "get_funcname", find)
            symbolic_convert.get_funcname = _unnamed


def _unnamed(file: str, line: int) -> None:
    """Stands in for the function that finds the name of the function at a line of a file."""


_stackless = _Stackless()


def forget_guards() -> None:
    """Removes the guards of the capture that is under way.

    The code that Dynamo compiles is called once, at once. A program that checks its guards would take a tenth of the time of a capture
    to build.
    """
    TracingContext.get().guards_context.dynamo_guards = GuardsSet()


def functions_of_guards() -> dict[str, Any]:
    """Returns the functions that the names of guards call, by name."""
    # Before PyTorch 2.9 these functions are in a dictionary.
    make = getattr(dynamo_guards, "_get_closure_vars", None)
    return dict(make() if make is not None else getattr(dynamo_guards, "CLOSURE_VARS", {}))
