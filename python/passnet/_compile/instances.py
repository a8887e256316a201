"""Plain objects in the arguments and the result of a call, such as the key-value cache of a language model."""

from __future__ import annotations

import copyreg
import gc
import operator
from collections.abc import Iterator
from typing import Any

import torch

# An object with more attributes, or with longer containers, is data rather than the state of a call: each call would compare all of it.
_MAX_ATTRIBUTES = 64
_MAX_ITEMS = 1024
_MAX_OBJECTS = 1024


class Arguments:
    """Plain objects among the arguments of a call, which later calls compare by their attributes.

    Objects, and lists and dictionaries, are numbered in the order in which they are found. After the call, `written` has the attributes
    that it assigned, and `refilled` the containers that have other items.
    """

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.containers: dict[int, Any] = {}
        self._items: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._before: list[dict[str, Any]] = []

    def given(self, value: Any) -> int | None:
        """The number of an object that was found before."""
        return self._numbers.get(id(value))

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """The attributes of a plain object, which gets a number; None for any other value."""
        if not _is_plain(value) or len(self.objects) == _MAX_OBJECTS or len(vars(value)) > _MAX_ATTRIBUTES:
            return None
        if any(isinstance(item, (list, tuple, dict)) and len(item) > _MAX_ITEMS for item in vars(value).values()):
            return None
        self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        self._before.append(dict(vars(value)))
        return self._before[-1]

    def container(self, value: Any) -> None:
        """Takes notice of a list or dictionary, and of its items."""
        # One that is given twice has its last number: all of them are the same container.
        self.containers[id(value)] = value
        self._items.append((value, value.copy()))

    def refilled(self) -> Iterator[tuple[int, Any, Any]]:
        """The containers that have other items than before the call: the number, the old items, the container.

        Inner ones come first.
        """
        for number, (value, before) in reversed([*enumerate(self._items)]):
            if isinstance(value, dict):
                is_same = [*value] == [*before] and all(value[key] is before[key] for key in before)
            else:
                is_same = len(value) == len(before) and all(map(operator.is_, value, before))
            if not is_same:
                yield number, before, value

    def written(self) -> Iterator[tuple[int, str, Any, Any]]:
        """The attributes that are other objects than before the call: the number of the object, the name, the old and the new value.

        `ABSENT` stands for no value.
        """
        for number, (value, before) in enumerate(zip(self.objects, self._before, strict=True)):
            after = vars(value)
            for name in (*before, *(name for name in after if name not in before)):
                old, new = before.get(name, ABSENT), after.get(name, ABSENT)
                if new is not old:
                    yield number, name, old, new


class Instances:
    """Decides which objects in a result can be made again: those of plain classes that the call itself has made.

    Dynamo makes such an object by its class and sets its attributes, and so does an entry. An object that anything but the result refers to
    may have been there before the call; it cannot be made again. Objects among the `arguments` are returned as they are.
    """

    def __init__(self, result: Any, arguments: Arguments) -> None:
        self.given = arguments.given
        parts = list(_parts(result, set()))
        known = {id(parts), *map(id, parts)}
        # Counted here, because now only `parts` refers to them in addition. Local variables do not count.
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

    def container(self, value: Any) -> None:
        """Nothing: a container in a result is made again."""


ABSENT = object()
"""Stands for an attribute that an object does not have."""


def make_instance(kind: type, attributes: dict[str, Any]) -> Any:
    """An object of a class with these attributes, made without its `__init__`."""
    made = object.__new__(kind)
    made.__dict__.update(attributes)
    return made


def _is_plain(value: Any) -> bool:
    """Returns whether an object is its attributes and nothing else: no part in C, no slots, no items of its own."""
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
