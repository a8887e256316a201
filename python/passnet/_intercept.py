"""The interception layer: replacement functions may create tensors and look at them, but not compute with torch."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from passnet import _native

# Creation of tensors, and what asks or restates where and how their elements lie. Nothing that reads or combines them.
PERMITTED = frozenset(
    f"aten.{name}"
    for name in (
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
        *("zeros", "zeros_like", "new_zeros", "zero_", "ones", "ones_like", "new_ones"),
        *("full", "full_like", "new_full", "lift_fresh", "alias", "detach", "_to_copy"),
        *("view", "_unsafe_view", "_reshape_alias", "as_strided", "expand", "permute", "transpose", "t"),
        *("squeeze", "unsqueeze", "select", "slice", "split", "split_with_sizes", "unbind"),
        *("size", "stride", "dim", "numel", "is_contiguous", "storage_offset", "sym_size", "sym_stride", "sym_numel"),
    )
)


class _Watch(TorchDispatchMode):
    """Sees every operator below Python, however deep its tensors hide in containers, and lets all of them run."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = str(func.overloadpacket)
        if name not in PERMITTED and not _is_called_by_triton(sys._getframe(1)):
            _native.record_violation(name)
        return func(*args, **(kwargs or {}))


@functools.cache
def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under watch."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _Watch():
            return function(*args, **kwargs)

    return call


def _is_called_by_triton(frame: FrameType | None) -> bool:
    """Whether the nearest frame outside torch belongs to Triton: its interpreter and its autotuner use tensors."""
    triton = sys.modules.get("triton")
    if triton is None or triton.__file__ is None:
        return False
    torch_root = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    while frame is not None and (frame.f_code.co_filename.startswith(torch_root) or frame.f_code is _WATCH_CODE):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(os.path.dirname(triton.__file__) + os.sep)


_WATCH_CODE = _Watch.__torch_dispatch__.__code__
