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
    """One way to call a model: the name of the way, and the arguments."""

    label: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class BuiltModel:
    """A model, the ways to call it, those with the most inputs first, and the model's fields of ``graph_net.json``."""

    model: Callable[..., Any]
    calls: Iterable[Call]
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits on the models that a recipe builds. Transformers models with more parameters are reduced."""

    parameters: float


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One model: its specification, the folder and metadata of its samples, and the function that builds it with its calls."""

    spec: str
    name: str
    metadata: dict[str, Any]
    build: Callable[[Limits], BuiltModel]
    trains: bool = False
    """True if the graphs of forward and backward of a training step are captured."""
