"""Attributes of tensor arguments. A call compares the type, the sizes and the strides of such a tensor, but not the values of its attributes."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._guards import TracingContext

from passnet._compile.errors import NotCapturedError

# Attributes of tensors for which Dynamo has no guards: code that reads them gets constants.
_UNGUARDED = ("is_leaf", "grad_fn", "retains_grad", "output_nr", "_base", "_backward_hooks")
# PyTorch's own code reads some of them for hooks of a backward, which guards have.
_OF_TORCH = os.path.dirname(torch.__file__) + os.sep

# Guards on the absence of an attribute.
OF_ABSENCE = ("NOT_PRESENT_IN_GENERIC_DICT", "HASATTR")


def unguarded(tensor: torch.Tensor) -> dict[str, str]:
    """Returns the attributes of an argument for which Dynamo has no guards, with comparisons that they fulfil, as texts of code."""
    return {name: _comparison(getattr(tensor, name)) for name in _UNGUARDED}


def _comparison(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return f"is {value!r}"
    return f"== {value!r}" if isinstance(value, int) else "is not None"


def unguarded_names() -> list[str]:
    """Returns the attributes without guards that the code which Dynamo is capturing may read."""
    codes: Sequence[types.CodeType] | None = getattr(TracingContext.get(), "traced_code", None)
    if codes is None:
        # Older releases do not say which code was captured.
        return [*_UNGUARDED]
    names = {name for code in codes if not code.co_filename.startswith(_OF_TORCH) for name in _names(code)}
    return [name for name in _UNGUARDED if name in names]


def _names(code: types.CodeType) -> Iterator[str]:
    """Yields the names and the texts in the code of a function. `getattr` takes the name of an attribute as a text."""
    yield from code.co_names
    yield from (constant for constant in code.co_consts if isinstance(constant, str))


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
