"""Small programs around a compiled function or model, in groups.

A program takes `compiled`, which compiles a function or a module or returns it as it is, and yields everything that its user
could see: results, arguments after the call, gradients, state, random numbers, exceptions. The test compares what a program yields
with PassNet and without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]
Program = Callable[[Compile], Iterator[Any]]


def programs_of(group: ModuleType) -> list[Program]:
    """The programs of a module: its public functions."""
    return [
        value
        for name, value in vars(group).items()
        if inspect.isfunction(value) and value.__module__ == group.__name__ and not name.startswith("_")
    ]


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the type of its exception."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__
