"""Comparison of the errors of a replacement and of PyTorch, both measured against the same computation in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

# The error of a replacement may be this many times PyTorch's error, plus a few roundings for cases in which PyTorch is exact.
_FACTOR = 2.0
_ROUNDINGS = 4.0


def is_as_precise(ours: Any, theirs: Any, exact: Any) -> bool:
    """Returns whether results are about as close to the exact results as those of PyTorch. All three have the same structure."""
    ours, theirs, exact = _tensors(ours), _tensors(theirs), _tensors(exact)
    if not len(ours) == len(theirs) == len(exact):
        return False
    return all(_is_as_precise(*three) for three in zip(ours, theirs, exact, strict=True))


def exact_results(pattern: Callable[..., Any], values: Sequence[Any]) -> Any | None:
    """Returns the results of a pattern in float64; None if the pattern does not run in float64."""
    wide = [
        value.double() if isinstance(value, torch.Tensor) and value.dtype.is_floating_point else value
        for value in copies(values)
    ]
    try:
        result = pattern(*wide)
    except Exception:  # An operator may raise any exception for a dtype that it does not support.
        return None
    return (result, *wide)


def copies(values: Sequence[Any]) -> list[Any]:
    """Returns copies of the values with the same strides. Copies share memory with each other as the values do."""
    storages: dict[int, torch.UntypedStorage] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        # Copies each storage once, not each tensor, so that views still overlap.
        own = storages.setdefault(storage._cdata, storage.clone())
        fresh = torch.empty(0, dtype=value.dtype, device=value.device)
        return fresh.set_(own, value.storage_offset(), value.shape, value.stride())

    return [copy(value) for value in values]


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [leaf for part in value for leaf in _tensors(part)] if isinstance(value, (tuple, list)) else []


def _is_as_precise(ours: torch.Tensor, theirs: torch.Tensor, exact: torch.Tensor) -> bool:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype or ours.stride() != theirs.stride():
        return False
    if not theirs.dtype.is_floating_point:
        return torch.equal(ours, theirs)
    exact = exact.double()
    error, allowed = _error(ours, exact), _error(theirs, exact)
    if error is None or allowed is None:
        return False
    largest = exact.abs().nan_to_num(0, 0, 0).amax().item() if exact.numel() else 0.0
    # Some roundings are added: if PyTorch happens to be exact, a multiple of its error would allow no error.
    return error <= _FACTOR * allowed + _ROUNDINGS * torch.finfo(theirs.dtype).eps * largest


def _error(value: torch.Tensor, exact: torch.Tensor) -> float | None:
    """Returns the largest absolute error; None if only one of a value and its exact value is finite."""
    value = value.double()
    same = (value == exact) | (value.isnan() & exact.isnan())
    finite = value.isfinite() & exact.isfinite()
    if not bool((same | finite).all()):
        return None
    difference = torch.where(same, torch.zeros_like(exact), (value - exact).abs())
    return difference.amax().item() if difference.numel() else 0.0
