"""Times of two functions that compute the same, called in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from passnet._backend.recording import REPEATS, repeated

_ROUNDS = 7
_ROUND_NS = 100_000
_MAX_REPEATS = 32
# A comparison ends after this time, with the rounds that it has; three at least.
_BUDGET_NS = 1_000_000_000
_LEAST_ROUNDS = 3
# It also ends if all its rounds have a ratio outside of these: more rounds would not change who loses.
_CLEAR = (0.93, 1.15)


# Below this a difference is the clock's noise.
_NOISE = 1.02


@dataclass(frozen=True)
class Comparison:
    """Times of two functions in nanoseconds by round, work of the device included."""

    eager: tuple[float, ...]
    fused: tuple[float, ...]

    @property
    def eager_ns(self) -> float:
        """Time of the first function in the round that was least disturbed."""
        return min(self.eager)

    @property
    def fused_ns(self) -> float:
        """Time of the second function in the round that was least disturbed."""
        return min(self.fused)

    @property
    def loses(self) -> bool:
        """Returns whether the second function is slower, by its best round as well as in most rounds: other work disturbs some."""
        return min(self.fused_ns / self.eager_ns, statistics.median(self._ratios)) > _NOISE

    @property
    def is_clear(self) -> bool:
        """Returns whether the same function wins in every round, by far."""
        return max(self._ratios) < _CLEAR[0] or min(self._ratios) > _CLEAR[1]

    @property
    def _ratios(self) -> list[float]:
        return [fused / eager for eager, fused in zip(self.eager, self.fused, strict=True)]


def compare_times(
    eager: Callable[[], Any], fused: Callable[[], Any], device: torch.device, *, graphed: bool = False
) -> Comparison:
    """Calls two functions in turns.

    With `graphed` the times are those of the device alone, as CUDA graphs, where both functions can be recorded: the host's
    share of a call, which a graph does not have, decides nothing then.
    """
    if not graphed or device.type != "cuda":
        return _compared(eager, fused, device)
    graphs = [graph for function in (eager, fused) if (graph := repeated(function, device)) is not None]
    try:
        if len(graphs) < 2:
            return _compared(eager, fused, device)
        times = _compared(graphs[0].replay, graphs[1].replay, device)
    finally:
        for graph in graphs:
            # Recorded graphs hold device memory until they are reset.
            graph.reset()
    eager_ns, fused_ns = (tuple(time / REPEATS for time in side) for side in (times.eager, times.fused))
    return Comparison(eager_ns, fused_ns)


def _compared(eager: Callable[[], Any], fused: Callable[[], Any], device: torch.device) -> Comparison:
    clocks = (_Clock(eager, device), _Clock(fused, device))
    started = time.perf_counter_ns()
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(_ROUNDS):
        # The order changes, so that neither side always starts with the caches that the other left. Both sides are
        # read within one round, so slow drift of the machine falls on both.
        for place in (0, 1) if number % 2 else (1, 0):
            times[place].append(clocks[place].read())
        if number + 1 >= _LEAST_ROUNDS and (
            time.perf_counter_ns() - started > _BUDGET_NS or Comparison(tuple(times[0]), tuple(times[1])).is_clear
        ):
            break
    return Comparison(tuple(times[0]), tuple(times[1]))


class _Clock:
    """Times a function, with as many calls in a row as a reading needs to be steady."""

    def __init__(self, function: Callable[[], Any], device: torch.device) -> None:
        self.function = function
        self.device = device
        function()
        self.repeats = 1
        # The first call above compiled and filled caches, so that this reading is a usual one.
        self.repeats = max(1, min(_MAX_REPEATS, int(_ROUND_NS / max(self.read(), 1.0))))

    def read(self) -> float:
        self._wait()
        started = time.perf_counter_ns()
        for _ in range(self.repeats):
            self.function()
        self._wait()
        return (time.perf_counter_ns() - started) / self.repeats

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
