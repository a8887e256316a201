"""Facts about objects and dictionaries that no guard of Dynamo has: names that the code did not find, and the order of some dictionaries."""

from __future__ import annotations

import enum
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

# Types whose values are immutable.
FIXED = (int, float, complex, str, bytes, type(None), tuple, frozenset, range, slice, enum.Enum, type, type(...))
FIXED += (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType, types.ModuleType)
FIXED += (torch.dtype, torch.device, torch.layout, torch.memory_format)

# Exceptions of a failed lookup, and those that include them.
_ERRORS = ("AttributeError", "KeyError", "LookupError", "Exception", "BaseException")
_OF_ERRORS = tuple(f"['{name}']" for name in _ERRORS)
# Classes of these modules get no attributes while a program runs.
_LIBRARIES = ("torch", "builtins", "collections", "typing", "types", "abc")
_OF_MODULES = ("_parameters", "_buffers", "_modules")


def catches_errors(names: Sequence[str]) -> bool:
    """Returns whether the code with these guards names an exception of a failed lookup. Dynamo has no guard on such a lookup."""
    return any(name.endswith(_OF_ERRORS) for name in names)


def places_of(value: Any) -> Iterator[Any]:
    """Yields the dictionaries in which a lookup in an object of the user looks, and which become larger if it no longer fails."""
    if isinstance(value, (*FIXED, torch.Tensor)):
        return
    if isinstance(value, dict):
        yield value
    if isinstance(own := getattr(value, "__dict__", None), dict):
        yield own
    if isinstance(value, torch.nn.Module):
        yield from (vars(value)[name] for name in _OF_MODULES)
    yield from (vars(kind) for kind in type(value).__mro__ if kind.__module__.partition(".")[0] not in _LIBRARIES)


def order_of(container: dict[Any, Any]) -> Callable[[], bool] | None:
    """Returns a comparison of the present order of keys with that of later calls; None if the order is that of all dictionaries.

    `move_to_end` changes only the order that an ordered dictionary itself keeps.
    """
    if not isinstance(container, OrderedDict) or len(container) < 2:
        return None
    before = [*container]
    return lambda: [*container] == before
