"""Initialisation of large weights on a sample of their elements.

Capture needs the shapes of weights and their statistics, not their values. Inside :class:`DeferredInit`, an initialiser of a large
tensor fills a sample of :data:`SAMPLE` elements instead, and the operation is recorded. The memory of the tensor stays untouched, so
the system never provides pages for it: a model of 10^9 parameters takes no more memory than a small model.

Before an operation reads the values of such a tensor, the recorded operations of the tensor run in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Number of elements in a sample. The error of a mean or a deviation is then about 1/256 of the deviation.
SAMPLE = 1 << 16
# Tensors with fewer elements are filled immediately.
_THRESHOLD = 1 << 18

# Initialisers that set each element independently of its position and its neighbours, so that a sample represents all elements.
_FILLS = {"aten::normal_", "aten::uniform_", "aten::fill_", "aten::zero_", "aten::log_normal_", "aten::exponential_"}
_POINTWISE = {
    *("aten::mul_", "aten::add_", "aten::sub_", "aten::div_", "aten::clamp_", "aten::clamp_min_", "aten::clamp_max_"),
    *("aten::erfinv_", "aten::neg_", "aten::exp_", "aten::log_", "aten::sqrt_", "aten::abs_", "aten::pow_"),
}


class _Pending:
    """Operations that were recorded for the memory of one tensor and have not run."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.sample = torch.empty(SAMPLE, dtype=tensor.dtype)
        self.steps: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []


class DeferredInit(TorchDispatchMode):
    """A mode for building a model. Afterwards it provides the weights: their samples, or their values."""

    def __init__(self) -> None:
        super().__init__()
        # By the address of the memory. The recorded steps keep the tensors alive, so no address is used twice.
        self._pending: dict[int, _Pending] = {}

    def sample_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the elements to compute statistics from: those of `tensor`, or the sample that represents its memory."""
        pending = self._find(tensor)
        return tensor if pending is None else pending.sample

    def materialise(self) -> None:
        """Fills all tensors whose initialisation was deferred."""
        for address in list(self._pending):
            self._fill(address)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name
        target = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if target is not None and self._defers(name, target, args[1:]):
            pending = self._pending.setdefault(_address(target), _Pending(target))
            # The sample is filled immediately, so statistics can be read from it at any time.
            func(pending.sample, *args[1:], **kwargs)
            pending.steps.append((func, args, kwargs))
            return target
        if self._pending:
            self._prepare(func, target, args, kwargs)
        return func(*args, **kwargs)

    def _defers(self, name: str, target: torch.Tensor, others: tuple[Any, ...]) -> bool:
        if any(isinstance(other, torch.Tensor) for other in others) or not _owns_all_its_memory(target):
            return False
        return name in _FILLS or (name in _POINTWISE and self._find(target) is not None)

    def _prepare(self, func: Any, target: torch.Tensor | None, args: Any, kwargs: dict[str, Any]) -> None:
        """Prepares an operation on deferred memory: records writes to a part of it, ignores views, and fills the memory otherwise."""
        if _is_view(func):
            return
        pending = None if target is None else self._find(target)
        others = [value for value in _flat((args[1:] if pending else args, kwargs)) if isinstance(value, torch.Tensor)]
        for other in others:
            self._fill(_address(other))
        if pending is None:
            return
        if func._schema.name == "aten::copy_" and _owns_all_its_memory(target):
            # All of the memory is overwritten, so earlier pending steps have no effect.
            del self._pending[_address(target)]
        elif func._schema.name in ("aten::fill_", "aten::zero_", "aten::copy_"):
            # A write to a part, for example a row of an embedding. It is too small to affect the statistics, but must
            # run after the earlier steps.
            pending.steps.append((func, args, kwargs))
        else:
            self._fill(_address(target))

    def _find(self, tensor: torch.Tensor) -> _Pending | None:
        return self._pending.get(_address(tensor)) if self._pending else None

    def _fill(self, address: int) -> None:
        pending = self._pending.pop(address, None)
        if pending is None:
            return
        with torch.no_grad():
            for func, args, kwargs in pending.steps:
                func(*args, **kwargs)


def _address(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        # Sparse and fake tensors have no memory.
        return 0


def _owns_all_its_memory(tensor: torch.Tensor) -> bool:
    count = tensor.numel()
    if count < _THRESHOLD or tensor.device.type != "cpu" or tensor.layout != torch.strided or _address(tensor) == 0:
        return False
    return tensor.untyped_storage().nbytes() == count * tensor.element_size()


def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    return bool(returns) and all(value.alias_info is not None and not value.alias_info.is_write for value in returns)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]
