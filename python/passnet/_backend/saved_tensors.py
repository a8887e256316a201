"""Hooks on the tensors that autograd saves for the backward, such as those of a checkpoint.

A checkpoint computes a call again for its backward, and requires that both runs save the same tensors in the same order.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch


def _no_hooks(_ignores_tracing: bool) -> None:
    """Stands for PyTorch's function in versions without it."""


top_hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", _no_hooks)
"""Returns the innermost pair of hooks, or None. Call it as `top_hooks(True)`."""


def has_hooks() -> bool:
    """Returns whether the caller's hooks get the tensors that operations save now."""
    return torch.is_grad_enabled() and top_hooks(True) is not None


def without_hooks() -> contextlib.AbstractContextManager[Any]:
    """Returns a context in which the caller's hooks get no tensors. Only the innermost pair of hooks gets them."""
    if not has_hooks():
        return contextlib.nullcontext()
    return torch.autograd.graph.saved_tensors_hooks(_same, _same)


def _same(value: Any) -> Any:
    return value
