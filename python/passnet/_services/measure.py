"""Describes the values of a run: shape, dtype, and literals or statistics.

The statistics of a tensor take longer than most operations, so each content is measured once: a view, or a tensor that an op returns
unchanged, has the statistics of the tensor whose memory it shows.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from passnet._capture.sample import LITERAL_LIMIT, _rounded
from passnet._services.inputs import dtype_name

# Elements that are summed at a time. In float64 they fit the cache.
_PIECE = 1 << 15
# Elements from which a tensor with gaps or repetitions in memory is not copied.
_LARGE = 1 << 24


class Measurer:
    """Describes tensors, and keeps their statistics as long as their memory lives and does not change."""

    def __init__(self) -> None:
        self.known: dict[Any, tuple[StorageWeakRef, dict[str, Any]]] = {}

    def measure(self, tensor: torch.Tensor) -> dict[str, Any]:
        """Returns the meta of a tensor without its name."""
        meta = type_of(tensor)
        if tensor.numel() == 0 or tensor.layout != torch.strided or tensor.is_complex():
            return meta
        if tensor.numel() < LITERAL_LIMIT:
            literals = [_rounded(x, 9) for x in tensor.flatten().tolist()]
            meta["data"] = [x if not isinstance(x, float) or abs(x) < float("inf") else str(x) for x in literals]
            return {**meta, **_statistics(tensor)}
        return {**meta, **self._known_statistics(tensor)}

    def _known_statistics(self, tensor: torch.Tensor) -> dict[str, Any]:
        if not torch.ops.aten.is_non_overlapping_and_dense(tensor):
            return _statistics(tensor)
        storage = StorageWeakRef(tensor.untyped_storage())
        # The weak reference keeps the address from being used again, so equal keys mean the same memory.
        key = (storage.cdata, tensor.storage_offset(), tensor.numel(), tensor.dtype, tensor._version)
        if key not in self.known:
            self.known[key] = (storage, _statistics(tensor))
        return self.known[key][1]


def type_of(tensor: torch.Tensor) -> dict[str, Any]:
    """Returns the shape and the dtype of a tensor."""
    return {"shape": list(tensor.shape), "dtype": dtype_name(tensor)}


def _statistics(tensor: torch.Tensor) -> dict[str, Any]:
    is_large = tensor.numel() >= LITERAL_LIMIT
    if tensor.is_floating_point():
        mean, std = moments(tensor)
        statistics: dict[str, Any] = {"mean": _number(mean), "std": _number(std)}
        if is_large and tensor.min().item() >= 0:
            statistics["min_val"] = 0.0
        return statistics
    if tensor.dtype != torch.bool and is_large:
        return {"min_val": float(tensor.min()), "max_val": float(tensor.max())}
    return {}


def moments(tensor: torch.Tensor) -> tuple[float, float]:
    """Returns the mean and the unbiased standard deviation (0 for a single element) of a tensor of floats.

    Sums are in float64, and the results in the precision of `torch.std_mean`, which takes four times as long.
    """
    count = tensor.numel()
    if tensor.dtype == torch.float64 or (count >= _LARGE and not tensor.is_contiguous()):
        exact = tensor if tensor.dtype == torch.float64 else tensor.float()
        std, mean = torch.std_mean(exact, correction=min(count - 1, 1))
        return mean.item(), std.item()
    elements = _in_memory_order(tensor)
    # Deviations from the first element instead of zero, so that a constant has the deviation 0, and no digits are lost.
    first = elements[0].item()
    total = shifted = squares = 0.0
    for piece in elements.split(_PIECE):
        deviations = piece.double()
        total += deviations.sum().item()
        deviations -= first
        shifted += deviations.sum().item()
        squares += torch.dot(deviations, deviations).item()
    variance = (squares - shifted * shifted / count) / max(count - 1, 1)
    # NaN stays NaN; only a negative rounding error becomes 0.
    return _float32(total / count), _float32(0.0 if variance < 0 else math.sqrt(variance))


def _in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """Returns all elements as one dimension, without a copy if they are dense in memory."""
    if torch.ops.aten.is_non_overlapping_and_dense(tensor):
        return tensor.as_strided((tensor.numel(),), (1,))
    return tensor.flatten()


def _float32(value: float) -> float:
    return torch.tensor(value, dtype=torch.float64).float().item()


def _number(value: float) -> float | None:
    # JSON has no NaN. If the number is null, the rules for inputs use their default.
    return _rounded(value, 6) if abs(value) < float("inf") else None
