"""Calls that write to their arguments: checks in each call that no other argument has the memory that is written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from passnet._compile.capture import Captured

Run = Callable[..., Sequence[Any]]

# The check takes 0.25 us for each argument. With more arguments, the checks of single regions take less time.
_MOST_ARGUMENTS = 16


def is_cheap(captured: Captured) -> bool:
    """Returns whether one check of a whole call can replace the checks of its regions: it is fast, and holds for the captured call."""
    example = captured.example
    return len(example) <= _MOST_ARGUMENTS and not _shares(example, sorted(captured.mutated))


def with_separate_memory(run: Run, plain: Run, captured: Captured) -> Run:
    """Returns the graph `run`, which was compared with `plain` for separate arguments, for all arguments.

    If an argument that the graph writes to has the memory of another argument, the order of reads and writes matters. The captured
    graph `plain` has PyTorch's order.
    """
    written = sorted(captured.mutated)
    if not written or not is_cheap(captured):
        return run

    def separate(*values: Any) -> Sequence[Any]:
        return plain(*values) if _shares(values, written) else run(*values)

    return separate


def _shares(values: Sequence[torch.Tensor], written: Sequence[int]) -> bool:
    storages = [value.untyped_storage()._cdata for value in values]
    return any(storages.count(storages[place]) > 1 for place in written)
