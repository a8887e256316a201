"""Conditions around a call under which the model itself has to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from passnet._backend.saved_tensors import has_hooks


def reason_outside(tensors: Sequence[torch.Tensor]) -> str | None:
    """Returns the reason why a call cannot be compiled under the current modes of PyTorch or with these arguments; None if it can be."""
    if torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack():
        return "a mode of PyTorch observes the operations"
    if torch._C._get_tracing_state() is not None:
        return "`torch.jit.trace` records the operations"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a transform of torch.func is active"
    if has_hooks():
        # A checkpoint calls the model again for the backward. Both calls must save the same tensors, so both run the model.
        return "hooks get the tensors that are saved for the backward, such as those of a checkpoint"
    if forward_ad._current_level >= 0:
        return "a gradient is required in forward mode"
    if any(type(tensor) not in (torch.Tensor, torch.nn.Parameter) for tensor in tensors):
        return "an argument is a subclass of torch.Tensor"
    if any(tensor.is_meta for tensor in tensors):
        return "an argument has no memory"
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return "a CUDA graph is being captured"
    return None


class Changing:
    """Types of arguments whose sizes or numbers change in each call, so that each call is of another kind."""

    def __init__(self) -> None:
        self._seen: set[type] = set()
        self._reasons: dict[type, str] = {}

    def note(self, kind: type, reason: str) -> bool:
        """Notes a call that changed an argument of this type. Returns True from the second such call on: the first may only prepare the argument."""
        if kind in self._seen:
            self._reasons[kind] = reason
        self._seen.add(kind)
        return kind in self._reasons

    def has_any(self) -> bool:
        """Returns whether there is a type whose calls are left to the model."""
        return bool(self._reasons)

    def reason(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Returns the reason why a call is left to the model; None if none of its arguments changes."""
        if not self._reasons:
            return None
        return next(
            (self._reasons[kind] for kind in map(type, (*args, *kwargs.values())) if kind in self._reasons), None
        )
