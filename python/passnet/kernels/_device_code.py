"""Judges the PTX that NVRTC and Triton compile for GPUs.

The rules are those of `passnet_objects::ptx`; `docs/reference/native-kernels.md` lists them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from passnet import _native
from passnet.kernels._errors import refusal


def judge(ptx: str, flags: Sequence[str] = ()) -> None:
    """Judges PTX and the compiler flags of a kernel. Does nothing if kernels of this process are not judged.

    Raises `KernelRefusedError`.
    """
    if not _native.kernels_are_judged():
        return
    findings = _native.judge_device_code(ptx, list(flags))
    if findings:
        raise refusal(findings)


@functools.cache
def judge_triton() -> None:
    """Makes Triton judge each kernel, compiled or from its cache, before it loads the kernel to a device.

    For workers only, because it changes Triton in this process. Does nothing without Triton. Raises `RuntimeError` for a version of
    Triton that loads kernels in another way.
    """
    try:
        from triton.compiler.compiler import CompiledKernel
    except ImportError:
        return
    load = getattr(CompiledKernel, "_init_handles", None)
    if load is None:
        raise RuntimeError("this version of Triton loads kernels in a way that cannot be judged")

    @functools.wraps(load)
    def judged(kernel: Any, *arguments: Any, **named: Any) -> Any:
        # Triton calls this at each launch, but loads the kernel only at the first launch.
        if getattr(kernel, "module", None) is None:
            judge(kernel.asm["ptx"])
        return load(kernel, *arguments, **named)

    CompiledKernel._init_handles = judged
