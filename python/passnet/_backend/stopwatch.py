"""Measures the times of two functions that compute the same, called in turns."""

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
# A comparison ends after this time, but not before three rounds.
_BUDGET_NS = 1_000_000_000
_LEAST_ROUNDS = 3
# It also ends if the ratios of all rounds are on one side of this interval: more rounds would not change which side loses.
_CLEAR = (0.98, 1.15)

# A ratio below this is noise of the clock.
_NOISE = 1.02
# On a quiet machine, the quartiles of the ratios of the rounds are within a few per cent of each other.
_QUIET = 1.15


@dataclass(frozen=True)
class Comparison:
    """Times of two functions in nanoseconds, one per round. They include the work of the device."""

    eager: tuple[float, ...]
    fused: tuple[float, ...]
    stored: bool = False
    """True if an earlier process measured the times."""

    @property
    def eager_ns(self) -> float:
        """Returns the time of the first function in its fastest round, in nanoseconds."""
        return min(self.eager)

    @property
    def fused_ns(self) -> float:
        """Returns the time of the second function in its fastest round, in nanoseconds."""
        return min(self.fused)

    @property
    def loses(self) -> bool:
        """Returns whether the second function is slower, both in its fastest round and in most rounds: other work disturbs some rounds."""
        return min(self.fused_ns / self.eager_ns, self.median_ratio) > _NOISE

    @property
    def median_ratio(self) -> float:
        """Returns the time of the second function over that of the first, as the median of the rounds."""
        return statistics.median(self._ratios)

    @property
    def is_disturbed(self) -> bool:
        """Returns whether other work on the machine or the device changes the times from round to round."""
        if len(self.eager) < 2:
            return False
        low, _, high = statistics.quantiles(self._ratios, n=4)
        return high > _QUIET * low

    @property
    def is_clear(self) -> bool:
        """Returns whether the same function is clearly faster in every round."""
        return max(self._ratios) < _CLEAR[0] or min(self._ratios) > _CLEAR[1]

    @property
    def is_decided(self) -> bool:
        """Returns whether more rounds would hardly change which function is faster, also where some rounds are disturbed."""
        ratios = self.fused_ns / self.eager_ns, self.median_ratio
        return not self.is_disturbed or max(ratios) < _CLEAR[0] or min(ratios) > _CLEAR[1]

    @property
    def _ratios(self) -> list[float]:
        return [fused / eager for eager, fused in zip(self.eager, self.fused, strict=True)]


def compare_times(
    eager: Callable[[], Any],
    fused: Callable[[], Any],
    device: torch.device,
    *,
    graphed: bool = False,
    alone: bool = False,
    rounds: int = _ROUNDS,
) -> Comparison:
    """Calls two functions in turns, in at most this number of rounds.

    The calls of a round follow each other, so that the host prepares a call while the device computes the one before. With `alone`,
    the host waits for the end of each call, and the times include all of its work.

    With `graphed`, both functions are recorded as CUDA graphs if possible, and the times are those of the device alone. The
    host's share of a call then does not count, because a CUDA graph does not have it.
    """
    if not graphed or device.type != "cuda":
        return _compared(eager, fused, device, rounds, alone)
    graphs = [graph for function in (eager, fused) if (graph := repeated(function, device)) is not None]
    try:
        if len(graphs) < 2:
            return _compared(eager, fused, device, rounds)
        times = _compared(graphs[0].replay, graphs[1].replay, device, rounds)
    finally:
        for graph in graphs:
            # Recorded graphs hold device memory until they are reset.
            graph.reset()
    eager_ns, fused_ns = (tuple(time / REPEATS for time in side) for side in (times.eager, times.fused))
    return Comparison(eager_ns, fused_ns)


def time_of(function: Callable[[], Any], device: torch.device, *, graphed: bool = False) -> float:
    """Returns the time of a call in nanoseconds, that of the fastest of a few rounds. `graphed` means the same as for `compare_times`."""
    graph = repeated(function, device) if graphed and device.type == "cuda" else None
    try:
        clock = _Clock(function if graph is None else graph.replay, device, alone=False)
        fastest = min(clock.read() for _ in range(_LEAST_ROUNDS))
    finally:
        if graph is not None:
            graph.reset()
    return fastest if graph is None else fastest / REPEATS


def _compared(
    eager: Callable[[], Any], fused: Callable[[], Any], device: torch.device, rounds: int, alone: bool = False
) -> Comparison:
    clocks = (_Clock(eager, device, alone), _Clock(fused, device, alone))
    started = time.perf_counter_ns()
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        # The order alternates, so that neither side always starts with the caches that the other side left. Both sides
        # are read within one round, so slow drift of the machine affects both.
        for place in (0, 1) if number % 2 else (1, 0):
            times[place].append(clocks[place].read())
        if number + 1 >= _LEAST_ROUNDS and (
            time.perf_counter_ns() - started > _BUDGET_NS or Comparison(tuple(times[0]), tuple(times[1])).is_clear
        ):
            break
    return Comparison(tuple(times[0]), tuple(times[1]))


class _Clock:
    """Times a function. One reading covers so many calls in a row that it is stable."""

    def __init__(self, function: Callable[[], Any], device: torch.device, alone: bool) -> None:
        self.function = function
        self.device = device
        self.alone = alone
        function()
        self.repeats = 1
        # The call above has compiled and filled caches, so this reading is a typical one.
        self.repeats = max(1, min(_MAX_REPEATS, int(_ROUND_NS / max(self.read(), 1.0))))

    def read(self) -> float:
        self._wait()
        started = time.perf_counter_ns()
        for _ in range(self.repeats):
            self.function()
            if self.alone:
                self._wait()
        self._wait()
        return (time.perf_counter_ns() - started) / self.repeats

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
