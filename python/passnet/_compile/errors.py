"""Errors of `passnet.compile` and `passnet.optimize`."""

from __future__ import annotations

from typing import Any


class NotCapturedError(Exception):
    """A call cannot be captured as one graph; the message says why. `result` has the result of the call if it ran.

    `may_pass` is True if a later call may be captured, because this call has prepared the model, e.g. filled a cache or installed
    hooks. `growing` is the type of an argument with other sizes in each call, such as a key-value cache that grows.
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
