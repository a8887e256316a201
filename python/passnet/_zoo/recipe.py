"""Types of model recipes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any


class SpecError(ValueError):
    """A model specification that cannot be resolved; the message says how to fix it."""


class MissingLibraryError(SpecError):
    """The library that the specification names is not installed."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One way to call a model: its name, and the arguments."""

    label: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class BuiltModel:
    """A model, the ways to call it, richest first, and its fields of ``graph_net.json``."""

    model: Callable[..., Any]
    calls: Iterable[Call]
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of the models that a recipe builds: transformers models with more parameters are reduced."""

    parameters: float


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One model: its specification, the folder of its samples, what its samples say, how to build it, and how it is called."""

    spec: str
    name: str
    metadata: dict[str, Any]
    build: Callable[[Limits], BuiltModel]
    trains: bool = False
    """True if the graphs of a training step are captured, those of forward and backward."""
