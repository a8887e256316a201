"""Layout of nested values: tuples, lists and dictionaries of tensors and constants, and code that checks or builds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from passnet._compile.instances import make_instance

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device, torch.layout)
_CONSTANTS += (torch.memory_format, type(...))


class LayoutError(Exception):
    """A value is in an object that is no tuple, list, dictionary, tensor or constant."""


@dataclass(frozen=True)
class Leaf:
    """A tensor, by its number in a flat list."""

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
    """A plain object, by its attributes: one that is an argument, or one that a call makes."""

    kind: type
    items: tuple[tuple[str, Layout], ...]


@dataclass(frozen=True)
class Given:
    """A plain object that is an argument, by its number among these, in the order in which they are found."""

    number: int


Layout = Leaf | Constant | Sequence | Mapping | Instance | Given


@dataclass(frozen=True)
class Assigned:
    """An attribute that a call assigns to an object among the arguments, by the number of the object."""

    owner: int
    name: str
    value: Layout


@dataclass(frozen=True)
class Refilled:
    """A list or dictionary among the arguments whose items a call changes, by its number among these."""

    container: int
    value: Sequence | Mapping


class Objects(Protocol):
    """Decides which plain objects a layout can have."""

    def given(self, value: Any) -> int | None:
        """The number of an object that is known by one; None for any other value."""

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """The attributes of an object that its attributes describe; None for any other value."""

    def container(self, value: Any) -> None:
        """Takes notice of a list or dictionary, before its items."""


def layout_of(value: Any, leaf: Callable[[torch.Tensor], Layout], objects: Objects) -> Layout:
    """The layout of a value; `leaf` gives that of a tensor, `objects` says which other objects it can have. Raises `LayoutError`."""
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
    if kind in (list, dict):
        objects.container(value)
    if kind in (tuple, list, torch.Size) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return Sequence(kind, tuple(layout_of(item, leaf, objects) for item in value))
    if kind is dict:
        if not all(type(key) in (str, int) for key in value):
            raise LayoutError("a dictionary has keys that are neither text nor integers")
        return Mapping(kind, tuple((key, layout_of(item, leaf, objects)) for key, item in value.items()))
    registered = torch.utils._pytree.SUPPORTED_NODES.get(kind)
    if registered is not None and issubclass(kind, dict):
        # An ordered dictionary, or an output class of a model library.
        return Mapping(kind, tuple((key, layout_of(item, leaf, objects)) for key, item in value.items()))
    raise LayoutError(f"a value is a `{kind.__module__}.{kind.__qualname__}`")


def containers_of(value: Any, objects: Objects | None = None) -> Iterator[Any]:
    """The mutable containers within a value, but not within objects that `objects` knows by a number."""
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
    """Python text with the objects that it names."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.objects: list[str] = []
        """Variables with the attributes of the objects among the arguments, by their numbers."""
        self.containers: list[str] = []
        """Expressions of the lists and dictionaries among the arguments, by their numbers."""

    def name(self, value: Any) -> str:
        """The name of an object in the text."""
        name = f"_{len(self.names)}"
        self.names[name] = value
        return name

    def checks(self, layout: Layout, path: str, leaves: dict[int, str]) -> Iterator[str]:
        """Expressions that hold if the value of `path` has this layout. Notes in `leaves` where its tensors are: one number is one tensor."""
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
                for place, item in enumerate(items):
                    yield from self.checks(item, f"{path}[{place}]", leaves)
            case Mapping(kind, items):
                if kind is dict:
                    self.containers.append(path)
                yield f"type({path}) is {self.name(kind)}"
                yield f"[*{path}] == {[key for key, _ in items]!r}"
                for key, item in items:
                    yield from self.checks(item, f"{path}[{key!r}]", leaves)
            case Instance(kind, items):
                # The variable saves the way to the object for each of its attributes.
                number = len(self.objects)
                self.objects.append(f"a{number}")
                yield f"type(o{number} := {path}) is {self.name(kind)}"
                yield f"(a{number} := o{number}.__dict__).keys() == {self.name({name for name, _ in items})}"
                for name, item in items:
                    yield from self.checks(item, f"a{number}[{name!r}]", leaves)
            case Given(number):
                yield f"{path} is o{number}"

    def _equals(self, value: Any, path: str) -> str:
        if isinstance(value, type):
            return f"{path} is {self.name(value)}"
        if value is None or value is ... or isinstance(value, bool):
            return f"{path} is {value!r}" if value is not ... else f"{path} is ..."
        same = f"type({path}) is {self.name(type(value))}"
        if isinstance(value, (float, complex)):
            # Zeros differ in sign, and no NaN equals another.
            return f"{same} and repr({path}) == {repr(value)!r}"
        return f"{same} and {path} == {self.name(value)}"

    def builds(self, layout: Layout, leaf: Callable[[int], str]) -> str:
        """An expression for a value of this layout; `leaf` is the expression of a tensor."""
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
                # A named tuple takes its items one by one.
                return f"{self.name(kind)}({f'[{items_text}]' if kind is torch.Size else items_text})"
            case Mapping(kind, items) | Instance(kind, items):
                parts = [f"{key!r}: {self.builds(item, leaf)}" for key, item in items]
                text = f"{{{', '.join(parts)}}}"
                if kind is dict:
                    return text
                if isinstance(layout, Instance):
                    return f"{self.name(make_instance)}({self.name(kind)}, {text})"
                is_dataclass = hasattr(kind, "__dataclass_fields__")
                return f"{self.name(kind)}(**{text})" if is_dataclass else f"{self.name(kind)}({text})"
