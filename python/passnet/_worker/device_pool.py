"""Pools of input values on a device, and checks whether a tensor still has the values that it got from a pool."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import torch

# Number of elements that are compared at a time, so that a comparison needs little memory.
_PART = 1 << 24
# Number of words that a fingerprint processes at a time.
_WORDS = 1 << 22
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}


class DevicePool:
    """The values of one input and the addends of these values, on a device.

    A kernel could change the pool together with an input, and a comparison of the two would not notice that. So the host keeps a
    fingerprint of the pool under a random key that no kernel knows.
    """

    def __init__(
        self,
        values: torch.Tensor,
        addends: torch.Tensor | None,
        bounds: tuple[float | None, float | None],
        count: int,
        device: torch.device,
    ) -> None:
        """`values` and `addends` are in host memory and do not change. An input has `count` elements."""
        self._host, self._addends, self._bounds, self._count = values, addends, bounds, count
        self.values = values.to(device)
        self._key = secrets.randbits(63)
        self._fingerprint = fingerprint(self.values, self._key)
        # Repeated, so that a slice can begin at any value and have the length of the input.
        self._repeated = None if addends is None else self._repeat(count)

    def sums(self, targets: list[torch.Tensor]) -> Callable[[int, int, int], None] | None:
        """Returns a function that writes sums to a target (see `summed`); `None` if there are no addends."""
        return None if self._repeated is None else summed(self.values, self._repeated, targets, *self._bounds)

    def is_in(self, flat: torch.Tensor, window: int, shift: int) -> bool:
        """Returns whether a tensor on the device still has the bits that it got for this window and this shift of the addends."""
        if fingerprint(self.values, self._key) != self._fingerprint:
            self.values.copy_(self._host)
        # Addends are copied from the host again, because they are few.
        addends = None if self._addends is None else self._repeat(min(self._count, _PART))
        for first in range(0, self._count, _PART):
            part = flat[first : first + _PART]
            content = self.values[window + first : window + first + part.numel()]
            if addends is not None:
                begin = (shift + first) % self._addends.numel()
                content = _bounded(content + addends[begin : begin + part.numel()], *self._bounds)
            if not same_bits(part, content):
                return False
        return True

    def _repeat(self, count: int) -> torch.Tensor:
        return self._addends.to(self.values.device).repeat(-(-count // self._addends.numel()) + 1)


def summed(
    values: torch.Tensor, addends: torch.Tensor, targets: list[torch.Tensor], low: float | None, high: float | None
) -> Callable[[int, int, int], None]:
    """Returns a function that writes the sums of a window and of addends to a target.

    The function takes the numbers of the window, of the first addend, and of the target. As in the native code, each sum is rounded
    once and then clamped to the bounds.
    """
    count = targets[0].numel()

    def write(window: int, shift: int, target: int) -> None:
        out = targets[target]
        torch.add(values[window : window + count], addends[shift : shift + count], out=out)
        _bounded(out, low, high)

    return write


def _bounded(values: torch.Tensor, low: float | None, high: float | None) -> torch.Tensor:
    return values if low is None and high is None else values.clamp_(low, high)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether two contiguous tensors of one dtype on one device have the same bits. NaNs with the same bits are equal."""
    bits = _BITS[a.dtype.itemsize]
    return torch.equal(a.view(bits), b.view(bits))


def fingerprint(values: torch.Tensor, key: int) -> int:
    """Returns the sum of the words of a tensor, each multiplied by a random number of 64 bits, modulo 2**64.

    Words have at most 32 bits. So two contents that do not depend on the key have the same sum with a probability of at most
    2**-32 (multilinear hashing: J. L. Carter and M. N. Wegman, "Universal classes of hash functions", 1979).
    """
    words = values.view(torch.int32 if values.dtype.itemsize % 4 == 0 else _BITS[values.dtype.itemsize])
    generator = torch.Generator(values.device).manual_seed(key)
    total = torch.zeros((), dtype=torch.int64, device=values.device)
    for part in words.split(_WORDS):
        factors = torch.empty(part.numel(), dtype=torch.int64, device=values.device)
        total += factors.random_(-(2**63), None, generator=generator).mul_(part).sum()
    return int(total)
