"""Judging of what compilers make for GPUs: PTX of NVRTC and of Triton.

The rules are those of `passnet_objects::ptx`; `docs/reference/native-kernels.md` lists them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from passnet import _native
from passnet.kernels._errors import refusal


def judge(ptx: str, flags: Sequence[str] = ()) -> None:
    """Judges PTX and the flags that an author gave to the compiler, unless kernels of this process are not judged.

    Raises `KernelRefusedError`.
    """
    if not _native.kernels_are_judged():
        return
    findings = _native.judge_device_code(ptx, list(flags))
    if findings:
        raise refusal(findings)


@functools.cache
def judge_triton() -> None:
    """Has every kernel that Triton compiles, or takes from its cache, judged before it is loaded to a device.

    For workers: it changes Triton in this process. Without Triton there is nothing to do. Raises `RuntimeError` for a Triton that
    loads kernels in another way.
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
        # It is called at each launch, and loads at the first.
        if getattr(kernel, "module", None) is None:
            judge(kernel.asm["ptx"])
        return load(kernel, *arguments, **named)

    CompiledKernel._init_handles = judged
