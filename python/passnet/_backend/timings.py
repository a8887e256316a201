"""Keeps the times of functions on disk, so that a later process does not measure them again.

Times decide only which of two correct functions runs. Results are compared in each process.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from passnet import _native
from passnet._backend.cache import Store, key_of
from passnet._backend.stopwatch import Comparison
from passnet.kernels._compile import compiler_identity

# Changes with the way of measuring.
_VERSION = "1"
# A call takes longer than a picosecond, and less than a year.
_LEAST_NS, _MOST_NS = 1e-3, 4e16
# Environment variables that change times begin with one of these.
_PREFIXES = ("OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_", "ATEN_", "MALLOC_", "LD_PRELOAD", "NVIDIA_TF32")
_PREFIXES += ("CUDA_LAUNCH_BLOCKING", "CUDNN_", "CUBLAS", "TORCH_CUDNN_", "TORCH_BLAS_", "PYTORCH_")


class Timings:
    """Comparisons of times on one device. Comparisons that were measured before are read from a store."""

    def __init__(self, store: Store | None, device: torch.device, *, graphed: bool = False) -> None:
        self.store = store
        self.device = device
        self.graphed = graphed
        """True if the call becomes a CUDA graph, so that only the device's time counts."""
        self._read: set[str] = set()

    @property
    def stored(self) -> int:
        """Returns the number of comparisons that were read from the store."""
        return len(self._read)

    def read(self, *texts: str | None) -> Comparison | None:
        """Returns the comparison of two functions that these texts define; None if it is not known, or if a text is None."""
        return self._known(self._key(texts))

    def compare(self, texts: Iterable[str | None], measure: Callable[[], Comparison]) -> Comparison:
        """Returns a known comparison, or measures and stores it. Times that decide nothing are not stored, because other work disturbed them."""
        key = self._key(texts)
        if (known := self._known(key)) is not None:
            return known
        times = measure()
        if self.store is not None and key is not None and times.is_decided:
            self.store.write(key, [times.eager, times.fused])
        return times

    def _known(self, key: str | None) -> Comparison | None:
        times = None if self.store is None or key is None else _comparison(self.store.read(key))
        if times is not None:
            self._read.add(key)
        return times

    def _key(self, texts: Iterable[str | None]) -> str | None:
        wanted = tuple(texts)
        known = [text for text in wanted if text is not None]
        if len(known) < len(wanted):
            return None
        surroundings = _surroundings(self.device)
        return key_of("times", _VERSION, _native.VERSION, str(self.graphed), *surroundings, *known)


def _comparison(found: Any) -> Comparison | None:
    """Returns the comparison that an entry of a store has; None if the entry is not one of `Timings`."""
    match found:
        case [[*eager], [*fused]] if eager and len(eager) == len(fused) and all(map(_is_time, (*eager, *fused))):
            return Comparison(tuple(map(float, eager)), tuple(map(float, fused)), stored=True)
    return None


def _is_time(value: Any) -> bool:
    """Returns whether a value of an entry is a number of nanoseconds. Ratios of such numbers are finite."""
    return type(value) in (int, float) and _LEAST_NS <= value <= _MOST_NS


def _surroundings(device: torch.device) -> Iterable[str]:
    """Yields what times depend on, in addition to the code: hardware, versions and settings."""
    yield from _machine(device.type, device.index)
    # A process with fewer cores than threads computes more slowly.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    chosen = sorted((name, value) for name, value in os.environ.items() if name.startswith(_PREFIXES))
    yield json.dumps([cores, chosen, *map(_setting, _SETTINGS)])


# Not all releases have all of these settings.
_SETTINGS: tuple[Callable[[], Any], ...] = (
    lambda: torch.get_num_threads(),
    lambda: torch.get_num_interop_threads(),
    lambda: torch.is_grad_enabled(),
    lambda: torch.is_inference_mode_enabled(),
    lambda: torch.are_deterministic_algorithms_enabled(),
    lambda: torch.utils.deterministic.fill_uninitialized_memory,
    # Functions that make tensors, such as `torch.zeros`, use it.
    lambda: torch.get_default_dtype(),
    lambda: torch.get_float32_matmul_precision(),
    lambda: torch.backends.mkldnn.enabled,
    lambda: torch.backends.cudnn.enabled,
    lambda: torch.backends.cudnn.benchmark,
    lambda: torch.backends.cudnn.deterministic,
    lambda: torch.backends.cudnn.allow_tf32,
    lambda: torch.backends.cudnn.conv.fp32_precision,
    lambda: torch.backends.cuda.matmul.fp32_precision,
    lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
    lambda: torch.backends.mkldnn.matmul.fp32_precision,
    lambda: torch.backends.mkldnn.conv.fp32_precision,
    lambda: torch.backends.mkldnn.deterministic,
    lambda: torch.backends.mkldnn.allow_tf32,
    lambda: torch.backends.cuda.preferred_blas_library(),
    lambda: torch.backends.cuda.preferred_linalg_library(),
    lambda: torch.backends.cuda.flash_sdp_enabled(),
    lambda: torch.backends.cuda.mem_efficient_sdp_enabled(),
    lambda: torch.backends.cuda.cudnn_sdp_enabled(),
    lambda: torch.backends.cuda.math_sdp_enabled(),
)


def _setting(read: Callable[[], Any]) -> str:
    try:
        return str(read())
    # PyTorch refuses to read older settings after a newer setting of the same thing was changed.
    except (AttributeError, RuntimeError, AssertionError):
        return ""


@functools.cache
def _machine(kind: str, index: int | None) -> tuple[str, ...]:
    """Returns the hardware of a device and the versions of the software that uses it."""
    parts = [torch.__version__, sys.version, _cpu(), torch.backends.cpu.get_cpu_capability(), compiler_identity()]
    if kind == "cuda":
        found = torch.cuda.get_device_properties(index)
        parts += [found.name, f"{found.major}.{found.minor} {found.total_memory}", str(torch.version.cuda)]
        parts += [str(torch.backends.cudnn.version()), _version_of("triton")]
    return kind, *parts


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _cpu() -> str:
    """Returns the model of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    return next((line for line in lines if line.startswith("model name")), platform.machine())
