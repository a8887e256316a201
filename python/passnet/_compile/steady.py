"""Inputs that have the same address in each call. A CUDA graph can read them in place instead of copying them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_CALLS = 3
# Estimated cost of a copy: microseconds for its launch, and bytes per microsecond at the speed of a GPU's memory.
_LAUNCH_US, _BYTES_PER_US = 2.0, 1e6
# Least saving per call, in microseconds. Recording again takes as long as some calls without a graph, so a smaller saving is not worth it.
_LEAST_US = 50.0


class Watch:
    """Compares the addresses of the inputs of the first calls."""

    def __init__(self) -> None:
        self._calls = 0
        self._steady: dict[int, int] = {}
        self._ended = False

    def see(self, inputs: Sequence[torch.Tensor]) -> frozenset[int]:
        """Notes the inputs of a call.

        After the last of the first calls, returns once the positions of inputs whose addresses did not change, if copies of them
        would take long. Otherwise returns an empty set.
        """
        if self._ended:
            return frozenset()
        addresses = {place: tensor.data_ptr() for place, tensor in enumerate(inputs)}
        if self._calls == 0:
            self._steady = addresses
        self._steady = {place: address for place, address in self._steady.items() if addresses[place] == address}
        self._calls += 1
        self._ended = self._calls == _CALLS or not self._steady
        if self._calls < _CALLS or _copies_us([inputs[place] for place in self._steady]) < _LEAST_US:
            return frozenset()
        return frozenset(self._steady)


def _copies_us(tensors: Sequence[torch.Tensor]) -> float:
    return sum(_LAUNCH_US + tensor.numel() * tensor.element_size() / _BYTES_PER_US for tensor in tensors)


class InPlace:
    """Addresses of the inputs that a graph reads in place."""

    def __init__(self, inputs: Sequence[torch.Tensor], places: frozenset[int]) -> None:
        self._places = sorted(places)
        self._pointers = [tensor.data_ptr() if place in places else None for place, tensor in enumerate(inputs)]

    def hold(self, inputs: Sequence[torch.Tensor]) -> bool:
        """Returns whether these inputs have the same addresses as before."""
        if not self._places:
            return True
        return torch._C._tensors_data_ptrs_at_indices_equal(list(inputs), self._pointers, self._places)

    def moved(self, inputs: Sequence[torch.Tensor]) -> frozenset[int]:
        """Returns the positions of inputs whose addresses have changed."""
        return frozenset(place for place in self._places if inputs[place].data_ptr() != self._pointers[place])


class Copies:
    """Memory of the graph into which inputs are copied before each replay."""

    def __init__(self, memory: dict[int, torch.Tensor]) -> None:
        """`memory` has the copies of inputs by position."""
        self.places = list(memory)
        by_type: dict[torch.dtype, list[int]] = {}
        for place, tensor in memory.items():
            by_type.setdefault(tensor.dtype, []).append(place)
        # One launch can copy many tensors if they have the same dtype.
        self._groups = [(places, [memory[place] for place in places]) for places in by_type.values()]

    def fill(self, inputs: Sequence[torch.Tensor]) -> None:
        """Copies the inputs."""
        for places, copies in self._groups:
            if len(places) == 1:
                copies[0].copy_(inputs[places[0]])
            else:
                torch._foreach_copy_(copies, [inputs[place] for place in places])
