"""Contents of timed calls: windows of pools of values, and sums with others, in the same tensors before each call."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
        self.dtypes = [pool["window"]["dtype"] for pool in pools]
        self.addends = [pool.get("addend") for pool in pools]
        for i, (_, end, _, _) in enumerate(layouts.places):
            layouts.end = max(layouts.end, end + (self.counts[i] - 1) * self.elements[i])
            if addend := self.addends[i]:
                layouts.end = max(layouts.end, addend["offset"] + addend["elements"] * self.elements[i])
        self.base = layouts.base(block, 1, 0)
        self.places = layouts.places
        self.sets = [tensors.InputSet(self.base, layouts, device) for _ in range(2)]
        self.is_on_host = device.type == "cpu"
        self.on_device = [] if self.is_on_host else [self._typed(i).to(device) for i in range(len(pools))]
        # Repeated, so that a slice begins at any value and is as long as the input.
        self.repeated = [] if self.is_on_host else [self._repeated(i, device) for i in range(len(pools))]

    def sources(self, windows: list[dict[str, int]], *, restore: bool) -> list[dict[str, Any]]:
        """Returns the copies that `_native.time_calls` makes before each call.

        An input that does not change is copied only where the graph may have changed it.
        """
        sources = []
        for i in range(len(self.places)):
            if not (restore or self.counts[i] > 1):
                continue
            source = self._source(i, windows[i])
            if not self.is_on_host:
                source |= {"address": self.on_device[i].data_ptr(), "sum": self._sum(i)}
            sources.append(source)
        return sources

    def _source(self, index: int, windows: dict[str, int]) -> dict[str, Any]:
        """Returns the source of an input in the memory of the host."""
        start, end, _, _ = self.places[index]
        addend = self.addends[index] or {}
        return {
            "address": self.base.data_ptr() + start,
            "places": [inputs.address(index) for inputs in self.sets],
            "nbytes": end - start,
            "element": self.elements[index],
            "windows": self.counts[index],
            "dtype": self.dtypes[index],
            "addend": self.base.data_ptr() + addend["offset"] if addend else 0,
            "addends": addend.get("elements", 1),
            "low": addend.get("low"),
            "high": addend.get("high"),
            "sum": None,
            "start": windows["start"],
            "step": windows["step"],
            "addend_start": windows.get("addend_start", 0),
            "addend_step": windows.get("addend_step", 0),
        }

    def _sum(self, index: int) -> Callable[[int, int, int], None] | None:
        addend = self.addends[index]
        if addend is None:
            return None
        targets = [inputs.flat(index) for inputs in self.sets]
        return summed(self.on_device[index], self.repeated[index], targets, addend.get("low"), addend.get("high"))

    def kept(self, number: int, call: int, windows: list[dict[str, int]]) -> tensors.InputSet:
        """Returns the set of a number, which the kept call saw; the other one comes first in the next block."""
        inputs = self.sets[number]
        inputs.shifts = [self._window(i, call, windows) * element for i, element in enumerate(self.elements)]
        inputs.computed = {
            i: functools.partial(self._content, self._source(i, windows[i]), call)
            for i, addend in enumerate(self.addends)
            if addend
        }
        self.sets = [self.sets[1 - number], inputs]
        return inputs

    def _content(self, source: dict[str, Any], call: int) -> torch.Tensor:
        """Returns the bytes that a call saw."""
        content = torch.empty(source["nbytes"], dtype=torch.uint8)
        _native.write_content(source, call, content.data_ptr())
        return content

    def _repeated(self, index: int, device: torch.device) -> torch.Tensor | None:
        addend, (start, end, dtype, _) = self.addends[index], self.places[index]
        if addend is None:
            return None
        first, element, count = addend["offset"], self.elements[index], addend["elements"]
        values = self.base[first : first + count * element].view(dtype).to(device)
        return values.repeat(-(-(end - start) // (count * element)) + 1)

    def _window(self, index: int, call: int, windows: list[dict[str, int]]) -> int:
        return (windows[index]["start"] + call * windows[index]["step"]) % self.counts[index]

    def _typed(self, index: int) -> torch.Tensor:
        start, end, dtype, _ = self.places[index]
        end += (self.counts[index] - 1) * self.elements[index]
        return self.base[start:end].view(dtype) if start < end else torch.empty(0, dtype=dtype)


def summed(
    values: torch.Tensor, addends: torch.Tensor, targets: list[torch.Tensor], low: float | None, high: float | None
) -> Callable[[int, int, int], None]:
    """Returns a function that writes the sums of a window and of addends to a target. It takes the number of the window,
    of the first addend, and of the target. Each sum is rounded once, and then within the bounds: as native code does it.
    """
    count = targets[0].numel()

    def write(window: int, shift: int, target: int) -> None:
        out = targets[target]
        torch.add(values[window : window + count], addends[shift : shift + count], out=out)
        if low is not None or high is not None:
            out.clamp_(low, high)

    return write


def let_go(holder: list[Any]) -> None:
    """Overwrites the one result in a list, which is its only holder, and forgets it."""
    _native.overwrite(holder.pop())
