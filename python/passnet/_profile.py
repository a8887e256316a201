"""One call under PyTorch's profiler: what ran on the host and on the device, how often, for how long."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from passnet import _native

# Rows of each kind that are told, those that take longest, and characters of a name.
_ROWS = 30
_NAME = 200


def named(function: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement function that is a row of its own; its own time is that of its Python and of what the profiler does not see."""
    name = f"replacement {getattr(function, '__name__', '')}"

    def call(*args: Any) -> Any:
        with torch.profiler.record_function(name):
            return function(*args)

    return call


@contextlib.contextmanager
def _kernels_named() -> Iterator[None]:
    """Each C++ kernel is a row of its own."""
    _native.set_kernel_hook(lambda name: torch.profiler.record_function(f"kernel {name}"))
    try:
        yield
    finally:
        _native.set_kernel_hook(None)


def profiled(call: Callable[[], Any], *, cuda: bool) -> dict[str, Any]:
    """The `profiled` reply about a call that waits for the device."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    with _kernels_named(), profile(activities=activities) as profiler:
        begin = time.monotonic_ns()
        call()
        wall_ns = time.monotonic_ns() - begin
    host: dict[str, list[float]] = {}
    device: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == DeviceType.CPU:
            host.setdefault(event.name, []).append(event.self_cpu_time_total)
        elif not event.is_user_annotation:
            device.setdefault(event.name, []).append(event.time_range.elapsed_us())
    return {"type": "profiled", "wall_ns": wall_ns, "host": _rows(host), "device": _rows(device)}


def _rows(times_us: dict[str, list[float]]) -> list[dict[str, Any]]:
    rows = [
        {"name": name[:_NAME], "count": len(times), "total_ns": round(1e3 * sum(times))}
        for name, times in times_us.items()
    ]
    return sorted(rows, key=lambda row: -row["total_ns"])[:_ROWS]
