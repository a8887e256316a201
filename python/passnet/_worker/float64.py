"""Runs the graph in float64. The errors of other results are measured against this result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map

from passnet._monitor.modes import PlainDispatchMode
from passnet._worker.tensors import InputSet

_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


class NoFloat64Error(RuntimeError):
    """The graph has no useful result in float64."""


class _Wide(PlainDispatchMode):
    """Runs every operator in float64, also operators with another floating-point dtype as an argument."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is torch.ops.aten.view.dtype:
            raise NoFloat64Error("it reinterprets the bits of numbers")
        args, kwargs = tree_map(_widened_type, (args, kwargs or {}))
        return func(*args, **kwargs)


def _widened_type(value: Any) -> Any:
    return _WIDE.get(value, value) if isinstance(value, torch.dtype) else value


@contextlib.contextmanager
def everything() -> Iterator[None]:
    """A context in which all floating-point tensors that PyTorch makes are in float64."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Wide():
            yield
    finally:
        torch.set_default_dtype(default)


class WideInputs:
    """The initial content of a set of inputs, in float64."""

    def __init__(self, inputs: InputSet) -> None:
        self.names = inputs.names
        self.tensors = tuple(tensor.to(_WIDE.get(tensor.dtype, tensor.dtype)) for tensor in inputs.copies())
        self._before = tuple(tensor.clone() for tensor in self.tensors)

    def mutated(self) -> list[tuple[str, torch.Tensor]]:
        """Returns the name and the present content of each tensor that was changed."""
        triples = zip(self.names, self.tensors, self._before, strict=True)
        return [(name, tensor.cpu()) for name, tensor, before in triples if not _same(tensor, before)]

    def aliases(self, tensor: torch.Tensor) -> str | None:
        """Returns None: the referee does not check the memory of float64 outputs."""
        return None


def _same(tensor: torch.Tensor, before: torch.Tensor) -> bool:
    # NaN counts as equal to NaN.
    return tensor.shape == before.shape and torch.equal(torch.nan_to_num(tensor), torch.nan_to_num(before))
