"""Plain objects in the result of a call, such as the key-value cache of a language model."""

from __future__ import annotations

import copyreg
import gc
from collections.abc import Iterator
from typing import Any

import torch


class Instances:
    """Decides which objects in a result can be made again: those of plain classes that the call itself has made.

    Dynamo makes such an object by its class and sets its attributes, and so does an entry. An object that anything but the result refers to
    may have been there before the call; it cannot be made again.
    """

    def __init__(self, result: Any) -> None:
        parts = list(_parts(result, set()))
        known = {id(parts), *map(id, parts)}
        # Here, where nothing but `parts` and local variables, which do not count, refers to them in addition.
        self._new = {
            id(part)
            for part in parts
            if _is_plain(part) and all(id(other) in known for other in gc.get_referrers(part))
        }

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """The attributes of an object that can be made again, once; None for any other value."""
        if id(value) not in self._new:
            return None
        self._new.remove(id(value))
        return vars(value)


def make_instance(kind: type, attributes: dict[str, Any]) -> Any:
    """An object of a class with these attributes, made without its `__init__`."""
    made = object.__new__(kind)
    made.__dict__.update(attributes)
    return made


def _is_plain(value: Any) -> bool:
    """Whether an object is its attributes and nothing else: no part in C, no slots, no items of its own."""
    kind = type(value)
    if isinstance(value, (type, torch.nn.Module, torch.Tensor)) or kind.__module__ in ("builtins", "types"):
        return False
    if kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__:
        return False
    if kind.__setattr__ is not object.__setattr__ or hasattr(kind, "__del__"):
        return False
    try:
        parts = tuple(object.__reduce_ex__(value, 2))
    except TypeError:
        return False
    made_by, given, state, *items = (*parts, *(None,) * (5 - len(parts)))
    is_dictionary = state is None or (isinstance(state, dict) and state.keys() == vars(value).keys())
    return made_by is copyreg.__newobj__ and given == (kind,) and is_dictionary and items == [None, None]


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """A value and all containers, objects and dictionaries of attributes in it."""
    if id(value) in seen or isinstance(value, (torch.Tensor, type)):
        return
    seen.add(id(value))
    yield value
    items = [*value.values()] if isinstance(value, dict) else list(value) if isinstance(value, (list, tuple)) else []
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        yield attributes
        items += attributes.values()
    for item in items:
        yield from _parts(item, seen)
