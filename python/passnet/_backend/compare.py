"""Comparison of a replacement's results with those of its pattern, on the device that they are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

# Relative to the largest element. Kernels may sum in another order. A kernel that misreads its arguments exceeds this by far.
_TOLERANCES = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 5e-2}
_TOLERANCES |= {torch.complex128: 1e-6, torch.complex64: 1e-3}
_DEFAULT_TOLERANCE = 0.1


class Inexact(str):
    """A difference in values only. It is no fault if the values of PyTorch are less precise."""


def difference(found: Any, expected: Any, arguments: Sequence[Any]) -> str | None:
    """Returns the first difference between two results of a call with these arguments, as a sentence; `None` for equal results.

    The difference is `Inexact` if only values differ.
    """
    inexact: Inexact | None = None
    found, expected = _flat(found), _flat(expected)
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    for ours, theirs in zip(found, expected, strict=True):
        if not isinstance(theirs, torch.Tensor):
            if ours != theirs:
                return f"{ours!r} instead of {theirs!r}"
        elif not isinstance(ours, torch.Tensor):
            return f"a `{type(ours).__name__}` instead of a tensor"
        elif fault := _other_kind(ours, theirs) or _other_memory(ours, theirs, arguments):
            return fault
        elif fault := _other_values(ours, theirs):
            inexact = inexact or Inexact(fault)
    return inexact


def other_kinds(found: Any, expected: Any) -> str | None:
    """Returns the first difference in type, shape, device or strides, as a sentence. `expected` may be without data."""
    found, expected = _flat(found), _flat(expected)
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    pairs = [
        pair for pair in zip(found, expected, strict=True) if all(isinstance(value, torch.Tensor) for value in pair)
    ]
    return next(filter(None, (_other_kind(ours, theirs) for ours, theirs in pairs)), None)


def other_sharing(found: Any, expected: Any) -> str | None:
    """Returns a fault if two results share memory in one of the calls only, because a later change in place would then change both results."""
    return None if _sharing(_flat(found)) == _sharing(_flat(expected)) else "other results share memory with each other"


def _sharing(results: Sequence[Any]) -> list[int]:
    """Returns for each result the position of the first result that is in the same memory."""
    first: dict[int, int] = {}
    tensors = [value for value in results if isinstance(value, torch.Tensor) and value.numel()]
    return [first.setdefault(value.untyped_storage()._cdata, place) for place, value in enumerate(tensors)]


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in _flat(part)]
    return [result]


def _other_kind(ours: torch.Tensor, theirs: torch.Tensor) -> str | None:
    for name in ("dtype", "shape", "device", "layout"):
        if getattr(ours, name) != getattr(theirs, name):
            return f"{name} {_shown(getattr(ours, name))} instead of {_shown(getattr(theirs, name))}"
    strides = zip(theirs.shape, ours.stride(), theirs.stride(), strict=True)
    if theirs.numel() and any(size > 1 and mine != its for size, mine, its in strides):
        return f"strides {ours.stride()} instead of {theirs.stride()}"
    return None


def _shown(value: Any) -> str:
    return str(tuple(value)) if isinstance(value, torch.Size) else str(value)


def _other_memory(ours: torch.Tensor, theirs: torch.Tensor, arguments: Sequence[Any]) -> str | None:
    """Returns a fault if only our result is in the memory of an argument: a later change of the result would change the argument."""
    given = {value.untyped_storage()._cdata for value in arguments if isinstance(value, torch.Tensor)}
    if ours.untyped_storage()._cdata in given and theirs.untyped_storage()._cdata not in given:
        return "it shares memory with an argument"
    return None


def _other_values(ours: torch.Tensor, theirs: torch.Tensor) -> str | None:
    if not theirs.dtype.is_floating_point and not theirs.dtype.is_complex:
        return None if torch.equal(ours, theirs) else "other values"
    tolerance = _TOLERANCES.get(theirs.dtype, _DEFAULT_TOLERANCE)
    # `allclose` computes its bound in the dtype of its arguments. In 16 bits the bound loses most of its
    # digits.
    if theirs.element_size() < 4:
        ours, theirs = ours.float(), theirs.float()
    if not theirs.numel():
        return None
    # NaN and infinity must not set the scale of the other elements.
    largest = theirs.abs().nan_to_num(0, 0, 0).amax().item()
    if torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance * largest, equal_nan=True):
        return None
    error = (ours - theirs).abs().nan_to_num(float("nan"), float("inf")).amax().item()
    return f"values differ by up to {error:.3g}, and the largest is {largest:.3g}"
