"""Copies of tensors with other strides, for kernels that are written for one layout."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from passnet import _native
from passnet.kernels._errors import KernelArgumentError
from passnet.kernels._signature import Signature
from passnet.kernels._triton import triton

_RANK = 6
_BLOCK = 1024
# Bytes of the part of one CPU thread. Such a part takes about ten microseconds.
_PART_BYTES = 1 << 16

_TRIPLES = [f"int64_t {name}{dim}" for name in "nst" for dim in range(_RANK)]
_SIGNATURE = (
    f"void copy_elements(const char* strided x, char* strided out, int64_t size, int64_t parts, {', '.join(_TRIPLES)}, "
    "parallel int64_t begin, int64_t end)"
)


def with_strides(x: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    """Returns a copy of a tensor in new memory, with these strides.

    Raises `KernelArgumentError` for a tensor of more than six dimensions.
    """
    out = torch.empty_strided(x.shape, stride, dtype=x.dtype, device=x.device)
    copy(x, out)
    return out


def copy(x: torch.Tensor, out: torch.Tensor) -> None:
    """Copies the elements of `x` to `out`, a tensor of the same shape, dtype and device.

    Raises `KernelArgumentError` if shape, dtype or device differ, and for more than six dimensions.
    """
    if (x.shape, x.dtype, x.device) != (out.shape, out.dtype, out.device):
        kinds = " to ".join(f"{tensor.dtype}{list(tensor.shape)} on {tensor.device}" for tensor in (x, out))
        raise KernelArgumentError(f"copy: shapes, types and devices differ, {kinds}")
    if x.dim() > _RANK:
        raise KernelArgumentError(f"copy: the tensor has {x.dim()} dimensions; at most {_RANK} are supported")
    if x.numel() == 0:
        return
    shape = *(1 for _ in range(_RANK - x.dim())), *x.shape
    strides = [(*(0 for _ in range(_RANK - x.dim())), *tensor.stride()) for tensor in (x, out)]
    if x.is_cuda:
        grid = ((x.numel() + _BLOCK - 1) // _BLOCK,)
        _device_kernel()[grid](x, out, x.numel(), *shape[1:], *strides[0], *strides[1], BLOCK=_BLOCK)
    else:
        parts = 1 + x.numel() * x.element_size() // _PART_BYTES
        _host_kernel()(x, out, x.element_size(), parts, *shape, *strides[0], *strides[1], 0, parts)


@functools.cache
def _host_kernel() -> Callable[..., None]:
    signature = Signature.parse(_SIGNATURE)
    library = _native.KernelLibrary.own()
    return _native.CppLauncher(signature.name, signature.described(()), library, signature.range)


@functools.cache
def _device_kernel() -> Any:
    # Triton is installed only with PyTorch for GPUs.
    from passnet.kernels._strides_device import copy_elements

    return triton(copy_elements)
