"""Input values of timed calls: windows of pools of values, plus addends, written to the same tensors before each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from passnet import _native
from passnet._worker import tensors
from passnet._worker.device_pool import DevicePool


class Pools:
    """A block with a pool of values for each input, and two sets of tensors.

    The calls after the kept call use the other set, so that the inputs of the kept call, with its changes, still exist when they
    are fetched.
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
        self.is_on_host = device.type == "cpu"
        sizes = [end - start for start, end, _, _ in layouts.places]
        memories = [_native.InputMemory(sizes) if self.is_on_host else None for _ in range(2)]
        self.sets = [tensors.InputSet(self.base, layouts, device, memory) for memory in memories]
        # Made here and not for each block of calls, because the driver may take long.
        self.timer = None if self.is_on_host else _native.DeviceTimer()
        self.on_device = [] if self.is_on_host else [self._on_device(i, device) for i in range(len(pools))]

    def memories(self) -> list[_native.InputMemory]:
        """Returns the memory of each set of tensors; none on a device."""
        return [inputs.host_memory for inputs in self.sets if inputs.host_memory is not None]

    def sources(self, windows: list[dict[str, int]], *, restore: bool) -> list[dict[str, Any]]:
        """Returns the copies that `_native.time_calls` makes before each call.

        An input with the same values in each call is copied only if the graph may have changed it.
        """
        sources = []
        for i in range(len(self.places)):
            if not (restore or self.counts[i] > 1):
                continue
            source = self._source(i, windows[i])
            if not self.is_on_host:
                targets = [inputs.flat(i) for inputs in self.sets]
                source |= {"address": self.on_device[i].values.data_ptr(), "sum": self.on_device[i].sums(targets)}
            sources.append(source)
        return sources

    def _source(self, index: int, windows: dict[str, int]) -> dict[str, Any]:
        """Returns the source of an input in host memory."""
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

    def kept(self, number: int, call: int, windows: list[dict[str, int]]) -> tensors.InputSet:
        """Returns the set of inputs that the kept call used. The next block begins with the other set."""
        inputs = self.sets[number]
        inputs.holds = [self._holds(i, call, inputs, windows[i]) for i in range(len(self.places))]
        self.sets = [self.sets[1 - number], inputs]
        return inputs

    def _holds(self, index: int, call: int, inputs: tensors.InputSet, windows: dict[str, int]) -> Callable[[], bool]:
        """Returns a function that returns whether an input still has the bytes that it had in a call."""
        if self.is_on_host:
            source = self._source(index, windows)
            return lambda: _native.has_content(source, call, inputs.address(index))
        pool, addends = self.on_device[index], (self.addends[index] or {}).get("elements", 1)
        window = (windows["start"] + call * windows["step"]) % self.counts[index]
        shift = (windows.get("addend_start", 0) + call * windows.get("addend_step", 0)) % addends
        return lambda: pool.is_in(inputs.flat(index), window, shift)

    def _on_device(self, index: int, device: torch.device) -> DevicePool:
        start, end, dtype, _ = self.places[index]
        addend, element, addends = self.addends[index] or {}, self.elements[index], None
        if addend:
            addends = self.base[addend["offset"] : addend["offset"] + addend["elements"] * element].view(dtype)
        bounds = (addend.get("low"), addend.get("high"))
        return DevicePool(self._typed(index), addends, bounds, (end - start) // element, device)

    def _typed(self, index: int) -> torch.Tensor:
        start, end, dtype, _ = self.places[index]
        end += (self.counts[index] - 1) * self.elements[index]
        return self.base[start:end].view(dtype) if start < end else torch.empty(0, dtype=dtype)


def let_go(holder: list[Any]) -> None:
    """Overwrites and releases the one result in a list. The list must be its only owner."""
    _native.overwrite(holder.pop())
