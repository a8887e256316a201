"""Facts about Python objects that a captured call depends on: attributes, dictionary entries, globals, cells, hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from passnet import _native


@dataclass
class Facts:
    """Facts that must still hold for a call to run a captured graph."""

    entries: list[tuple[dict[Any, Any], Any, Any]] = field(default_factory=list)
    """Triples of a dictionary, a key, and the object under the key."""
    members: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Triples of an object without `__dict__`, the name of an attribute, and its value."""
    items: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Triples of a sequence, a position, and the object at the position."""
    sizes: list[tuple[Any, int]] = field(default_factory=list)
    """Pairs of a container and its length."""
    keys: list[tuple[dict[Any, Any], tuple[Any, ...]]] = field(default_factory=list)
    """Pairs of a dictionary and its first keys."""
    members_of: list[tuple[Any, Any, bool]] = field(default_factory=list)
    """Triples of a container, an object, and whether the container has the object."""
    calls: list[tuple[Callable[[], Any], Any]] = field(default_factory=list)
    """Pairs of a function without arguments and the object that it returns."""
    classes: list[tuple[Any, type]] = field(default_factory=list)
    """Pairs of an object and its class."""
    placed: list[torch.Tensor] = field(default_factory=list)
    """Arguments whose storage offset the code read. The other checks do not include the offset, because most code computes the same
    for any offset."""
    lacking: list[tuple[torch.Tensor, str]] = field(default_factory=list)
    """Pairs of an argument and an attribute that it must not have, because the code asked whether it has it."""

    unguarded: list[tuple[torch.Tensor, str, str]] = field(default_factory=list)
    """Triples of an argument, an attribute that the code may read although Dynamo has no guard on it, and a comparison that it fulfils."""

    def tensors(self) -> Iterator[torch.Tensor]:
        """Yields the tensors among the objects whose identity each call checks."""
        for *_, value in (*self.entries, *self.members, *self.items, *self.calls):
            if isinstance(value, torch.Tensor):
                yield value

    def native(self) -> _native.ModuleFacts:
        """Returns the facts in the form that the native module checks."""
        values = self.entries, self.members, self.items, self.sizes, self.keys, self.members_of, self.calls
        return _native.ModuleFacts(*values, self.classes)


def buffers_and_modes(
    model: Any, modes: list[str] | None, taken: set[int]
) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Yields facts of the kind `entries`: flags `training` that the code read, and the buffers and tensor attributes that a graph takes.

    `modes` has the names of the modules whose flag was read; `None` if they are not known. `taken` has the `id` of each tensor.
    """
    if not isinstance(model, torch.nn.Module):
        return
    read = None if modes is None else {id(model.get_submodule(path)) for path in modes}
    for module in model.modules():
        attributes = module.__dict__
        if "training" in attributes and (read is None or id(module) in read):
            yield attributes, "training", module.training
        for values in (module._buffers, attributes):
            yield from ((values, name, value) for name, value in values.items() if id(value) in taken)


def owned_tensors(model: Callable[..., Any]) -> dict[int, torch.Tensor]:
    """Returns the parameters, buffers and tensor attributes of a module by `id`; an empty dictionary for a function."""
    if not isinstance(model, torch.nn.Module):
        return {}
    return {
        id(value): value
        for module in model.modules()
        for values in (module._parameters, module._buffers, module.__dict__)
        for value in values.values()
        if isinstance(value, torch.Tensor)
    }
