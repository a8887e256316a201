"""Guards of replacement functions."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def require(
    *tensors: torch.Tensor,
    dtype: torch.dtype | Sequence[torch.dtype] | None = None,
    like: torch.Tensor | None = None,
    shape: Sequence[int | None] | None = None,
    contiguous: bool = True,
) -> None:
    """Raises `ValueError` if a replacement is not written for these tensors.

    All tensors must be on one device, have one dtype, and be contiguous unless `contiguous` is False. In addition:

    - `dtype`: the dtype, or a sequence of dtypes of which all tensors have the same one.
    - `like`: a tensor whose dtype and device all tensors must have.
    - `shape`: the shape of all tensors. None in it means any size.

    In a `prepared` function the guard runs once for each signature. Call it before the first launch: if it raises, PyTorch
    computes the pattern instead, and no argument may have changed by then.
    """
    first = tensors[0] if like is None else like
    dtypes = None if dtype is None else (dtype,) if isinstance(dtype, torch.dtype) else tuple(dtype)
    for number, tensor in enumerate(tensors, 1):
        if fault := _fault(tensor, first, dtypes, shape, contiguous):
            which = f"tensor {number} of {len(tensors)}" if len(tensors) > 1 else "the tensor"
            raise ValueError(f"{which} {fault}")


def _fault(
    tensor: torch.Tensor,
    first: torch.Tensor,
    dtypes: tuple[torch.dtype, ...] | None,
    shape: Sequence[int | None] | None,
    contiguous: bool,
) -> str | None:
    if tensor.layout != torch.strided:
        return f"is {tensor.layout}, not strided"
    if tensor.is_conj() or tensor.is_neg():
        return "is a lazily conjugated or negated view"
    if tensor.device != first.device:
        return f"is on {tensor.device}, not on {first.device}"
    if dtypes is not None and tensor.dtype not in dtypes:
        return f"is of {tensor.dtype}, not of {' or '.join(map(str, dtypes))}"
    if tensor.dtype != first.dtype:
        return f"is of {tensor.dtype}, not of {first.dtype}"
    if shape is not None and not _has_shape(tensor, shape):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        return f"has shape {tuple(tensor.shape)}, not ({wanted})"
    if contiguous and not tensor.is_contiguous():
        return f"of shape {tuple(tensor.shape)} has strides {tensor.stride()}, and is not contiguous"
    return None


def _has_shape(tensor: torch.Tensor, shape: Sequence[int | None]) -> bool:
    sizes = tensor.shape
    return len(sizes) == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(sizes, shape, strict=True)
    )
