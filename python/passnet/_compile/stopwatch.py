"""Times of two functions that compute the same, called in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

_ROUNDS = 7
_ROUND_NS = 100_000
_MAX_REPEATS = 32
# A comparison ends after this time, with the rounds that it has; three at least.
_BUDGET_NS = 1_000_000_000


def compare_times(first: Callable[[], Any], second: Callable[[], Any], device: torch.device) -> tuple[float, float]:
    """Nanoseconds of a call of each function, work of the device included: the round that was least disturbed."""
    clocks = (_Clock(first, device), _Clock(second, device))
    started = time.perf_counter_ns()
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(_ROUNDS):
        # The order changes, so that neither always finds the caches as the other left them.
        for place in (0, 1) if number % 2 else (1, 0):
            times[place].append(clocks[place].read())
        if number >= 2 and time.perf_counter_ns() - started > _BUDGET_NS:
            break
    return min(times[0]), min(times[1])


class _Clock:
    """Times a function, with as many calls in a row as a reading needs to be steady."""

    def __init__(self, function: Callable[[], Any], device: torch.device) -> None:
        self.function = function
        self.device = device
        function()
        self.repeats = 1
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
