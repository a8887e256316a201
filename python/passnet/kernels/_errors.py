"""Errors of kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch

# Number of findings that a message shows. Authors see the others after they have fixed these.
_SHOWN = 10
# Parts of messages after which each call of the CUDA context fails.
_FATAL_MARKS = ("CUDA error", "CUDA driver error", "Triton Error [CUDA]", "device-side assert", "cuDNN error")


class KernelCompileError(Exception):
    """The compiler refused a kernel. The message is that of the compiler."""


class KernelRefusedError(KernelCompileError):
    """A kernel breaks the rules for kernels. The message lists the findings and says what to write instead."""


def refusal(findings: Sequence[str]) -> KernelRefusedError:
    """Returns the error for a kernel with findings. Its message shows the first ones."""
    return KernelRefusedError("\n".join(["the kernel was refused:", *findings[:_SHOWN]]))


class KernelArgumentError(TypeError):
    """An argument of a call does not fit the kernel's signature. The kernel did not run."""


def is_fatal(error: BaseException) -> bool:
    """Returns whether the device is unusable after this exception."""
    if isinstance(error, torch.OutOfMemoryError):
        return False
    accelerator_error = getattr(torch, "AcceleratorError", ())
    return isinstance(error, accelerator_error) or any(mark in str(error) for mark in _FATAL_MARKS)
