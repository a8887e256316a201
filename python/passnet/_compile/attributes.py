"""Attributes of tensor arguments. A call compares the type, the sizes and the strides of such a tensor, but not the values of its attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from passnet._compile.errors import NotCapturedError

# Guards on the absence of an attribute.
OF_ABSENCE = ("NOT_PRESENT_IN_GENERIC_DICT", "HASATTR")


def missing_attribute(
    name: str, value: Any, kind: str, keywords: dict[str, Any], find: Callable[[str], Any]
) -> tuple[torch.Tensor, str] | None:
    """Returns the tensor argument that must lack an attribute, and the attribute, if a guard says so; None for any other guard.

    Raises `NotCapturedError` if a guard is on the identity of a tensor argument, or on an attribute that this tensor has and others may
    not have. `find` returns the value of a name in a guard.
    """
    if kind == "ID_MATCH" and isinstance(value, torch.Tensor):
        raise NotCapturedError("the code reads the identity of an argument, which calls do not compare")
    if kind not in OF_ABSENCE:
        return None
    attribute = keywords.get("attr")
    if attribute is None:
        # PyTorch 2.11 has the attribute at the end of the name.
        path, _, attribute = name.rpartition(".")
        value = find(path)
    if isinstance(value, torch.Tensor) and not hasattr(value, attribute):
        return value, attribute
    check_attribute_of_argument(value, attribute)
    return None


def check_attribute_of_argument(owner: Any, name: str) -> None:
    """Raises `NotCapturedError` if the owner of an attribute is a tensor, and other tensors have another value or none."""
    if isinstance(owner, torch.Tensor) and (name == "grad" or name in owner.__dict__):
        raise NotCapturedError(f"the code reads the attribute `{name}` of an argument, which calls do not compare")
