"""Results of a replacement and of PyTorch, both judged by the same computation in float64."""

from __future__ import annotations

from typing import Any

import torch

# A replacement may err this much more than PyTorch, and by some roundings where PyTorch does not err.
_FACTOR = 2.0
_ROUNDINGS = 4.0


def is_as_precise(ours: Any, theirs: Any, exact: Any) -> bool:
    """Whether results are as close to the exact ones as PyTorch's are. The three have the same structure."""
    ours, theirs, exact = _tensors(ours), _tensors(theirs), _tensors(exact)
    if not len(ours) == len(theirs) == len(exact):
        return False
    return all(_is_as_precise(*three) for three in zip(ours, theirs, exact, strict=True))


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
    return error <= _FACTOR * allowed + _ROUNDINGS * torch.finfo(theirs.dtype).eps * largest


def _error(value: torch.Tensor, exact: torch.Tensor) -> float | None:
    """The largest error; None if a value is not finite where the exact one is, or the other way round."""
    value = value.double()
    same = (value == exact) | (value.isnan() & exact.isnan())
    finite = value.isfinite() & exact.isfinite()
    if not bool((same | finite).all()):
        return None
    difference = torch.where(same, torch.zeros_like(exact), (value - exact).abs())
    return difference.amax().item() if difference.numel() else 0.0
