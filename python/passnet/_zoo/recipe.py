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
class BuildOptions:
    """Limits on the model that a recipe builds, and sizes of its inputs."""

    parameters: float
    """Transformers models with more parameters are reduced."""
    length: int | None = None
    """Number of tokens of each text; None for the default of the recipe."""
    size: int | None = None
    """Height and width of images in pixels; None for the default of the recipe."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One model: its specification, the folder and metadata of its samples, and the function that builds it with its calls."""

    spec: str
    name: str
    metadata: dict[str, Any]
    build: Callable[[BuildOptions], BuiltModel]
    variants: frozenset[str] = frozenset()
    """Variants that the recipe itself implements: `length`, `size`, `decode`."""
    file: str = ""
    """Real path of the file that defines the model; empty for a model of a library."""
    trains: bool = False
    """True if the graphs of forward and backward of a training step are captured."""
    next_call: Callable[[Any, Call], Call] | None = None
    """Runs the model on a call, and returns the call to capture, which continues it. If None, the call itself is captured."""
