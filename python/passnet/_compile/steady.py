"""Inputs that have the same address in each call, which a CUDA graph can read where they are instead of copying them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_CALLS = 3
# Estimates of what a copy costs: its launch, and its bytes at the speed of a GPU's memory.
_LAUNCH_US, _BYTES_PER_US = 2.0, 1e6
# Recording again takes as long as some calls without a graph. Less than this is not worth it.
_LEAST_US = 50.0


class Watch:
    """Compares the addresses of the inputs of the first calls."""

    def __init__(self) -> None:
        self._calls = 0
        self._steady: dict[int, int] = {}
        self._ended = False

    def see(self, inputs: Sequence[torch.Tensor]) -> frozenset[int]:
        """Notes the inputs of a call. Once, after the last of the first calls, returns the places of those that stayed, if copies of
        them would take long.
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
    """Inputs that a graph reads where they are, by their addresses."""

    def __init__(self, inputs: Sequence[torch.Tensor], places: frozenset[int]) -> None:
        self._places = sorted(places)
        self._pointers = [tensor.data_ptr() if place in places else None for place, tensor in enumerate(inputs)]

    def hold(self, inputs: Sequence[torch.Tensor]) -> bool:
        """Returns whether these inputs are where they were."""
        if not self._places:
            return True
        return torch._C._tensors_data_ptrs_at_indices_equal(list(inputs), self._pointers, self._places)

    def moved(self, inputs: Sequence[torch.Tensor]) -> frozenset[int]:
        """The places of inputs that have another address now."""
        return frozenset(place for place in self._places if inputs[place].data_ptr() != self._pointers[place])


class Copies:
    """Memory of the graph for inputs, which are copied there before each replay."""

    def __init__(self, memory: dict[int, torch.Tensor]) -> None:
        """`memory` has the copy of the input at each place."""
        self.places = list(memory)
        by_type: dict[torch.dtype, list[int]] = {}
        for place, tensor in memory.items():
            by_type.setdefault(tensor.dtype, []).append(place)
        # One launch copies many tensors if they have the same type.
        self._groups = [(places, [memory[place] for place in places]) for places in by_type.values()]

    def fill(self, inputs: Sequence[torch.Tensor]) -> None:
        """Copies the inputs."""
        for places, copies in self._groups:
            if len(places) == 1:
                copies[0].copy_(inputs[places[0]])
            else:
                torch._foreach_copy_(copies, [inputs[place] for place in places])
