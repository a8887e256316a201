"""Layouts of the result of a captured call, and of the attributes that the call assigns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from passnet._compile.errors import NotCapturedError
from passnet._compile.instances import Arguments, Instances
from passnet._compile.layout import (
    Assigned,
    Constant,
    Instance,
    Layout,
    Leaf,
    Mapping,
    Refilled,
    containers_of,
    layout_of,
)
from passnet._compile.layout import Sequence as Items


def output_layouts(
    returned: Sequence[Any],
    objects: Arguments,
    inputs: Sequence[torch.Tensor],
    state: Sequence[torch.Tensor],
    arguments: tuple[Any, ...],
    result: Any,
) -> tuple[Layout, tuple[Assigned | Refilled, ...]]:
    """Returns the layout of the result, and the effects of the call on `objects`.

    Leaves number the outputs of the graph (`returned`), then the inputs, then `state`. Raises `NotCapturedError` and `LayoutError`.
    """
    # A result that is an argument or a tensor of the model stays this object, however the graph computes it. Of equal outputs, the first counts.
    values = [*returned, *inputs, *state]
    own = range(len(returned), len(values))
    numbers = {id(values[number]): number for number in (*reversed(range(len(returned))), *reversed(own))}
    assigned, refilled = [*objects.written()], [*objects.refilled()]
    if change := _change(assigned, refilled):
        owner = _owner(arguments)
        name = "an argument" if owner is None else f"a `{owner.__name__}`"
        raise NotCapturedError(f"{change[0]} of {name} {change[1]} after each call", growing=owner)
    given = {id(container) for container in containers_of(arguments)}
    seen: dict[int, Any] = {}

    def leaf(tensor: torch.Tensor) -> Layout:
        if id(tensor) not in numbers:
            raise NotCapturedError("the result has a tensor that is not an output of the graph")
        return Leaf(numbers[id(tensor)])

    def layout(value: Any, made: Any) -> Layout:
        for container in containers_of(value, objects):
            if id(container) in given:
                raise NotCapturedError("the result contains a list or dictionary that is an argument")
            # An entry would make two, and a caller that changes one of them would not see the change in the other.
            if id(container) in seen:
                raise NotCapturedError("the result contains one list or dictionary twice")
            seen[id(container)] = container
        return layout_of(value, leaf, Instances(made, objects))

    output = layout(result, result)
    effects: list[Assigned | Refilled] = []
    for number, _, container in refilled:
        items = layout(container.copy(), None)
        assert isinstance(items, (Items, Mapping))
        effects.append(Refilled(number, items))
    effects += (Assigned(number, name, layout(new, None)) for number, name, _, new in assigned)
    if any(not isinstance(value, torch.Tensor) for value in returned) and any(
        map(_has_number, (output, *(effect.value for effect in effects)))
    ):
        raise NotCapturedError("the result has a number that the graph computes")
    return output, tuple(effects)


def _change(
    assigned: Sequence[tuple[int, str, Any, Any]], refilled: Sequence[tuple[int, Any, Any]]
) -> tuple[str, str] | None:
    """Returns a change of an argument by a call that makes the next call one of another kind: the part that changes, and how it changes.

    Returns None if there is no such change.
    """
    pairs = [(f"`{name}`", old, new) for _, name, old, new in assigned]
    for _, before, container in refilled:
        if isinstance(container, list):
            if before and len(container) != len(before):
                return "a list", "has another length"
            pairs += (("an item", old, new) for old, new in zip(before, container, strict=False))
        else:
            pairs += (("an item", before[key], container[key]) for key in before if key in container)
    for name, old, new in pairs:
        if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old.shape != new.shape:
            return name, "has another size"
        if type(old) is type(new) and type(old) in (int, float) and old != new:
            return name, "is another number"
    return None


def _owner(arguments: tuple[Any, ...]) -> type | None:
    """Returns the type of the first argument that is neither a tensor nor of a built-in type; None if there is none."""
    args, kwargs = arguments
    owners = (type(value) for value in (*args, *kwargs.values()) if not isinstance(value, torch.Tensor))
    return next((kind for kind in owners if kind.__module__ != "builtins"), None)


def _has_number(layout: Layout) -> bool:
    match layout:
        case Constant(value):
            return isinstance(value, (int, float, complex)) and not isinstance(value, bool)
        case Items(_, items):
            return any(_has_number(item) for item in items)
        case Mapping(_, items) | Instance(_, items):
            return any(_has_number(item) for _, item in items)
    return False
