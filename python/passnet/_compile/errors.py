"""The error of a call that cannot be captured."""

from __future__ import annotations

from typing import Any


class NotCapturedError(Exception):
    """A call cannot be captured as one graph; the message says why. `result` has what it returned, if it ran.

    `may_pass` says that a later call may be captured, where this one prepared the model: filled a cache, say, or installed hooks.
    `growing` is the type of an argument that no two calls see with the same sizes, such as a cache of keys and values that grows.
    """

    def __init__(
        self, reason: str, result: tuple[Any, ...] = (), *, may_pass: bool = False, growing: type | None = None
    ) -> None:
        super().__init__(reason)
        self.result = result
        self.may_pass = may_pass
        self.growing = growing


class UsageError(Exception):
    """A wrong option of `passnet.optimize`, or a specification that names no model."""


class DeviceError(Exception):
    """The machine does not have the device, or the interpreter has no PyTorch."""
