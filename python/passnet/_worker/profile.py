"""Profiles a call: its time, and the operators and kernels that PyTorch's profiler reports."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from passnet import _native

# Largest number of rows of each kind, with the longest times first, and of characters of a name.
_ROWS = 30
_NAME = 200
# Number of calls before the measurement. The first calls allocate memory, compile kernels and prepare replacements.
_WARMUP = 3
# Numbers of timed calls without the profiler, and of calls under the profiler.
_TIMED = 15
_PROFILED = 5


def named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a replacement function a row of its own. The row has the time of its Python code and of work that the profiler does not see."""
    name = f"replacement {getattr(function, '__name__', '')}"

    def call(*args: Any) -> Any:
        with torch.profiler.record_function(name):
            return function(*args)

    return call


@contextlib.contextmanager
def _kernels_named() -> Iterator[None]:
    """Gives each C++ kernel a row of its own."""
    _native.set_kernel_hook(lambda name: torch.profiler.record_function(f"kernel {name}"))
    try:
        yield
    finally:
        _native.set_kernel_hook(None)


def profiled(
    function: Callable[..., Any],
    named: Callable[..., Any],
    arguments: Sequence[Any],
    synchronize: Callable[[], None],
    *,
    cuda: bool,
) -> dict[str, Any]:
    """Returns the `profiled` reply for calls that wait for the device. `named` is `function` with named replacements.

    The wall time is the median of calls without the profiler, because the profiler makes short calls several times slower. Counts and
    times of rows are means over calls under the profiler.
    """
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    def call(forward: Callable[..., Any]) -> int:
        begin = time.monotonic_ns()
        forward(*arguments)
        synchronize()
        return time.monotonic_ns() - begin

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    with torch.no_grad():
        for _ in range(_WARMUP):
            call(function)
        wall_ns = round(statistics.median(call(function) for _ in range(_TIMED)))
        with _kernels_named():
            # The first use initialises the profiler, so it is not counted.
            with profile(activities=activities):
                call(named)
            with profile(activities=activities) as profiler:
                for _ in range(_PROFILED):
                    call(named)
    host: dict[str, list[float]] = {}
    device: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == DeviceType.CPU:
            host.setdefault(event.name, []).append(event.self_cpu_time_total)
        elif not event.is_user_annotation:
            device.setdefault(event.name, []).append(event.time_range.elapsed_us())
    return {"type": "profiled", "wall_ns": wall_ns, "host": _rows(host), "device": _rows(device)}


def _rows(times_us: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Returns the rows with means per call. The count of a name is at least 1, even if it occurs in one of the profiled calls only."""
    rows = [
        {
            "name": name[:_NAME],
            "count": max(1, round(len(times) / _PROFILED)),
            "total_ns": round(1e3 * sum(times) / _PROFILED),
        }
        for name, times in times_us.items()
    ]
    return sorted(rows, key=lambda row: -row["total_ns"])[:_ROWS]
