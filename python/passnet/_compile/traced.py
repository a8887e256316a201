"""Facts about the functions whose code Dynamo traced. Dynamo has no guards on methods of classes, and none on the code of a function."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._guards import TracingContext

from passnet._compile.facts import Facts


def note_traced(facts: Facts, model: Any, named: Iterable[Any]) -> None:
    """Notes that classes still have the methods that were traced, that functions have their code, and that modules have their class.

    `named` are the objects that guards name. A program may replace a method of a class, and reloading of edited files replaces
    the code of functions.
    """
    is_traced = _question(getattr(TracingContext.get(), "traced_code", None))
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    facts.classes += [(module, type(module)) for module in modules]
    # Dynamo does not trace `__call__` of `torch.nn.Module` itself, which a class may replace.
    facts.members += [(kind, "__call__", kind.__call__) for kind in dict.fromkeys(map(type, modules))]
    named = list(named)
    classes = dict.fromkeys([type(value) for value in (*modules, *named)])
    classes |= dict.fromkeys(value for value in named if isinstance(value, type))
    functions = {value for value in named if isinstance(value, types.FunctionType) and is_traced(value)}
    noted: set[tuple[type, str]] = set()
    for owner, name, function in _methods(classes, is_traced):
        functions.add(function)
        if (owner, name) not in noted:
            noted.add((owner, name))
            facts.members.append((owner, name, getattr(owner, name)))
    facts.members += [(found, "__code__", found.__code__) for found in functions if not _is_of_torch(found)]


def _question(traced: Iterable[types.CodeType] | None) -> Callable[[types.FunctionType], bool]:
    """Returns whether a function was traced. Releases of Dynamo that do not say it may have traced all functions but PyTorch's."""
    if traced is None:
        return lambda function: not _is_of_torch(function)
    codes = set(traced)
    return lambda function: function.__code__ in codes


def _methods(
    classes: Iterable[type], is_traced: Callable[[types.FunctionType], bool]
) -> Iterator[tuple[type, str, types.FunctionType]]:
    """Yields the methods that were traced: the class in which a lookup begins, the name, and the function."""
    for kind in classes:
        seen: set[str] = set()
        for part in kind.__mro__[:-1]:
            for name, value in vars(part).items():
                if name not in seen and isinstance(value, types.FunctionType) and is_traced(value):
                    # All modules have the methods of `torch.nn.Module`, which are checked once.
                    yield (part if part is torch.nn.Module else kind), name, value
                seen.add(name)


def _is_of_torch(function: types.FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] == "torch"
