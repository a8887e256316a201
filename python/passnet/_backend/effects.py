"""Side effects of a pattern, found on tensors without data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from passnet._backend.types import uninitialized


@dataclass(frozen=True)
class Effects:
    """The effects of a call with certain arguments."""

    mutated: frozenset[int]
    """Positions of the arguments that the call writes to."""
    is_random: bool
    operators: tuple[str, ...]
    """Operators in order, with the types of their tensors. Casts by autocast are included."""
    results: Any
    """The result of the function, with types, sizes and strides of its tensors, but without their data."""


class Recorder(TorchDispatchMode):
    """Records the operators that run, and whether one of them draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []
        self.is_random = False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        self.is_random |= torch.Tag.nondeterministic_seeded in func.tags
        dtypes = [str(value.dtype) for value in args if isinstance(value, torch.Tensor)]
        if func.namespace == "aten":
            self.operators.append(f"{func}({', '.join(dtypes)})")
        return func(*args, **(kwargs or {}))


def effects_of(function: Callable[..., Any], values: Sequence[Any]) -> Effects | None:
    """Returns the effects of `function(*values)`; `None` if they depend on the content of tensors."""
    try:
        # Outside inference mode, because tensors have version counters only there.
        with torch.inference_mode(False), torch.no_grad(), FakeTensorMode() as mode:
            # One fake tensor for each tensor, because a write to one argument also changes an argument that is the same or overlaps.
            fakes: dict[int, torch.Tensor] = {
                id(value): _fake(value, mode) for value in values if isinstance(value, torch.Tensor)
            }
            versions = {key: _version(fake) for key, fake in fakes.items()}
            with Recorder() as recorder:
                results = function(*(fakes.get(id(value), value) for value in values))
            mutated = frozenset(
                place
                for place, value in enumerate(values)
                if isinstance(value, torch.Tensor) and _version(fakes[id(value)]) != versions[id(value)]
            )
    except Exception:  # An operator that needs content may raise any exception.
        return None
    return Effects(mutated, recorder.is_random, tuple(recorder.operators), results)


def count_writes(values: Sequence[Any], places: Sequence[int]) -> None:
    """Counts a write to the tensors at these positions, because kernels write without PyTorch's knowledge.

    A backward that needs the contents before the write raises an exception then, as after a write by PyTorch.
    """
    torch._C._increment_version([values[place] for place in places])


def _fake(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    if not tensor.is_inference():
        return mode.from_tensor(tensor, static_shapes=True)
    # An inference tensor does not count writes.
    return uninitialized(tensor)


def _version(tensor: torch.Tensor) -> int:
    return tensor._version


def change_by_autocast(function: Callable[..., Any], values: Sequence[Any]) -> str | None:
    """Returns the operator of `function(*values)` that the enabled autocast changes, or the reason why this is not known."""
    with contextlib.ExitStack() as stack:
        inside = effects_of(function, values)
        for device in ("cpu", "cuda"):
            stack.enter_context(torch.autocast(device, enabled=False))
        outside = effects_of(function, values)
    if inside is None or outside is None:
        return "an operator whose result depends on values"
    if inside.operators == outside.operators:
        return None
    changed = [operator for operator in inside.operators if operator not in outside.operators]
    return next((operator for operator in changed if "_to_copy" not in operator), "the types of its results")
