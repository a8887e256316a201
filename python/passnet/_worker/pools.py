"""Contents of timed calls: windows of pools of values, copied into the same tensors before each call."""

from __future__ import annotations

import collections
import sys
from typing import Any

import torch

from passnet import _native
from passnet._monitor.intercept import fill_with_poison
from passnet._worker import tensors


class Pools:
    """A block with a pool of values for each input, and two sets of tensors.

    The calls of a block use one set up to the call that is kept and the other one after it, so that what that call saw
    and changed is still there when it is fetched.
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
        """What `_native.time_calls` copies before each call, for tensors in the memory of the host.

        An input that does not change is copied only where the graph may have changed it.
        """
        if self.on_device:
            return []
        return [
            {
                "address": self.base.data_ptr() + start,
                "places": [inputs.address(i) for inputs in self.sets],
                "nbytes": end - start,
                "element": self.elements[i],
                "windows": self.counts[i],
                **windows[i],
            }
            for i, (start, end, _, _) in enumerate(self.places)
            if restore or self.counts[i] > 1
        ]

    def fill(self, number: int, call: int, windows: list[dict[str, int]]) -> None:
        """Copies the windows of a call into the tensors of a set, on a device."""
        for i, target in enumerate(self.sets[number].targets()):
            first = self._window(i, call, windows)
            target.copy_(self.on_device[i][first : first + target.numel()].view(target.shape))

    def kept(self, call: int, windows: list[dict[str, int]]) -> tensors.InputSet:
        """The set that the kept call saw; the other one comes first in the next block."""
        inputs = self.sets[0]
        inputs.shifts = [self._window(i, call, windows) * element for i, element in enumerate(self.elements)]
        self.sets.reverse()
        return inputs

    def _window(self, index: int, call: int, windows: list[dict[str, int]]) -> int:
        return (windows[index]["start"] + call * windows[index]["step"]) % self.counts[index]

    def _typed(self, index: int) -> torch.Tensor:
        start, end, dtype, _ = self.places[index]
        end += (self.counts[index] - 1) * self.elements[index]
        return self.base[start:end].view(dtype) if start < end else torch.empty(0, dtype=dtype)


def overwrite(result: Any) -> None:
    """Overwrites the memory of each tensor in a tuple or list on a device, unless something else holds it."""
    values = list(result) if isinstance(result, (tuple, list)) else []
    # References of the result, of `values`, of the loop and of the call.
    own = [v for v in values if isinstance(v, torch.Tensor) and not v.is_cpu and sys.getrefcount(v) <= 4]
    addresses = collections.Counter(v.untyped_storage().data_ptr() for v in own if v.layout == torch.strided)
    for value in own:
        if value.layout == torch.strided:
            storage = value.untyped_storage()
            # The tensors' references, and that of `storage`.
            if torch._C._storage_Use_Count(storage._cdata) <= addresses[storage.data_ptr()] + 1:
                fill_with_poison(storage, value.dtype)


def let_go(holder: list[Any]) -> None:
    """Overwrites the one result in a list, which is its only holder, and forgets it."""
    overwrite(holder[0])
    _native.overwrite(holder.pop())
