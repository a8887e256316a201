"""Facts about Python objects that a captured call depends on: attributes, dictionary entries, globals, cells, hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from passnet import _native


@dataclass
class Facts:
    """Facts that must hold as they did when a call was captured."""

    entries: list[tuple[dict[Any, Any], Any, Any]] = field(default_factory=list)
    """A dictionary, a key, and the object that is there."""
    members: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """An object, the name of an attribute, and its value, for objects without a dictionary."""
    items: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """A sequence, a place, and the object that is there."""
    sizes: list[tuple[Any, int]] = field(default_factory=list)
    """A container and its length."""
    keys: list[tuple[dict[Any, Any], tuple[Any, ...]]] = field(default_factory=list)
    """A dictionary and its first keys."""
    members_of: list[tuple[Any, Any, bool]] = field(default_factory=list)
    """A container, an object, and whether the container has it."""
    calls: list[tuple[Callable[[], Any], Any]] = field(default_factory=list)
    """A function without arguments, and the object that it returns."""
    placed: list[torch.Tensor] = field(default_factory=list)
    """Arguments whose offset in their storage the code read. It is no part of the other checks: most code computes the same wherever
    its arguments begin."""

    def tensors(self) -> Iterator[torch.Tensor]:
        """The tensors among the objects, whose identity each call checks."""
        for *_, value in (*self.entries, *self.members, *self.items, *self.calls):
            if isinstance(value, torch.Tensor):
                yield value

    def native(self) -> _native.ModuleFacts:
        """The facts, ready to be checked."""
        values = self.entries, self.members, self.items, self.sizes, self.keys, self.members_of, self.calls
        return _native.ModuleFacts(*values)


def buffers_and_modes(
    model: Any, modes: list[str] | None, taken: set[int]
) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Entries of dictionaries: flags `training` that the code read, and the buffers and tensor attributes that a graph takes.

    `modes` has the names of the modules whose flag was read, `None` if that is not known; `taken` has identities of tensors.
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
