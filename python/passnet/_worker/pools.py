"""Contents of timed calls: windows of pools of values, copied into the same tensors before each call."""

from __future__ import annotations

from typing import Any

import torch

from passnet import _native
from passnet._worker import tensors


class Pools:
    """A block with a pool of values for each input, and two sets of tensors.

    The calls after the one that is kept use the other set, so that what that call saw and changed is still there when it
    is fetched.
    """

    def __init__(self, pools: list[dict[str, Any]], block: int, device: torch.device) -> None:
        layouts = tensors.Layouts([pool["window"] for pool in pools])
        self.counts = [pool["windows"] for pool in pools]
        self.elements = [dtype.itemsize for _, _, dtype, _ in layouts.places]
        for (_, end, _, _), count, element in zip(layouts.places, self.counts, self.elements, strict=True):
            layouts.end = max(layouts.end, end + (count - 1) * element)
        self.base = layouts.base(block, 1, 0)
        self.places = layouts.places
        self.sets = [tensors.InputSet(self.base, layouts, device) for _ in range(2)]
        self.on_device = [self._typed(i).to(device) for i in range(len(pools))] if device.type != "cpu" else []

    def sources(self, windows: list[dict[str, int]], *, restore: bool) -> list[dict[str, Any]]:
        """Returns the copies that `_native.time_calls` makes before each call.

        An input that does not change is copied only where the graph may have changed it.
        """
        return [
            {
                "address": self.on_device[i].data_ptr() if self.on_device else self.base.data_ptr() + start,
                "places": [inputs.address(i) for inputs in self.sets],
                "nbytes": end - start,
                "element": self.elements[i],
                "windows": self.counts[i],
                **windows[i],
            }
            for i, (start, end, _, _) in enumerate(self.places)
            if restore or self.counts[i] > 1
        ]

    def kept(self, number: int, call: int, windows: list[dict[str, int]]) -> tensors.InputSet:
        """Returns the set of a number, which the kept call saw; the other one comes first in the next block."""
        inputs = self.sets[number]
        inputs.shifts = [self._window(i, call, windows) * element for i, element in enumerate(self.elements)]
        self.sets = [self.sets[1 - number], inputs]
        return inputs

    def _window(self, index: int, call: int, windows: list[dict[str, int]]) -> int:
        return (windows[index]["start"] + call * windows[index]["step"]) % self.counts[index]

    def _typed(self, index: int) -> torch.Tensor:
        start, end, dtype, _ = self.places[index]
        end += (self.counts[index] - 1) * self.elements[index]
        return self.base[start:end].view(dtype) if start < end else torch.empty(0, dtype=dtype)


def let_go(holder: list[Any]) -> None:
    """Overwrites the one result in a list, which is its only holder, and forgets it."""
    _native.overwrite(holder.pop())
