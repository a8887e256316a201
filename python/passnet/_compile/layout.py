"""Layouts of nested tuples, lists and dictionaries of tensors and constants, and generation of code that checks or builds such values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from passnet._compile.instances import make_instance

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device, torch.layout)
_CONSTANTS += (torch.memory_format, type(...))


class LayoutError(Exception):
    """A value contains an object that is no tuple, list, dictionary, tensor or constant."""


@dataclass(frozen=True)
class Leaf:
    """A tensor, given by its number in a flat list."""

    number: int


@dataclass(frozen=True)
class Constant:
    """A value that is the same in all calls."""

    value: Any


@dataclass(frozen=True)
class Sequence:
    """A tuple, a list, a named tuple, or a shape."""

    kind: type
    items: tuple[Layout, ...]


@dataclass(frozen=True)
class Mapping:
    """A dictionary with its keys in order."""

    kind: type
    items: tuple[tuple[Any, Layout], ...]


@dataclass(frozen=True)
class Instance:
    """A plain object, given by its attributes. It is an argument, or a call makes it."""

    kind: type
    items: tuple[tuple[str, Layout], ...]


@dataclass(frozen=True)
class Given:
    """A plain object among the arguments, given by its number in the order in which these objects are found."""

    number: int


@dataclass(frozen=True)
class Again:
    """A list or dictionary among the arguments that occurs a second time, given by its number."""

    number: int


Layout = Leaf | Constant | Sequence | Mapping | Instance | Given | Again


@dataclass(frozen=True)
class Assigned:
    """An attribute that a call assigns to an object among the arguments. The object is given by its number."""

    owner: int
    name: str
    value: Layout


@dataclass(frozen=True)
class Refilled:
    """A list or dictionary among the arguments whose items a call changes. The container is given by its number."""

    container: int
    value: Sequence | Mapping


class Objects(Protocol):
    """Decides which plain objects a layout can have."""

    def given(self, value: Any) -> int | None:
        """Returns the number of a numbered object; None for any other value."""

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """Returns the attributes of an object that they describe completely; None for any other value."""

    def container(self, value: Any) -> int | None:
        """Records a list or dictionary before its items are visited. Returns its number if it was recorded before, else None."""


def layout_of(value: Any, leaf: Callable[[torch.Tensor], Layout], objects: Objects) -> Layout:
    """Returns the layout of a value. `leaf` returns the layout of a tensor; `objects` decides which plain objects are allowed.

    Raises `LayoutError`.
    """
    if isinstance(value, torch.Tensor):
        return leaf(value)
    kind = type(value)
    if isinstance(value, type):
        return Constant(value)
    if (number := objects.given(value)) is not None:
        return Given(number)
    if (attributes := objects.attributes(value)) is not None:
        items = ((name, layout_of(item, leaf, objects)) for name, item in attributes.items())
        return Instance(kind, tuple(items))
    if kind in _CONSTANTS:
        return Constant(value)
    if kind in (list, dict) and (number := objects.container(value)) is not None:
        return Again(number)
    if kind in (tuple, list, torch.Size) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        if getattr(value, "__dict__", None):
            raise LayoutError(f"a `{kind.__qualname__}` has attributes in addition to its items")
        return Sequence(kind, tuple(layout_of(item, leaf, objects) for item in value))
    if kind is dict:
        if not all(type(key) in (str, int) for key in value):
            raise LayoutError("a dictionary has keys that are neither text nor integers")
        return Mapping(kind, tuple((key, layout_of(item, leaf, objects)) for key, item in value.items()))
    registered = torch.utils._pytree.SUPPORTED_NODES.get(kind)
    # The function that makes missing items of a dictionary is no part of a layout.
    if registered is not None and issubclass(kind, dict) and kind is not defaultdict:
        # For example an ordered dictionary, or an output class of a model library.
        return Mapping(kind, tuple((key, layout_of(item, leaf, objects)) for key, item in value.items()))
    raise LayoutError(f"a value has the type `{kind.__module__}.{kind.__qualname__}`, which is not supported")


def containers_of(value: Any, objects: Objects | None = None) -> Iterator[Any]:
    """Yields the mutable containers within a value, except those within numbered objects of `objects`."""
    if isinstance(value, dict):
        yield value
        items = [*value.values()]
    elif isinstance(value, (list, tuple)):
        if isinstance(value, list):
            yield value
        items = list(value)
    else:
        is_end = type(value) in _CONSTANTS or isinstance(value, (torch.Tensor, type))
        is_end = is_end or (objects is not None and objects.given(value) is not None)
        items = [] if is_end else [*getattr(value, "__dict__", {}).values()]
    for item in items:
        yield from containers_of(item, objects)


class Code:
    """Builds Python source text, with the objects that the text refers to by name."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.objects: list[str] = []
        """Variables that hold the attributes of objects among the arguments, indexed by the number of the object."""
        self.containers: list[str] = []
        """Expressions of lists and dictionaries among the arguments, indexed by the number of the container."""

    def name(self, value: Any) -> str:
        """Returns the name of an object in the text, and adds the object if it has no name."""
        name = f"_{len(self.names)}"
        self.names[name] = value
        return name

    def checks(self, layout: Layout, path: str, leaves: dict[int, str]) -> Iterator[str]:
        """Yields expressions that are true if the value of `path` has this layout.

        Records the expression of each tensor in `leaves`. Tensors with the same number must be the same object.
        """
        match layout:
            case Leaf(number):
                if number in leaves:
                    yield f"{path} is {leaves[number]}"
                else:
                    leaves[number] = path
            case Constant(value):
                yield self._equals(value, path)
            case Sequence(kind, items):
                if kind is list:
                    self.containers.append(path)
                yield f"type({path}) is {self.name(kind)}"
                yield f"len({path}) == {len(items)}"
                if kind.__dictoffset__:
                    yield f"not {path}.__dict__"
                for place, item in enumerate(items):
                    yield from self.checks(item, f"{path}[{place}]", leaves)
            case Mapping(kind, items):
                if kind is dict:
                    self.containers.append(path)
                yield f"type({path}) is {self.name(kind)}"
                yield f"[*{path}] == {[key for key, _ in items]!r}"
                if any(type(key) is int for key, _ in items):
                    # 1, 1.0 and True are equal.
                    yield f"all(type(key) in (str, int) for key in {path})"
                for key, item in items:
                    yield from self.checks(item, f"{path}[{key!r}]", leaves)
            case Instance(kind, items):
                # The variable avoids a repetition of the path to the object for each attribute.
                number = len(self.objects)
                self.objects.append(f"a{number}")
                yield f"type(o{number} := {path}) is {self.name(kind)}"
                yield f"[*(a{number} := o{number}.__dict__)] == {[name for name, _ in items]!r}"
                for name, item in items:
                    yield from self.checks(item, f"a{number}[{name!r}]", leaves)
            case Given(number):
                yield f"{path} is o{number}"
            case Again(number):
                yield f"{path} is {self.containers[number]}"

    def others(self) -> Iterator[str]:
        """Yields an expression that is true if all lists, dictionaries and objects are different ones, as in the captured call."""
        # Each call makes the dictionary of its keyword arguments.
        given = [path for path in self.containers if path != "kwargs"]
        found = [*given, *(f"o{number}" for number in range(len(self.objects)))]
        if len(found) > 1:
            yield f"len({{{', '.join(f'id({path})' for path in found)}}}) == {len(found)}"

    def _equals(self, value: Any, path: str) -> str:
        if isinstance(value, type):
            return f"{path} is {self.name(value)}"
        if value is None or value is ... or isinstance(value, bool):
            return f"{path} is {value!r}" if value is not ... else f"{path} is ..."
        same = f"type({path}) is {self.name(type(value))}"
        if isinstance(value, (float, complex)):
            # 0.0 equals -0.0, and NaN does not equal itself, so texts are compared.
            return f"{same} and repr({path}) == {repr(value)!r}"
        return f"{same} and {path} == {self.name(value)}"

    def builds(self, layout: Layout, leaf: Callable[[int], str]) -> str:
        """Returns an expression that builds a value of this layout. `leaf` returns the expression of a tensor."""
        match layout:
            case Leaf(number):
                return leaf(number)
            case Constant(value):
                return self.name(value)
            case Given(number):
                return f"o{number}"
            case Sequence(kind, items):
                parts = [self.builds(item, leaf) for item in items]
                if kind is tuple:
                    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
                items_text = ", ".join(parts)
                if kind is list:
                    return f"[{items_text}]"
                if kind is torch.Size:
                    return f"{self.name(kind)}([{items_text}])"
                # The class of a named tuple may change the items that it is called with.
                return f"{self.name(tuple.__new__)}({self.name(kind)}, [{items_text}])"
            case Mapping(kind, items) | Instance(kind, items):
                parts = [f"{key!r}: {self.builds(item, leaf)}" for key, item in items]
                text = f"{{{', '.join(parts)}}}"
                if kind is dict:
                    return text
                if isinstance(layout, Instance):
                    return f"{self.name(make_instance)}({self.name(kind)}, {text})"
                is_dataclass = hasattr(kind, "__dataclass_fields__")
                return f"{self.name(kind)}(**{text})" if is_dataclass else f"{self.name(kind)}({text})"
