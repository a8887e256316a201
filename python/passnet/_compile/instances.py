"""Plain objects in the arguments and the result of a call, such as the key-value cache of a language model."""

from __future__ import annotations

import copyreg
import gc
import operator
from collections.abc import Iterator
from typing import Any

import torch

# An object with more attributes or longer containers is treated as data, not as state of a call, because each call would compare all of
# its attributes.
_MAX_ATTRIBUTES = 64
_MAX_ITEMS = 1024
_MAX_OBJECTS = 1024


class Arguments:
    """Plain objects among the arguments of a call, which later calls compare by their attributes.

    Objects are numbered in the order in which they are found, and so are lists and dictionaries. After the call, `written` has the
    attributes that the call assigned, and `refilled` has the containers whose items it changed.
    """

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.containers: dict[int, Any] = {}
        self._items: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._before: list[dict[str, Any]] = []

    def given(self, value: Any) -> int | None:
        """Returns the number of an object that was found before; None for any other value."""
        return self._numbers.get(id(value))

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """Numbers a plain object and returns its attributes; None for any other value."""
        if not _is_plain(value) or len(self.objects) == _MAX_OBJECTS or len(vars(value)) > _MAX_ATTRIBUTES:
            return None
        if any(isinstance(item, (list, tuple, dict)) and len(item) > _MAX_ITEMS for item in vars(value).values()):
            return None
        self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        self._before.append(dict(vars(value)))
        return self._before[-1]

    def container(self, value: Any) -> int | None:
        """Records a list or dictionary and its items. Returns its number if it was recorded before, else None."""
        if id(value) in self.containers:
            return next(number for number, (known, _) in enumerate(self._items) if known is value)
        self.containers[id(value)] = value
        self._items.append((value, value.copy()))
        return None

    def refilled(self) -> Iterator[tuple[int, Any, Any]]:
        """Yields the containers with other items than before the call: number, old items, container.

        Inner containers come before outer ones.
        """
        for number, (value, before) in reversed([*enumerate(self._items)]):
            if isinstance(value, dict):
                is_same = [*value] == [*before] and all(value[key] is before[key] for key in before)
            else:
                is_same = len(value) == len(before) and all(map(operator.is_, value, before))
            if not is_same:
                yield number, before, value

    def written(self) -> Iterator[tuple[int, str, Any, Any]]:
        """Yields the attributes that are other objects than before the call: number of the object, name, old value, new value.

        `ABSENT` stands for no value.
        """
        for number, (value, before) in enumerate(zip(self.objects, self._before, strict=True)):
            after = vars(value)
            for name in (*before, *(name for name in after if name not in before)):
                old, new = before.get(name, ABSENT), after.get(name, ABSENT)
                if new is not old:
                    yield number, name, old, new


class Instances:
    """Decides which objects in a result an entry can make again: objects of plain classes that the call itself has made.

    An entry makes such an object as Dynamo does: it creates an instance of the class and sets its attributes. If anything other than
    the result refers to an object, it may be older than the call, and cannot be made again. Objects among the `arguments` are
    returned as they are.
    """

    def __init__(self, result: Any, arguments: Arguments) -> None:
        self.given = arguments.given
        parts = list(_parts(result, set()))
        known = {id(parts), *map(id, parts)}
        # Referrers are checked here, where only `parts` refers to the objects in addition. Local variables do not count.
        self._new = {
            id(part)
            for part in parts
            if _is_plain(part) and all(id(other) in known for other in gc.get_referrers(part))
        }

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """Returns the attributes of an object that can be made again, only at the first call for it; None for any other value."""
        if id(value) not in self._new:
            return None
        self._new.remove(id(value))
        return vars(value)

    def container(self, value: Any) -> None:
        """Does nothing, because each container in a result is made again."""


ABSENT = object()
"""Marker for the value of an attribute that an object does not have."""


def make_instance(kind: type, attributes: dict[str, Any]) -> Any:
    """Returns a new object of a class with these attributes, without a call of `__init__`."""
    made = object.__new__(kind)
    made.__dict__.update(attributes)
    return made


def _is_plain(value: Any) -> bool:
    """Returns whether an object consists of its attributes only: no state in C, no slots, no items."""
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
    """Yields a value and all containers, objects and dictionaries of attributes in it."""
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
