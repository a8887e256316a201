"""Calls of a model that is not one graph: `torch.compile` with PassNet as its backend, or the model itself if that is faster.

Guards of several graphs and the code between them can take longer than a small model. Such a model may have effects on Python
objects, so no call is repeated: the calls of the user are timed, in turns with and without `torch.compile`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from passnet._backend.cache import Store
from passnet._backend.stopwatch import Comparison
from passnet._compile.entry import MISS, Entry
from passnet._compile.frames import without_errors
from passnet._compile.options import Options
from passnet._passes.load import Pass
from passnet._summary import message_and_line
from passnet.backend import Backend
from passnet.kernels._errors import is_fatal

# Dynamo compiles in the first calls of a kind. After these, so many calls of each side are timed.
_FIRST, _ROUNDS = 3, 9
# Largest number of kinds that are timed. Where sizes change from call to call, most kinds do not repeat.
_MOST_KINDS = 64
REASON = "run by torch.compile, calls of a kind are slower than the model, which runs them instead"

Lost = Callable[[str, Entry], None]


class RefusedError(Exception):
    """PyTorch refuses to compile a model. For example, it is a module of TorchScript."""


def run_uncaptured(
    model: Callable[..., Any], known: Sequence[Pass], options: Options, store: Store, lost: Lost
) -> Callable[..., Any]:
    """Returns a function that computes calls of a model that is not one graph.

    `lost` gets a reason and an entry once for each kind of call that is faster without `torch.compile`. Raises `RefusedError` if
    `torch.compile` refuses the model.
    """
    backend = Backend([], falls_back=True, verify=options.verify, store=store, author=options.author is not None)
    backend.passes = list(known)
    try:
        run = without_errors(torch.compile(model, backend=backend))
    except Exception as error:
        if is_fatal(error):
            raise
        raise RefusedError(f"torch.compile refuses it: {message_and_line(error)}") from error
    return Timed(model, run, lost) if options.verify else run


class Timed:
    """A function that replaces a model, and calls the model itself for kinds of calls that it computes more slowly.

    Only calls with gradients disabled are timed. The backward of other calls takes time later.
    """

    def __init__(self, model: Callable[..., Any], run: Callable[..., Any], lost: Lost) -> None:
        self.model = model
        self.run = run
        self.lost = lost
        self._kinds: dict[Any, _Times | bool] = {}
        """The times of a kind; after the decision, whether the model runs its calls."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled():
            return self.run(*args, **kwargs)
        kind = _kind(args, kwargs)
        times = self._kinds.get(kind)
        if times is None and len(self._kinds) < _MOST_KINDS:
            times = self._kinds.setdefault(kind, _Times())
        if not isinstance(times, _Times):
            return (self.model if times else self.run)(*args, **kwargs)
        noted, side = times.next_side(self.model, self.run)
        result = times.timed(side, noted, args, kwargs)
        if (loses := times.decision()) is not None and self._kinds.get(kind) is times:
            self._kinds[kind] = loses
            if loses:
                self.lost(REASON, self._entry(kind))
        return result

    def _entry(self, kind: Any) -> Entry:
        """Returns an entry for calls of a kind. The model is right for all calls, so the kind alone is checked."""
        model = self.model

        def entry(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return MISS if torch.is_grad_enabled() or _kind(args, kwargs) != kind else model(*args, **kwargs)

        return entry


class _Times:
    """Times of calls of one kind, in turns by the model and by the function that replaces it."""

    def __init__(self) -> None:
        self.calls = 0
        self.model: list[float] = []
        self.fused: list[float] = []

    def next_side(
        self, model: Callable[..., Any], run: Callable[..., Any]
    ) -> tuple[list[float] | None, Callable[..., Any]]:
        """Returns the function for the next call, and the list for its time; None if the call is not timed."""
        self.calls += 1
        if self.calls <= _FIRST:
            return None, run
        return (self.model, model) if self.calls % 2 else (self.fused, run)

    def timed(
        self, run: Callable[..., Any], times: list[float] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Returns the result of a call, and notes its time."""
        if times is None:
            return run(*args, **kwargs)
        uses_cuda = any(isinstance(value, torch.Tensor) and value.is_cuda for value in (*args, *kwargs.values()))
        if uses_cuda:
            torch.cuda.synchronize()
        started = time.perf_counter_ns()
        result = run(*args, **kwargs)
        if uses_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter_ns() - started)
        return result

    def decision(self) -> bool | None:
        """Returns whether the model is faster; None if there are not enough times yet."""
        if min(len(self.model), len(self.fused)) < _ROUNDS:
            return None
        return Comparison(tuple(self.model[:_ROUNDS]), tuple(self.fused[:_ROUNDS])).loses


def _kind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the types and sizes of arguments."""
    return tuple(map(_type, args)), tuple((name, _type(value)) for name, value in kwargs.items())


def _type(value: Any) -> Any:
    return (value.shape, value.dtype, value.device) if isinstance(value, torch.Tensor) else type(value)
