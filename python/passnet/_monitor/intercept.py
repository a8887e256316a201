"""The interception layer: replacement functions may create tensors and read their properties, but not compute with torch."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from passnet import _native
from passnet._monitor import census
from passnet._monitor.modes import PlainDispatchMode

# Operators that create or copy tensors, and operators that return properties or views. None of them computes with elements.
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


# Functions that return uninitialised memory.
_UNINITIALISED = frozenset(
    f"aten.{name}" for name in ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
)
# Bytes of poison after each allocation.
MARGIN_BYTES = 512
# Bytes that make a NaN in every floating-point type, and bytes that make a number above 200 in each of 16 bits or more.
_NAN, _LARGE = 0xFF, 0x5C
# Number of the pattern that comes second (`fill_with_poison`), in a list so that it can change.
_second = [0]
# Byte of all elements, in place of both patterns. Memory of timed calls has such contents: what earlier calls left there, or zeros.
_uniform: list[int | None] = [None]
# The choices of `_uniform`. A kernel that does other work where it finds both patterns is therefore noticed in other checked calls.
_UNIFORM = (None, None, _LARGE, 0)


@dataclass(frozen=True)
class Watch:
    """The properties of replacement functions that are watched in a call."""

    operators: bool = False
    """Record operators that compute."""
    poison: bool = False
    """Fill new memory with `fill_with_poison`, and add a margin after it."""
    census: bool = False
    """Record functions that return new tensors without launching a kernel, and kernels of vendors' libraries."""
    spoil: bool = False
    """Overwrite the results."""

    def __bool__(self) -> bool:
        return self.operators or self.poison or self.census or self.spoil


class _Mode(PlainDispatchMode):
    """Observes every operator below Python, also on tensors nested in containers. All operators run."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch
        self.margins: list[tuple[torch.UntypedStorage, int]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = str(func.overloadpacket)
        if self.watch.operators and name not in PERMITTED and not _is_called_by_triton(sys._getframe(1)):
            _native.record_violation(name)
        result = func(*args, **(kwargs or {}))
        if self.watch.poison and name in _UNINITIALISED and result.layout == torch.strided and result.numel():
            storage = result.untyped_storage()
            self.margins.append((storage, storage.nbytes()))
            with torch._C._DisableTorchDispatch():
                poison(storage, result.dtype)
        return result

    def check_margins(self) -> None:
        """Records a violation if the call wrote past the end of an allocation."""
        # Hides the operators of this check from other modes.
        with torch._C._DisableTorchDispatch():
            is_any_overrun = any(is_overrun(storage, nbytes) for storage, nbytes in self.margins)
        if is_any_overrun:
            _native.record_violation("out_of_bounds")


def poison(storage: torch.UntypedStorage, dtype: torch.dtype) -> None:
    """Extends a storage by a margin and fills all of it with poison."""
    nbytes = storage.nbytes()
    storage.resize_(nbytes + MARGIN_BYTES)
    fill_with_poison(storage, dtype)
    torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)[nbytes:].fill_(0xFF)


def next_patterns() -> None:
    """Exchanges the two patterns of `fill_with_poison`, and decides by chance whether memory has only one."""
    _second[0] ^= 1
    _uniform[0] = _UNIFORM[os.urandom(1)[0] % len(_UNIFORM)]


def fill_with_poison(storage: torch.UntypedStorage, dtype: torch.dtype) -> None:
    """Overwrites a storage with two patterns in turns, from element to element: NaN and a large number, or 1 and 0 in a bool.

    With one pattern, a kernel could leave out all elements whose right values are that pattern. Which one comes first changes from one
    checked call to the next (`next_patterns`). In some calls, all bytes are equal, as in timed calls.
    """
    whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    size, second = dtype.itemsize, _second[0]
    if _uniform[0] is not None:
        # Between timed calls, results of one byte per element are overwritten with 1.
        whole.fill_(min(_uniform[0], 1) if size == 1 else _uniform[0])
        return
    # A bool has no NaN, and bytes other than 0 and 1 are invalid in it.
    patterns = (1, 0) if dtype == torch.bool else (_NAN, _LARGE)
    whole.fill_(patterns[0])
    pairs = whole.numel() // (2 * size)
    whole[: pairs * 2 * size].view(pairs, 2, size)[:, second].fill_(patterns[1])


def spoil(tensor: torch.Tensor) -> None:
    """Replaces each element by a similar one: a finite number stays finite, and an index becomes its neighbour."""
    if tensor.dtype == torch.bool:
        tensor.logical_not_()
    elif tensor.dtype.is_floating_point:
        tensor.copy_(1 - tensor.double())
    elif tensor.dtype.is_complex:
        tensor.copy_(1 - tensor)
    else:
        tensor.bitwise_xor_(1)


def is_overrun(storage: torch.UntypedStorage, nbytes: int) -> bool:
    """Returns whether the margin after the first `nbytes` bytes was written to."""
    if storage.nbytes() != nbytes + MARGIN_BYTES:
        return False
    whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return bool((whole[nbytes:] != 0xFF).any())


def guarded(function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Returns the function under watch."""

    # `__module__` is not copied: code that FX generates calls a function of torch by its name, which would bypass the
    # watch.
    @functools.wraps(function, assigned=("__name__", "__doc__"), updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if watch.spoil:
            result = function(*args, **kwargs)
            for tensor in _tensors_of(result):
                spoil(tensor)
            return result
        if not watch.census:
            return watched(*args, **kwargs)
        before = _native.launches()
        kernels: set[str] = set()
        on_cuda = any(isinstance(arg, torch.Tensor) and arg.is_cuda for arg in args)
        with census.counting(), census.on_device(kernels) if on_cuda else contextlib.nullcontext():
            result = watched(*args, **kwargs)
        for name in filter(census.is_vendors, sorted(kernels)):
            _native.record_violation(f"vendor_kernel:{name[:200]}")
        if _makes_tensors(result, args):
            _native.record_violation(
                "makes_tensors"
                if _native.launches() > before
                else f"no_kernel:{getattr(function, '__name__', 'replacement')}"
            )
        return result

    def watched(*args: Any, **kwargs: Any) -> Any:
        if not (watch.operators or watch.poison):
            return function(*args, **kwargs)
        mode = _Mode(watch)
        with mode:
            result = function(*args, **kwargs)
        mode.check_margins()
        return result

    return call


def _makes_tensors(result: Any, args: tuple) -> bool:
    """Returns whether a result has new tensors, that is, tensors that are not views of arguments."""
    given = {arg.untyped_storage().data_ptr() for arg in args if isinstance(arg, torch.Tensor)}
    return any(tensor.untyped_storage().data_ptr() not in given for tensor in _tensors_of(result) if tensor.numel())


def _tensors_of(result: Any) -> list[torch.Tensor]:
    """Returns the tensors that a replacement function returns."""
    values = result if isinstance(result, (tuple, list)) else (result,)
    return [value for value in values if isinstance(value, torch.Tensor) and value.layout == torch.strided]


def _is_called_by_triton(frame: FrameType | None) -> bool:
    """Returns whether the nearest frame outside torch belongs to Triton: its interpreter and its autotuner use tensors."""
    triton = sys.modules.get("triton")
    if triton is None or triton.__file__ is None:
        return False
    torch_root = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    while frame is not None and (frame.f_code.co_filename.startswith(torch_root) or frame.f_code is _WATCH_CODE):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(os.path.dirname(triton.__file__) + os.sep)


_WATCH_CODE = _Mode.__torch_dispatch__.__code__
