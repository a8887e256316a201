"""Errors of kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch

# Findings that are shown. Authors see the rest when they have fixed these.
_SHOWN = 10
# After one of these the CUDA context answers every call with an error.
_FATAL_MARKS = ("CUDA error", "CUDA driver error", "Triton Error [CUDA]", "device-side assert", "cuDNN error")


class KernelCompileError(Exception):
    """The compiler refused a kernel. The message is the compiler's."""


class KernelRefusedError(KernelCompileError):
    """A kernel has what kernels may not have. The message lists it, and says what to write instead."""


def refusal(findings: Sequence[str]) -> KernelRefusedError:
    """The error about a kernel with findings; it shows the first."""
    return KernelRefusedError("\n".join(["the kernel was refused:", *findings[:_SHOWN]]))


class KernelArgumentError(TypeError):
    """An argument of a call does not fit the kernel's signature. Nothing was computed."""


def is_fatal(error: BaseException) -> bool:
    """Returns whether the device is unusable after this exception."""
    if isinstance(error, torch.OutOfMemoryError):
        return False
    accelerator_error = getattr(torch, "AcceleratorError", ())
    return isinstance(error, accelerator_error) or any(mark in str(error) for mark in _FATAL_MARKS)
