"""Properties of values that a judgement about code with these values depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def kind_of(value: Any) -> Any:
    """Returns the properties of a value that a judgement depends on: the type of a tensor, or any other value itself."""
    if isinstance(value, torch.Tensor):
        kind = value.dtype, value.device, tuple(value.shape), value.stride(), value.is_inference()
        return *kind, is_lazy(value)
    return type(value), repr(value)


def kinds_of(values: Sequence[Any]) -> str:
    """Returns the properties of values that the times of a call with them depend on, as text."""
    return str([kind_of(value) for value in values])


def is_lazy(value: Any) -> bool:
    """Returns whether a tensor is lazily conjugated or negated: its memory has other values than the tensor. A comparison with copies
    does not show this, since copies have the values of the tensor in memory."""
    return isinstance(value, torch.Tensor) and (value.is_conj() or value.is_neg())
