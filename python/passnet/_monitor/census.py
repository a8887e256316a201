"""Counts the kernels that a pass runs in a call, and runs calls without these kernels."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from passnet import _native

# Substrings that occur only in the names of kernels of vendors' libraries.
VENDOR_MARKS = ("cublas", "cudnn", "cutlass", "xmma", "nvjet", "cufft", "cusparse", "cusolver", "splitkreduce")


@contextlib.contextmanager
def counting() -> Iterator[None]:
    """Makes `_native.launches` count the kernels that Triton launches, and `idle` skip them.

    Launches by native launchers are always counted. This context adds launches by Triton.
    """
    with contextlib.ExitStack() as undo:
        for module, owner, name in (
            ("triton.runtime.interpreter", "GridExecutor", "__call__"),
            ("triton.runtime.jit", "JITFunction", "run"),
        ):
            cls = getattr(sys.modules.get(module), owner, None)
            if cls is not None:
                undo.callback(setattr, cls, name, getattr(cls, name))
                setattr(cls, name, _counted_method(getattr(cls, name), warms_up=name == "run"))
        yield


@contextlib.contextmanager
def idle() -> Iterator[None]:
    """Makes launches of the pass's own kernels do nothing."""
    with counting():
        _native.set_idle_kernels(True)
        try:
            yield
        finally:
            _native.set_idle_kernels(False)


def _counted_method(method: Callable[..., Any], *, warms_up: bool) -> Callable[..., Any]:
    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A warm-up compiles but launches nothing.
        if kwargs.get("warmup") or _native.count_launch():
            return method(self, *args, **kwargs)
        # The caller may need the compiled kernel, so the launch becomes a warm-up.
        return method(self, *args, **{**kwargs, "warmup": True}) if warms_up else None

    return launch


@contextlib.contextmanager
def on_device(found: set[str]) -> Iterator[None]:
    """Adds to `found` the names of all kernels that run on the CUDA device during the block and that the profiler reports."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        yield
        torch.cuda.synchronize()
    found.update(event.name for event in profiler.events() if event.device_type == DeviceType.CUDA)


def is_vendors(kernel: str) -> bool:
    """Returns whether a kernel belongs to a vendor's library."""
    return any(mark in kernel.lower() for mark in VENDOR_MARKS)
