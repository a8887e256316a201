"""Attributes of tensor arguments. A call compares the type, the sizes and the strides of such a tensor, but not its attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from passnet._compile.errors import NotCapturedError

# Guards on the absence of an attribute.
OF_ABSENCE = ("NOT_PRESENT_IN_GENERIC_DICT", "HASATTR")


def check_guard_on_argument(
    name: str, value: Any, kind: str, keywords: dict[str, Any], find: Callable[[str], Any]
) -> None:
    """Raises `NotCapturedError` if a guard is on the identity of a tensor argument, or on an attribute that only some tensors have.

    `find` returns the value of a name in a guard.
    """
    if kind == "ID_MATCH" and isinstance(value, torch.Tensor):
        raise NotCapturedError("the code reads the identity of an argument, which calls do not compare")
    if kind not in OF_ABSENCE:
        return
    attribute = keywords.get("attr")
    if attribute is None:
        # PyTorch 2.11 has the attribute at the end of the name.
        path, _, attribute = name.rpartition(".")
        value = find(path)
    if isinstance(value, torch.Tensor) and not hasattr(type(value), attribute):
        raise _refusal(attribute)
    check_attribute_of_argument(value, attribute)


def check_attribute_of_argument(owner: Any, name: str) -> None:
    """Raises `NotCapturedError` if the owner of an attribute is a tensor, and other tensors have another value or none."""
    if isinstance(owner, torch.Tensor) and (name == "grad" or name in owner.__dict__):
        raise _refusal(name)


def _refusal(name: str) -> NotCapturedError:
    return NotCapturedError(f"the code reads the attribute `{name}` of an argument, which calls do not compare")
