"""Launches Triton kernels without Triton's own launcher."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from passnet import _native

_KINDS = {"fp32": "f", "f32": "f", "fp64": "d", "f64": "d"}
_INTEGERS = {f"{sign}{bits}" for sign in "iu" for bits in (1, 8, 16, 32, 64)}
_loading = threading.Lock()


def triton(function: Any) -> Any:
    """Makes launches of a `triton.jit` function cheap for the host, without any other effect.

    Triton compiles and loads the kernel at the first launch for each combination of types, alignments and constants.
    Without a GPU, and for an autotuned kernel, returns `function` itself. Triton's launch hooks, on which some profilers are
    built, do not see the launches; CUPTI does.
    """
    import torch
    from triton.runtime.jit import JITFunction

    # In the interpreter, and under `autotune` or `heuristics`, Triton does more at a launch than choose a kernel.
    if not isinstance(function, JITFunction) or not torch.cuda.is_available():
        return function
    names = [parameter.name for parameter in function.params]
    constant = [parameter.is_constexpr for parameter in function.params]
    return _native.TritonLauncher(function, names, constant, _describe, torch._C._cuda_getCurrentRawStream)


def _describe(kernel: Any, count: int) -> tuple[int, int, int, str] | None:
    """Returns the arguments for launches of a compiled kernel (see `TritonLauncher`), or None if only Triton can launch it."""
    if kernel is None:
        return None
    metadata = kernel.metadata
    special = ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl")
    if any(getattr(metadata, name, 0) for name in special) or getattr(metadata, "num_ctas", 1) != 1:
        return None
    kinds = [_kind(type_) for type_ in kernel.src.signature.values()]
    # Arguments that are passed by name, and so out of order, must be constants. Otherwise Triton launches the kernel.
    if None in kinds[:count] or any(kind != " " for kind in kinds[count:]):
        return None
    _load(kernel)
    return kernel.function, 32 * metadata.num_warps, metadata.shared, "".join(kinds[:count])


def _load(kernel: Any) -> None:
    """Loads a compiled kernel to the device without making Triton's launcher, which needs a C compiler for each signature."""
    from triton.runtime import driver

    active = driver.active
    with _loading:
        make = active.launcher_cls
        # Kernels that Triton loads at the same time in another thread get this launcher too. It has the same effect.
        active.launcher_cls = functools.partial(_LateLauncher, make)
        try:
            kernel._init_handles()
        finally:
            active.launcher_cls = make


class _LateLauncher:
    """Triton's launcher, made only at the first launch through it."""

    def __init__(self, make: Callable[..., Any], *of: Any) -> None:
        self._make = functools.partial(make, *of)

    @functools.cached_property
    def _launcher(self) -> Callable[..., Any]:
        return self._make()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._launcher(*arguments, **named)


def _kind(type_: str) -> str | None:
    if type_ == "constexpr":
        return " "
    if type_.startswith("*"):
        return "*"
    return "i" if type_ in _INTEGERS else _KINDS.get(type_)
